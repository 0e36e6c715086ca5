"""n1, n2, n3: a cell without a place is appended; places are ids, never indices; an edit stays in its cell."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import ids, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells


def stored(path: Path) -> list[tuple[str, str, str]]:
    return [(cell.id, cell.cell_type, cell.source) for cell in nbformat.read(str(path), as_version=4).cells]


async def test_n01_an_insert_without_a_place_is_appended_and_names_its_neighbour(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        result = await call(made, "edit_cells", ops=[{"op": "insert", "type": "code", "source": "z = 3"}])
    (created,) = result.details["created"]
    assert stored(path)[-1] == (created, "code", "z = 3")
    assert f"insert code cell {created} after tail" in text_of(result)


async def test_n01_inserts_after_one_cell_keep_their_order(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    ops = [{"op": "insert", "type": "code", "source": f"z{number}", "after": "first"} for number in range(3)]
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        await call(made, "edit_cells", ops=ops)
    assert [source for _, _, source in stored(path)[2:5]] == ["z0", "z1", "z2"]


@pytest.mark.parametrize("place", [{"index": 1}, {"position": 1}, {"at": [1]}, {"after": 1}])
async def test_n02_an_index_is_no_place(tmp_path: Path, place: dict[str, object]) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    before = path.read_bytes()
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        result = await call(made, "edit_cells", ops=[{"op": "insert", "type": "code", "source": "z", **place}])
    assert "refused" in result.details
    assert path.read_bytes() == before


async def test_n03_an_edit_neither_doubles_the_cell_nor_changes_its_type(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    ops = [
        {"op": "edit", "cell": "first", "blocks": [{"search": "x = 1", "replace": "x = 2"}]},
        {"op": "replace", "cell": "second", "expected_hash": sample()[2].hash, "source": "# Heading\ny = 2"},
    ]
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        assert not (await call(made, "edit_cells", ops=ops)).is_error
    cells = stored(path)
    assert [cell_id for cell_id, _, _ in cells] == ids(sample())
    assert [cell_type for _, cell_type, _ in cells] == ["markdown", "code", "code", "raw"]
    assert cells[2][2] == "# Heading\ny = 2"
