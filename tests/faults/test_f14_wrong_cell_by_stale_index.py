"""f14: cells inserted or moved between reading and editing: the right cell is edited, or the edit is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells, read_cells

TOOLS = {"read_cells": read_cells, "edit_cells": edit_cells}


async def test_f14_the_cell_is_found_where_it_moved_to(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        cells = (await call(conversation, "read_cells")).details["cells"]
        write_notebook(path, [code("new", "inserted above"), *sample()[::-1]])
        op = {"op": "replace", "cell": "second", "expected_hash": cells[2]["hash"], "source": "right"}
        assert not (await call(conversation, "edit_cells", ops=[op])).is_error
        listed = await call(conversation, "read_cells", cells=["new", "tail", "second", "first", "intro"])
    sources = [cell["source"] for cell in listed.details["cells"]]
    assert sources == ["inserted above", "raw text", "right", sample()[1].source, sample()[0].source]


async def test_f14_a_cell_changed_since_is_refused_with_its_source(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        cells = (await call(conversation, "read_cells")).details["cells"]
        changed = sample()
        changed[2] = code("second", "y = the_users")
        write_notebook(path, changed)
        before = path.read_bytes()
        op = {"op": "replace", "cell": "second", "expected_hash": cells[2]["hash"], "source": "lost"}
        result = await call(conversation, "edit_cells", ops=[op])
    assert result.details["refused"]["kind"] == "stale"
    assert "y = the_users" in text_of(result)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["2", "0", "-1", "cell 2"])
async def test_f14_a_number_is_never_taken_for_a_position(tmp_path: Path, name: str) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    before = path.read_bytes()
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        for tool, arguments in (
            ("read_cells", {"cells": [name]}),
            ("edit_cells", {"ops": [{"op": "delete", "cells": [{"id": name, "expected_hash": sample()[2].hash}]}]}),
            ("edit_cells", {"ops": [{"op": "insert", "type": "code", "source": "x", "after": name}]}),
        ):
            result = await call(conversation, tool, **arguments)
            assert result.details["refused"]["kind"] == "unknown_cell"
            assert "second" in text_of(result)
    assert path.read_bytes() == before
