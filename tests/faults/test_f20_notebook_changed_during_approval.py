"""f20, n5, n6: what the user changes while an approval is pending is kept: merged for another cell, else refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.permission.gate import Asker
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells


def meanwhile(act: Callable[[], object]) -> Asker:
    """A person who does something, then says yes."""

    async def ask(request: ApprovalRequest) -> Approval:
        act()
        return Approval(id=request.id, digest=request.digest, decision="once")

    return ask


REPLACE = {"op": "replace", "cell": "second", "expected_hash": sample()[2].hash, "source": "ours"}


@pytest.mark.parametrize("theirs", ["y = the_users", None])
async def test_f20_the_users_text_of_the_same_cell_wins(tmp_path: Path, theirs: str | None) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())

    def user_edits() -> None:
        cells = sample()
        cells[2:3] = [code("second", theirs)] if theirs is not None else []
        write_notebook(path, cells)

    asker = meanwhile(user_edits)
    async with conversation_on(
        tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path, mode="review", asker=asker
    ) as conversation:
        result = await call(conversation, "edit_cells", ops=[REPLACE])
    assert result.details["refused"]["kind"] == "stale"
    sources = [cell.source for cell in nbformat.read(str(path), as_version=4).cells]
    assert "ours" not in sources
    if theirs is not None:
        assert theirs in sources
        assert theirs in text_of(result)


async def test_n05_changes_of_both_sides_to_different_cells_are_merged(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())

    def user_edits() -> None:
        cells = sample()
        write_notebook(path, [code("top", "their new cell"), cells[0], code("first", "theirs"), *cells[2:]])

    asker = meanwhile(user_edits)
    insert = {"op": "insert", "type": "markdown", "source": "our new cell", "after": "second"}
    async with conversation_on(
        tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path, mode="review", asker=asker
    ) as conversation:
        result = await call(conversation, "edit_cells", ops=[REPLACE, insert])
    assert not result.is_error, result
    sources = [cell.source for cell in nbformat.read(str(path), as_version=4).cells]
    assert sources == ["their new cell", sample()[0].source, "theirs", "ours", "our new cell", "raw text"]


async def test_n06_the_person_sees_the_line_diff_before_anything_is_written(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    before = path.read_bytes()
    seen: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> Approval:
        seen.append(request)
        assert path.read_bytes() == before
        return Approval(id=request.id, digest=request.digest, decision="reject", reason="no")

    async with conversation_on(
        tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path, mode="review", asker=ask
    ) as conversation:
        edit = {"op": "edit", "cell": "first", "blocks": [{"search": "print(x)", "replace": "print(x, 2)"}]}
        result = await call(conversation, "edit_cells", ops=[edit])
    assert result.is_error
    assert "-print(x)\n+print(x, 2)\n" in seen[0].preview
    assert path.read_bytes() == before
