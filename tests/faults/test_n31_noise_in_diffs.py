"""n31: in the file's diff stands what was changed and nothing else, whatever the file's style."""

from __future__ import annotations

import difflib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells

STYLES: list[dict[str, Any]] = [
    {"indent": indent, "lines": lines, "ascii": ascii, "newline": newline, "end": end}
    for indent, (lines, newline), (ascii, end) in itertools.product(
        (1, 2, 4, "\t"), ((True, "\n"), (False, "\r\n")), ((False, "\n"), (True, ""))
    )
]


def changed_lines(before: bytes, after: bytes) -> list[str]:
    diff = difflib.ndiff(before.decode().splitlines(True), after.decode().splitlines(True))
    return [line for line in diff if line[0] in "+-"]


@pytest.mark.parametrize("style", STYLES)
async def test_n31_only_the_changed_lines_differ(tmp_path: Path, style: dict[str, Any]) -> None:
    cells = [*sample(), code("umlaut", "s = 'äöü €'\nt = 1\nu = 2")]
    path = write_notebook(tmp_path / "a.ipynb", cells, **style)
    before = path.read_bytes()
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        edit = {"op": "edit", "cell": "umlaut", "blocks": [{"search": "t = 1", "replace": "t = 'ß'"}]}
        assert not (await call(made, "edit_cells", ops=[edit])).is_error
        after = path.read_bytes()
        changed = changed_lines(before, after)
        assert len(changed) == 2, changed
        assert b"\r\n" in after if style["newline"] == "\r\n" else b"\r" not in after
        assert after.isascii() == style["ascii"]
        assert after.endswith(b"\n") == bool(style["end"])
        # Taking it back gives the same bytes: nothing else was touched.
        back = {"op": "edit", "cell": "umlaut", "blocks": [{"search": "t = 'ß'", "replace": "t = 1"}]}
        assert not (await call(made, "edit_cells", ops=[back])).is_error
        assert path.read_bytes() == before


async def test_n31_in_a_file_on_one_line_the_other_lines_of_the_cell_stay(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "x = 1\ny = 2\nz = 3"), code("b", "x\ny")], lines=True)
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")))
    before = path.read_text()
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        edit = {"op": "edit", "cell": "a", "blocks": [{"search": "y = 2", "replace": "y = 20"}]}
        assert not (await call(made, "edit_cells", ops=[edit])).is_error
    assert path.read_text() == before.replace("y = 2", "y = 20")


@pytest.mark.parametrize("style", [*STYLES, {"indent": None}])
async def test_n31_a_new_cell_looks_as_if_the_file_had_been_written_with_it(
    tmp_path: Path, style: dict[str, Any]
) -> None:
    expected = write_notebook(tmp_path / "expected.ipynb", [*sample(), code("NEW", "ä = 1\nb = 2")], **style)
    path = write_notebook(tmp_path / "a.ipynb", sample(), **{**style, "ascii": style.get("ascii", False)})
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        ops = [{"op": "insert", "type": "code", "source": "ä = 1\nb = 2"}]
        (created,) = (await call(made, "edit_cells", ops=ops)).details["created"]
    wanted = expected.read_bytes().replace(b"NEW", created.encode())
    if style.get("ascii"):
        # The file held no character beyond ASCII, so it could not show that it escapes them.
        wanted = wanted.replace(b"\\u00e4", "ä".encode())
    assert path.read_bytes() == wanted


async def test_n31_of_two_neighbours_the_one_that_was_asked_for_moved(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "1"), code("b", "2"), code("c", "3")])
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        result = await call(made, "edit_cells", ops=[{"op": "move", "cells": ["b"]}])
        assert [cell["id"] for cell in result.details["cells"]] == ["b"]
        assert result.details["diff"] == "move code cell b after c\n"
        result = await call(made, "edit_cells", ops=[{"op": "move", "cells": ["a"], "after": "c"}])
        assert [cell["id"] for cell in result.details["cells"]] == ["a"]
