"""f12: whatever the edits, the file stays a valid notebook of its own version."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells, read_cells

SOURCES = [
    "",
    "x",
    "print(\"\\n\", '\\t')",
    "é ü 漢字 \U0001f600",
    "a\r\nb",
    "\x1b[0m",
    "</script>\u2028",
    "{]\\",
    "\ud800",
]


def random_op(dice: random.Random, cells: list[dict[str, Any]]) -> dict[str, Any]:
    def one() -> dict[str, Any]:
        return dice.choice(cells)

    def ref(cell: dict[str, Any]) -> dict[str, str]:
        return {"id": cell["id"], "expected_hash": cell["hash"]}

    def named(cell: dict[str, Any]) -> dict[str, str]:
        return {"cell": cell["id"], "expected_hash": cell["hash"]}

    kinds = (
        ["insert"] if not cells else ["insert", "replace", "delete", "move", "set_type", "set_tags", "clear", "split"]
    )
    kind = dice.choice(kinds)
    source = dice.choice(SOURCES) + "\n" + dice.choice(SOURCES)
    cell_type = dice.choice(["code", "markdown", "raw"])
    if kind == "insert":
        place = {dice.choice(["after", "before"]): one()["id"]} if cells and dice.random() < 0.7 else {}
        return {"op": "insert", "type": cell_type, "source": source, **place}
    if kind == "delete":
        return {"op": "delete", "cells": [ref(one())]}
    if kind == "move":
        moving, anchor = one(), one()
        place = {} if moving is anchor else {dice.choice(["after", "before"]): anchor["id"]}
        return {"op": "move", "cells": [ref(moving)], **place}
    if kind == "clear":
        return {"op": "clear_outputs", "cells": [ref(one())]}
    if kind == "set_tags":
        return {"op": "set_tags", **named(one()), "tags": dice.sample(["a", "b", "c"], dice.randint(0, 3))}
    if kind == "set_type":
        return {"op": "set_type", **named(one()), "type": cell_type}
    if kind == "split":
        return {"op": "split", **named(one()), "at": [2]}
    return {"op": "replace", **named(one()), "source": source}


@pytest.mark.parametrize("minor", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "style", [{}, {"indent": None}, {"indent": 2, "lines": False, "ascii": True, "newline": "\r\n"}]
)
async def test_f12_the_file_stays_valid_for_its_version(tmp_path: Path, minor: int, style: dict[str, Any]) -> None:
    dice = random.Random(minor)
    path = write_notebook(tmp_path / "a.ipynb", [*sample(), code("more", "a\nb")], minor=minor, **style)
    tools = {"read_cells": read_cells, "edit_cells": edit_cells}
    landed = 0
    async with conversation_on(tmp_path, tools, folder=tmp_path / "c", notebook=path) as conversation:
        for _ in range(40):
            cells = (await call(conversation, "read_cells")).details["cells"]
            result = await call(conversation, "edit_cells", ops=[random_op(dice, cells)])
            landed += not result.is_error
            assert "error" not in result.details, result
            raw = nbformat.reads(path.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT)
            nbformat.validate(raw)
            assert (raw.nbformat, raw.nbformat_minor) == (4, minor)
            assert all(("id" in cell) == (minor >= 5) for cell in raw.cells)
    assert landed > 20
