"""f9: a notebook write that the disk has no room for is an error; the old notebook stays, and so do pending outputs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import nbformat
import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.notebook.file import FileNotebook
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells

INSERT = [{"op": "insert", "type": "code", "source": "x"}]


@pytest.mark.parametrize("primitive", ["write", "fsync", "replace", "open"])
async def test_f09_the_old_notebook_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, primitive: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = write_notebook(root / "a.ipynb", sample())
    before = path.read_bytes()

    def full(*arguments: object, **more: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tools = {"edit_cells": edit_cells}
    async with conversation_on(root, tools, folder=tmp_path / "c", notebook=path) as conversation:
        with monkeypatch.context() as patch:
            real = os.open

            def full_for_new_files(name: str, flags: int, *arguments: int, **more: int) -> int:
                return full() if flags & os.O_CREAT else real(name, flags, *arguments, **more)

            patch.setattr(f"jupyter_agent.atomic.os.{primitive}", full_for_new_files if primitive == "open" else full)
            # The undo store shares the disk: only writes of the notebook itself are to fail here.
            patch.setattr(conversation.checkpoints, "save", lambda changes: {})
            patch.setattr(conversation.journal, "sync", lambda: None)
            refused = await call(conversation, "edit_cells", ops=INSERT)
        assert refused.is_error
        assert path.read_bytes() == before
        assert [entry.name for entry in root.iterdir()] == ["a.ipynb"]
        assert "no space left" in text_of(refused)
        assert not (await call(conversation, "edit_cells", ops=INSERT)).is_error


async def test_f09_outputs_that_could_not_be_written_are_kept_and_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    notebook = FileNotebook(path)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    await notebook.set_outputs("first", [{"output_type": "stream", "name": "stdout", "text": "kept"}], 9)
    with monkeypatch.context() as patch:
        patch.setattr("jupyter_agent.atomic.os.write", full)
        with pytest.raises(WorkspaceRefused, match="no space left"):
            await notebook.save()
    assert (await notebook.cells())[1].outputs[0]["text"] == "kept"
    await notebook.close()
    assert nbformat.read(str(path), as_version=4).cells[1].outputs[0].text == "kept"
