"""The document protocol: what a notebook is to the rest of the program, whoever holds it.

Cells are addressed by nbformat id, never by position. Every change is an `Effect` over a whole transaction of
operations: all of them land, or none does.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from jupyter_agent.effect import Effect

CellType = Literal["code", "markdown", "raw"]
Output = dict[str, Any]
"""One nbformat 4 output: {"output_type": "stream" | "display_data" | "execute_result" | "error", …}."""


def cell_hash(cell_type: str, source: str) -> str:
    """The first 12 hex digits of SHA-256 over `type + "\\n" + source` (UTF-8, lone surrogates passed through)."""
    return hashlib.sha256(f"{cell_type}\n{source}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True)
class Cell:
    """A cell as it is now. `source` has "\\n" line ends; `outputs` is empty for other than code cells."""

    id: str
    index: int
    type: CellType
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[Output] = ()
    execution_count: int | None = None
    attachments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        return cell_hash(self.type, self.source)

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.metadata.get("tags", ())
        return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else ()


# Operations of one transaction (DESIGN section 4, `edit_cells`). `expected` maps to `expected_hash`; None means the
# operation's own content is its guard.


@dataclass(frozen=True)
class Target:
    cell: str
    expected_hash: str | None = None


@dataclass(frozen=True)
class EditSource:
    """Search/replace blocks inside one cell; the SEARCH text is the guard."""

    target: Target
    blocks: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReplaceSource:
    target: Target
    source: str


@dataclass(frozen=True)
class Insert:
    """After or before a cell; neither: append. `id` is filled in by the backend where None."""

    type: CellType
    source: str
    after: str | None = None
    before: str | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[Output] = ()
    execution_count: int | None = None
    attachments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Move:
    """Moves the cells, in the order given, to one place; neither `after` nor `before`: to the end."""

    targets: tuple[Target, ...]
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True)
class Split:
    """`at`: 1-based first lines of the new cells. The first part keeps id, outputs and metadata."""

    target: Target
    at: tuple[int, ...]


@dataclass(frozen=True)
class Merge:
    """Into the first cell, sources joined by one blank line; the first keeps its id; code outputs are cleared."""

    targets: tuple[Target, ...]


@dataclass(frozen=True)
class SetType:
    target: Target
    type: CellType


@dataclass(frozen=True)
class ClearOutputs:
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class SetTags:
    target: Target
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Restore:
    """Undo: put a cell back exactly as a pre-image holds it: source, type, outputs, count, metadata, attachments.

    `cell` is the nbformat cell JSON (its key order is kept). A cell that still exists is replaced in place (its present
    hash must be `expected_hash` unless None); one that was deleted, or `moved`, goes behind `after` (None: to the top),
    or to the end when that neighbour is gone.
    """

    id: str
    cell: Mapping[str, Any]
    after: str | None
    expected_hash: str | None = None
    moved: bool = False


Operation = (
    EditSource | ReplaceSource | Insert | Delete | Move | Split | Merge | SetType | ClearOutputs | SetTags | Restore
)


@dataclass(frozen=True)
class EditOutcome:
    """What a committed transaction did, read back from the document after the write (fault f13).

    `changed` holds the ids of changed or new cells in document order, `created` the new ones (a subset), `deleted` the
    ids gone, `warnings` each tolerance an edit block used.
    """

    cells: tuple[Cell, ...]
    changed: tuple[str, ...]
    created: tuple[str, ...]
    deleted: tuple[str, ...]
    diff: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellsChanged:
    """Somebody else changed the document: ids whose source, type or place changed, appeared or vanished."""

    cells: tuple[str, ...]


class Notebook(Protocol):
    """A notebook document. Raises NotebookRefused (errors.py) for everything that is declined; then nothing changed.

    Thread: all methods are called on the agent's event loop.
    """

    @property
    def path(self) -> str | None:
        """Absolute real path on this machine, or None for a document without a file."""
        ...

    @property
    def backend(self) -> Literal["memory", "file", "shared", "lab", "ipython", "contents"]: ...

    async def cells(self) -> tuple[Cell, ...]:
        """All cells as they are now, re-read from the owner. Never touches a kernel."""
        ...

    async def metadata(self) -> Mapping[str, Any]:
        """Notebook metadata (kernelspec, language_info, …)."""
        ...

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        """Resolve all operations against the current cells and describe the whole as one effect of kind `edit`.

        The effect's preview is a unified diff per cell; its changes carry the pre-image of each cell; its `current`
        is a hash over exactly the cells the operations touch and their places, so another cell's concurrent change
        does not make it stale. Raises NotebookRefused (unknown_cell, stale, op, …) and EditRefused.
        """
        ...

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """Replace a code cell's outputs and count (outputs of granted code: no effect of its own).

        `timing` becomes `metadata.execution` as JupyterLab records it (ISO 8601 strings). A cell deleted meanwhile is
        ignored. May be called often while code runs; a backend may coalesce, `save` flushes.
        """
        ...

    def watch(self) -> AsyncIterator[CellsChanged]:
        """Changes by others, from now on."""
        ...

    async def save(self) -> None:
        """Make everything durable where the policy allows (a document with the user's unsaved edits stays)."""
        ...

    async def close(self) -> None: ...
