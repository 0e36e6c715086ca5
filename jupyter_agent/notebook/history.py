"""The *ipython* backend: where there is no document, a shell's history stands in as read-only code cells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Operation, Output


@dataclass(frozen=True)
class Entered:
    """One executed input: its number, source, and the text of its result (`""` for none)."""

    number: int
    source: str
    result: str = ""


@dataclass
class HistoryNotebook:
    """Implements `Notebook` over `history`, called anew at each read. Cell ids are `in-N` for `In[N]`."""

    history: Callable[[], Sequence[Entered]]
    language: str = "python"
    _outputs: dict[str, tuple[Output, ...]] = field(default_factory=dict)

    @property
    def path(self) -> str | None:
        return None

    @property
    def backend(self) -> Literal["ipython"]:
        return "ipython"

    async def cells(self) -> tuple[Cell, ...]:
        return tuple(self._cell(place, entered) for place, entered in enumerate(self.history()))

    def _cell(self, place: int, entered: Entered) -> Cell:
        id = f"in-{entered.number}"
        outputs = self._outputs.get(id, ())
        if not outputs and entered.result:
            result: Output = {
                "output_type": "execute_result",
                "execution_count": entered.number,
                "data": {"text/plain": entered.result},
                "metadata": {},
            }
            outputs = (result,)
        return Cell(id, place, "code", entered.source, outputs=outputs, execution_count=entered.number)

    async def metadata(self) -> Mapping[str, Any]:
        return {"language_info": {"name": self.language}}

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        raise NotebookRefused(
            "read_only",
            "There is no notebook here, only the shell's history, which cannot be edited. Run code with run_code, or "
            "name a notebook by its path.",
        )

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """Remembered for as long as the shell lives: a history keeps results only."""
        self._outputs[cell] = tuple(outputs)

    async def watch(self) -> AsyncIterator[CellsChanged]:
        """Nobody else edits a history."""
        await asyncio.Event().wait()
        yield CellsChanged(())

    async def save(self) -> None:
        """A history saves itself."""

    async def close(self) -> None:
        """Nothing is held."""
