"""The file backend under the shipped suite; the other party is nbformat, which knows nothing of our code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
import pytest

from jupyter_agent.notebook.cells import from_json, renumbered, to_json
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.notebook.file import FileNotebook
from jupyter_agent.testing.documents import DocumentConformance


class FileBackend:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, cells: Sequence[Cell]) -> None:
        raw = {
            "cells": [to_json(cell) for cell in cells],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        nbformat.write(nbformat.from_dict(raw), str(self.path))

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        self.write(cells)
        return FileNotebook(self.path)

    async def stored(self) -> Sequence[Cell]:
        notebook = nbformat.read(str(self.path), as_version=4)
        nbformat.validate(notebook)
        return renumbered(from_json(cell, cell["id"], 0) for cell in notebook.cells)

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        self.write(edit(list(await self.stored())))


class TestFile(DocumentConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> FileBackend:
        return FileBackend(tmp_path / "notebook.ipynb")
