"""n16: a turn that deletes half the notebook is undone in one step, byte for byte."""

from __future__ import annotations

from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells
from jupyter_agent.undo import undo_turn


async def test_n16_one_undo_brings_everything_back(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    before = path.read_bytes()
    cells = {cell.id: cell for cell in sample()}

    def ref(name: str) -> dict[str, str]:
        return {"id": name, "expected_hash": cells[name].hash}

    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        for ops in (
            [{"op": "delete", "cells": [ref("first"), ref("second")]}, {"op": "set_tags", "cell": "intro", "tags": []}],
            [{"op": "insert", "type": "code", "source": "new", "after": "intro"}],
            [{"op": "move", "cells": [ref("tail")], "before": "intro"}],
        ):
            assert not (await call(made, "edit_cells", ops=ops)).is_error
        assert path.read_bytes() != before
        report = await undo_turn(made)
    assert report.skipped == []
    assert path.read_bytes() == before


async def test_n16_undo_leaves_what_the_user_typed_since(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    ops = [
        {"op": "replace", "cell": "second", "expected_hash": sample()[2].hash, "source": "ours"},
        {"op": "edit", "cell": "first", "blocks": [{"search": "x = 1", "replace": "x = 2"}]},
    ]
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        assert not (await call(made, "edit_cells", ops=ops)).is_error
        path.write_text(path.read_text().replace('"ours"', '"ours, and the user\'s"'))
        report = await undo_turn(made)
    text = path.read_text()
    assert "ours, and the user's" in text
    assert "x = 1" in text
    assert [name for name, _ in report.skipped] == ["a.ipynb#second"]
