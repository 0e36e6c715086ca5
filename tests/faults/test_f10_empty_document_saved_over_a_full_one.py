"""f10: a document that was loaded empty is never written over a full one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.change import Rewrite, edit_effect
from jupyter_agent.notebook.document import Cell, Insert
from jupyter_agent.notebook.transaction import apply
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.effects import commit
from jupyter_agent.testing.samples import ids, sample, write_notebook
from jupyter_agent.tools.cells import edit_cells, read_cells


async def test_f10_a_notebook_seen_empty_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    full = path.read_bytes()
    write_notebook(path, [])

    async def the_file_comes_back(request: object) -> object:
        path.write_bytes(full)
        return _yes(request)

    tools = {"read_cells": read_cells, "edit_cells": edit_cells}
    async with conversation_on(
        tmp_path, tools, folder=tmp_path / "c", notebook=path, mode="review", asker=the_file_comes_back
    ) as conversation:
        result = await call(conversation, "edit_cells", ops=[{"op": "insert", "type": "code", "source": "new"}])
        assert not result.is_error
        listed = await call(conversation, "read_cells")
    assert [cell["id"] for cell in listed.details["cells"]][-4:] == ids(sample())
    assert len(listed.details["cells"]) == 5


async def test_f10_a_backend_that_drops_cells_is_stopped_before_it_writes() -> None:
    written: list[tuple[Cell, ...]] = []

    async def read() -> tuple[Cell, ...]:
        return tuple(sample())

    async def rewrite(make: Rewrite) -> tuple[Cell, ...]:
        cells: Sequence[Cell] = make(sample())
        written.append(tuple(cells))
        return tuple(cells)

    loaded_empty = apply([], [Insert("code", "new")])
    broken = apply(sample(), [Insert("code", "new")])
    # A fault in a backend or in the merge: the described result lacks cells that nobody deleted.
    broken = type(broken)(**{**vars(broken), "after": loaded_empty.after})
    with pytest.raises(NotebookRefused) as refused:
        await commit(edit_effect(broken, target="a", read=read, rewrite=rewrite))
    assert refused.value.kind == "empty"
    assert written == []


def _yes(request: object) -> object:
    from jupyter_agent.events import Approval, ApprovalRequest

    assert isinstance(request, ApprovalRequest)
    return Approval(id=request.id, digest=request.digest, decision="once")
