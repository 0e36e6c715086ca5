"""A notebook that lives in this process only: for tests, demonstrations and conversations without a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakSet

from jupyter_agent.effect import Effect
from jupyter_agent.notebook.cells import new_id, renumbered, with_outputs
from jupyter_agent.notebook.change import Rewrite, changed_by_others, edit_effect
from jupyter_agent.notebook.document import Cell, CellsChanged, CellType, EditOutcome, Operation, Output
from jupyter_agent.notebook.limits import cap_outputs
from jupyter_agent.notebook.transaction import apply


class MemoryNotebook:
    """Cells in memory. `replace_cells` is how somebody else changes them."""

    def __init__(
        self,
        cells: Sequence[Cell | tuple[CellType, str]] = (),
        metadata: Mapping[str, Any] | None = None,
        name: str = "memory",
    ) -> None:
        """A (type, source) pair becomes a cell with a fresh id."""
        taken: set[str] = {cell.id for cell in cells if isinstance(cell, Cell)}
        made: list[Cell] = []
        for cell in cells:
            if not isinstance(cell, Cell):
                cell = Cell(new_id(taken), 0, cell[0], cell[1])
                taken.add(cell.id)
            made.append(cell)
        self._cells = renumbered(made)
        self._metadata = dict(metadata or {})
        self._name = name
        # A queue lives as long as somebody iterates over it.
        self._watchers: WeakSet[asyncio.Queue[CellsChanged | None]] = WeakSet()

    @property
    def path(self) -> str | None:
        return None

    @property
    def backend(self) -> Literal["memory"]:
        return "memory"

    async def cells(self) -> tuple[Cell, ...]:
        return self._cells

    async def metadata(self) -> Mapping[str, Any]:
        return self._metadata

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        language = str(self._metadata.get("kernelspec", {}).get("language", "python"))
        transaction = apply(self._cells, operations, language=language)
        return edit_effect(transaction, target=self._name, read=self.cells, rewrite=self._rewrite)

    async def _rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        self._cells = make(self._cells)
        return self._cells

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        self._cells = with_outputs(self._cells, cell, cap_outputs(outputs), execution_count, timing)

    def replace_cells(self, cells: Sequence[Cell]) -> None:
        """Somebody else's change; watchers are told."""
        before, self._cells = self._cells, renumbered([replace(cell) for cell in cells])
        changed = changed_by_others(before, self._cells)
        if changed:
            for queue in self._watchers:
                queue.put_nowait(CellsChanged(changed))

    def watch(self) -> AsyncIterator[CellsChanged]:
        queue: asyncio.Queue[CellsChanged | None] = asyncio.Queue()
        self._watchers.add(queue)
        return _drain(queue)

    async def save(self) -> None:
        """Nothing to do: there is no file."""

    async def close(self) -> None:
        """Ends the watchers."""
        for queue in self._watchers:
            queue.put_nowait(None)


async def _drain(queue: asyncio.Queue[CellsChanged | None]) -> AsyncIterator[CellsChanged]:
    while (change := await queue.get()) is not None:
        yield change
