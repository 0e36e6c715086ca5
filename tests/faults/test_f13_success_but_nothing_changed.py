"""f13, n12: a write that the storage drops is an error; a real one returns the hash that is now in the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.document import cell_hash
from jupyter_agent.notebook.file import FileNotebook
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells

REPLACE = [{"op": "replace", "cell": "second", "expected_hash": sample()[2].hash, "source": "y = 2"}]


async def test_f13_a_dropped_write_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    old = path.read_bytes()

    def drop(source: str, target: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        os.unlink(source, dir_fd=src_dir_fd)

    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        with monkeypatch.context() as patch:
            patch.setattr("jupyter_agent.atomic.os.replace", drop)
            result = await call(made, "edit_cells", ops=REPLACE)
    assert result.is_error
    assert result.details["refused"]["kind"] == "unconfirmed"
    assert path.read_bytes() == old


async def test_f13_n12_the_result_carries_the_hash_in_the_file(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        result = await call(made, "edit_cells", ops=REPLACE)
    assert not result.is_error
    stored: Any = nbformat.read(str(path), as_version=4).cells[2]
    (cell,) = result.details["cells"]
    assert cell["hash"] == cell_hash("code", stored.source) == cell_hash("code", "y = 2")
    assert f"id=second hash={cell['hash']}" in text_of(result)


async def test_f13_dropped_outputs_are_an_error_and_stay_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    notebook = FileNotebook(path)
    await notebook.set_outputs("first", [{"output_type": "stream", "name": "stdout", "text": "kept"}], 9)
    with monkeypatch.context() as patch:
        patch.setattr("jupyter_agent.atomic.os.replace", lambda source, target, **more: None)
        with pytest.raises(NotebookRefused) as refused:
            await notebook.save()
    assert refused.value.kind == "unconfirmed"
    await notebook.save()
    assert nbformat.read(str(path), as_version=4).cells[1].outputs[0].text == "kept"
    await notebook.close()
