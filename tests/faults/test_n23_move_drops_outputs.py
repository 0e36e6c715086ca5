"""n23: moving a cell moves the node: outputs, metadata, attachments and execution count come with it, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells


async def test_n23_the_moved_cell_is_the_same_json(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    raw = json.loads(path.read_text())
    raw["cells"][0]["attachments"] = {"a.png": {"image/png": "iVBORw0KGgo="}}
    raw["cells"][1]["metadata"] = {"scrolled": True, "custom": {"deep": [1, 2.50, None]}}
    path.write_text(json.dumps(raw, indent=1))
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        ops = [{"op": "move", "cells": [{"id": "first"}, {"id": "intro"}], "after": "tail"}]
        result = await call(made, "edit_cells", ops=ops)
    assert not result.is_error
    moved = json.loads(path.read_text())["cells"]
    assert moved == [raw["cells"][2], raw["cells"][3], raw["cells"][1], raw["cells"][0]]
