"""f19: concurrent edits of one notebook, in one process and from several, all land or say why."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import nbformat

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.cells import edit_cells

WRITER = """
import asyncio, sys
from pathlib import Path
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code
from jupyter_agent.tools.cells import edit_cells

async def main():
    path, worker = Path(sys.argv[1]), int(sys.argv[2])
    async with conversation_on(path.parent, {"edit_cells": edit_cells}, folder=Path(sys.argv[3])) as conversation:
        for number in range(worker * 8, worker * 8 + 8):
            cell = code(f"c{number}", f"x = {number}")
            op = {"op": "replace", "cell": cell.id, "expected_hash": cell.hash, "source": f"y = {number}"}
            result = await call(conversation, "edit_cells", path=path.name, ops=[op])
            assert not result.is_error, result

asyncio.run(main())
"""


async def test_f19_fifty_parallel_calls_all_land(tmp_path: Path) -> None:
    cells = [code(f"c{number}", f"x = {number}") for number in range(50)]
    path = write_notebook(tmp_path / "a.ipynb", cells)
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        results = await asyncio.gather(
            *(
                call(
                    made,
                    "edit_cells",
                    ops=[{"op": "replace", "cell": cell.id, "expected_hash": cell.hash, "source": f"y = {number}"}],
                )
                for number, cell in enumerate(cells)
            )
        )
    assert not [result for result in results if result.is_error]
    assert [cell.source for cell in nbformat.read(str(path), as_version=4).cells] == [f"y = {n}" for n in range(50)]


async def test_f19_four_processes_lose_no_update(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    cells = [code(f"c{number}", f"x = {number}") for number in range(32)]
    path = write_notebook(root / "a.ipynb", cells)
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WRITER, str(path), str(worker), str(tmp_path / f"c{worker}")),
            env=os.environ,
            stderr=asyncio.subprocess.PIPE,
        )
        for worker in range(4)
    ]
    for process in processes:
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
    assert [cell.source for cell in nbformat.read(str(path), as_version=4).cells] == [f"y = {n}" for n in range(32)]
    assert [entry.name for entry in root.iterdir()] == ["a.ipynb"]
