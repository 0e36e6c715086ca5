"""f15, n34: below nbformat 4.5 ids are stable for the conversation, never written, and the version is not raised."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.cells import edit_cells, read_cells

TOOLS = {"read_cells": read_cells, "edit_cells": edit_cells}


@pytest.mark.parametrize("minor", [0, 4])
async def test_f15_n34_fifty_edits_keep_ids_and_version(tmp_path: Path, minor: int) -> None:
    cells = [code("", f"x = {number % 4}") for number in range(10)]
    path = write_notebook(tmp_path / "a.ipynb", cells, minor=minor)
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        first = (await call(conversation, "read_cells")).details["cells"]
        ids = [cell["id"] for cell in first]
        assert len(set(ids)) == 10
        hashes = {cell["id"]: cell["hash"] for cell in first}
        for number in range(50):
            cell = ids[number * 7 % 10]
            op = {"op": "replace", "cell": cell, "expected_hash": hashes[cell], "source": f"y = {number}"}
            result = await call(conversation, "edit_cells", ops=[op])
            assert not result.is_error, result
            hashes[cell] = result.details["cells"][0]["hash"]
            listed = (await call(conversation, "read_cells")).details["cells"]
            assert [each["id"] for each in listed] == ids
            assert {each["id"]: each["hash"] for each in listed} == hashes
    raw = json.loads(path.read_text())
    assert (raw["nbformat"], raw["nbformat_minor"]) == (4, minor)
    assert not any("id" in cell for cell in raw["cells"])
    nbformat.validate(raw)


async def test_f15_ids_stay_when_others_insert_and_edit(tmp_path: Path) -> None:
    cells = [code("", f"x = {number}") for number in range(5)]
    path = write_notebook(tmp_path / "a.ipynb", cells, minor=4)
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        ids = [cell["id"] for cell in (await call(conversation, "read_cells")).details["cells"]]
        changed = [code("", "new"), *cells[:2], code("", "x = 2  # the user"), *cells[3:]]
        write_notebook(path, changed, minor=4)
        listed = [cell["id"] for cell in (await call(conversation, "read_cells")).details["cells"]]
    assert listed[1:] == ids
    assert listed[0] not in ids


async def test_f15_another_process_derives_the_same_ids(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("", "x"), code("", "x"), code("", "y")], minor=4)
    seen = []
    for number in range(2):
        async with conversation_on(tmp_path, TOOLS, folder=tmp_path / str(number), notebook=path) as conversation:
            seen.append([cell["id"] for cell in (await call(conversation, "read_cells")).details["cells"]])
            if number == 0:
                ops = [{"op": "insert", "type": "code", "source": "z"}]
                created = (await call(conversation, "edit_cells", ops=ops)).details["created"]
    assert seen[1] == [*seen[0], *created]
