r"""n19: `\r\n` in a block or in a cell's source never doubles the lines of the cell."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_agent.edit import edit_text
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells


def test_n19_the_engine_gives_cells_one_kind_of_line_end() -> None:
    source, _ = edit_text("a = 1\r\nb = 2\r\nc = 3", [("b = 2", "b = 3\r\nb2 = 4")])
    assert source == "a = 1\nb = 3\nb2 = 4\nc = 3"


async def test_n19_a_block_with_carriage_returns(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    raw = json.loads(path.read_text())
    raw["cells"][1]["source"] = ["a = 1\n", "b = 2\n", "c = 3"]
    path.write_text(json.dumps(raw, indent=1))
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        blocks = [{"search": "a = 1\r\nb = 2", "replace": "a = 1\r\nb = 9\r\nd = 4"}]
        cell = raw["cells"][1]["id"]
        result = await call(made, "edit_cells", ops=[{"op": "edit", "cell": cell, "blocks": blocks}])
    assert not result.is_error
    source = "".join(json.loads(path.read_text())["cells"][1]["source"])
    assert source == "a = 1\nb = 9\nd = 4\nc = 3"
