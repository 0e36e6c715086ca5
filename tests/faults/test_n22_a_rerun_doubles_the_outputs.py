"""n22: a rerun replaces a cell's outputs; `clear_output` and display ids leave what a person would see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.running import run_cells

SOURCES = {
    "plain": "print('once')\n'value'",
    "cleared": "from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('stays')",
    "updated": "h = display('first', display_id=True)\nh.update('second')",
}


def shown(output: Any) -> str:
    return str(output.text if output.output_type == "stream" else output.data["text/plain"])


async def test_n22_outputs_after_three_runs_are_those_of_one(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code(name, source) for name, source in SOURCES.items()])
    async with conversation_on(
        tmp_path, {"run_cells": run_cells}, folder=tmp_path / "c", notebook=path, mode="accept-edits"
    ) as conversation:
        for _ in range(3):
            result = await call(conversation, "run_cells", cells="all")
            assert not result.is_error, result
            await (await conversation.notebook()).save()
    cells = {cell.id: cell for cell in nbformat.read(str(path), as_version=4).cells}
    assert [shown(output) for output in cells["plain"].outputs] == ["once\n", "'value'"]
    assert [shown(output) for output in cells["cleared"].outputs] == ["stays\n"]
    assert [shown(output) for output in cells["updated"].outputs] == ["'second'"]
    assert [cell.execution_count for cell in cells.values()] == [7, 8, 9]
