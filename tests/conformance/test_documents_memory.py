"""The memory backend under the shipped suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.notebook.memory import MemoryNotebook
from jupyter_agent.testing.documents import DocumentConformance


class MemoryBackend:
    notebook: MemoryNotebook

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        self.notebook = MemoryNotebook(cells)
        return self.notebook

    async def stored(self) -> Sequence[Cell]:
        return await self.notebook.cells()

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        self.notebook.replace_cells(edit(list(await self.notebook.cells())))


class TestMemory(DocumentConformance):
    @pytest.fixture
    def backend(self) -> MemoryBackend:
        return MemoryBackend()
