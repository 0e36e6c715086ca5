"""n33, f16: duplicate ids are named and nothing is written; they are repaired only when asked, changing ids alone."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells, read_cells, repair_notebook

TOOLS = {tool.name: tool for tool in (read_cells, edit_cells, repair_notebook)}


async def test_n33_duplicates_are_refused_by_name(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("twin", "x = 1"), code("other", "y"), code("twin", "x = 2")])
    before = path.read_bytes()
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        for tool, arguments in (
            ("read_cells", {}),
            ("edit_cells", {"ops": [{"op": "insert", "type": "code", "source": "x"}]}),
        ):
            result = await call(conversation, tool, **arguments)
            assert result.details["refused"]["kind"] == "duplicate_ids"
            assert "twin" in text_of(result)
            assert "repair_notebook" in text_of(result)
    assert path.read_bytes() == before


async def test_n33_the_repair_changes_ids_alone(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("twin", "x = 1"), code("bad id!", "y"), code("twin", "x = 2")])
    raw = json.loads(path.read_text())
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c") as conversation:
        result = await call(conversation, "repair_notebook", path="a.ipynb")
        assert not result.is_error, result
        assert not (await call(conversation, "read_cells", path="a.ipynb")).is_error
        again = await call(conversation, "repair_notebook", path="a.ipynb")
        assert again.is_error
    repaired = json.loads(path.read_text())
    ids = [cell["id"] for cell in repaired["cells"]]
    assert ids[0] == "twin"
    assert len(set(ids)) == 3
    for cell, original in zip(repaired["cells"], raw["cells"], strict=True):
        assert {**cell, "id": ""} == {**original, "id": ""}


async def test_f16_a_doubled_notebook_is_recognised(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [*sample(), *sample()])
    before = path.read_bytes()
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        result = await call(conversation, "edit_cells", ops=[{"op": "insert", "type": "code", "source": "x"}])
    assert "all 4 cells are in it twice" in text_of(result)
    assert path.read_bytes() == before


async def test_n33_two_cells_with_one_id_are_no_doubled_notebook(tmp_path: Path) -> None:
    """Nothing is said of a half to delete: both cells are the person's."""
    path = write_notebook(tmp_path / "a.ipynb", [code("twin", "x = 1"), code("twin", "x = 2")])
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path) as conversation:
        text = text_of(await call(conversation, "read_cells"))
    assert "several cells have the same id (twin)" in text
    assert "repair_notebook" in text
    assert "Delete" not in text
