"""The notebook of a kernel whose server cannot be reached: read from disk, changed only by the person.

The document may be open with unsaved edits, so the file is not written: a change is shown as a diff, and the source of
a new or changed cell is offered as the next input.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Notebook, Operation, Output

Propose = Callable[[str, Sequence[str]], None]
"""Shows a diff, and offers sources as next inputs, to the person."""


class ProposingNotebook:
    """Implements `Notebook` over the saved file; `edit` proposes and is then refused with kind `proposed`."""

    def __init__(self, saved: Notebook, propose: Propose) -> None:
        self._saved = saved
        self._propose = propose

    @property
    def path(self) -> str | None:
        return self._saved.path

    @property
    def backend(self) -> Literal["file"]:
        return "file"

    async def cells(self) -> tuple[Cell, ...]:
        return await self._saved.cells()

    async def metadata(self) -> Mapping[str, Any]:
        return await self._saved.metadata()

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        """Show what the transaction would do. Always raises NotebookRefused, so that nothing claims a change."""
        before = {cell.id: cell.source for cell in await self._saved.cells()}
        effect = await self._saved.edit(operations)
        sources = [source for id, source in _sources(effect) if before.get(id) != source]
        self._propose(effect.preview, sources)
        raise NotebookRefused(
            "proposed",
            "Not written: this kernel belongs to a server that cannot be reached from here, and the notebook may be "
            "open there with unsaved edits. The diff was shown to the person, and new source was offered as their "
            "next cell. Go on with run_code, or end by telling them what to apply.",
        )

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """Outputs show in the magic's own cell; the file stays as it is."""

    def watch(self) -> AsyncIterator[CellsChanged]:
        return self._saved.watch()

    async def save(self) -> None:
        """Nothing is written here."""

    async def close(self) -> None:
        await self._saved.close()


def _sources(effect: Effect[EditOutcome]) -> list[tuple[str, str]]:
    """(id, new source) of the cells that the effect would leave changed or new."""
    found = effect.details.get("sources", {})
    return [(str(id), str(source)) for id, source in found.items()]
