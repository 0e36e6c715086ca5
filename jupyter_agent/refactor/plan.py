"""What a recipe proposes: cells after the refactoring, as operations on a document, and files beside it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import is_valid_id, moved_ids
from jupyter_agent.notebook.document import (
    Cell,
    ClearOutputs,
    Delete,
    Insert,
    Move,
    Operation,
    ReplaceSource,
    SetTags,
    Target,
)


@dataclass(frozen=True)
class FileWrite:
    """A new file: `path` relative to the notebook's folder, with `/`. It must not exist when it is written."""

    path: str
    content: str


@dataclass(frozen=True)
class Plan:
    """`operations` turn the cells into `after` (none: nothing to do). `notes` are sentences for a person.

    `groups` pairs the ids before with those after whose outputs, joined, must be the same (for `verify`); cells not
    named correspond by id. `moved_outputs`: ids of cells whose stored outputs no longer say what they show, and were
    cleared.
    """

    after: tuple[Cell, ...]
    operations: tuple[Operation, ...]
    files: tuple[FileWrite, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    cleared: tuple[str, ...] = ()

    @property
    def file_bytes(self) -> dict[str, bytes]:
        """The files as `verify(files=…)` takes them."""
        return {file.path: file.content.encode() for file in self.files}


@dataclass(frozen=True)
class Context:
    """What a recipe may know besides the cells. `language`: of the kernel; `name`: the notebook's file name;
    `metadata`: the notebook's; `existing`: names of the files and folders in the notebook's folder."""

    language: str = "python"
    name: str = "notebook.ipynb"
    metadata: Mapping[str, object] = field(default_factory=dict)
    existing: frozenset[str] = frozenset()


def refused(sentence: str) -> NotebookRefused:
    """The refusal of a recipe: nothing is changed, and the sentence says why and what to do."""
    return NotebookRefused("recipe", sentence)


def make_plan(
    before: Sequence[Cell],
    after: Iterable[Cell],
    *,
    files: Iterable[FileWrite] = (),
    notes: Iterable[str] = (),
    groups: Iterable[tuple[Sequence[str], Sequence[str]]] = (),
    cleared: Iterable[str] = (),
) -> Plan:
    """The plan that leads from `before` to `after`. Ids of new cells come from `new_cell_id`."""
    cells = tuple(cell if cell.index == index else replace(cell, index=index) for index, cell in enumerate(after))
    return Plan(
        cells,
        tuple(operations_between(before, cells)),
        tuple(files),
        tuple(notes),
        tuple((tuple(old), tuple(new)) for old, new in groups),
        tuple(cleared),
    )


def new_cell_id(taken: Collection[str], *content: str, wanted: str = "") -> str:
    """`wanted` where that is a valid and free id, so that a next recipe can name the cell; else 8 hexadecimal digits
    made from the content: the same recipe on the same notebook gives the same ids."""
    if is_valid_id(wanted) and wanted not in taken:
        return wanted
    for number in range(1 << 20):
        digest = hashlib.sha256("\0".join((*content, str(number))).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        if digest not in taken:
            return digest
    raise refused("no free cell id was found. The notebook is too large for this.")


def operations_between(before: Sequence[Cell], after: Sequence[Cell]) -> list[Operation]:
    """The fewest operations from one list of cells to another; every one guarded by the hash of what it changes."""
    old = {cell.id: cell for cell in before}
    new = {cell.id: cell for cell in after}
    rebuilt = {cell.id for cell in after if cell.id in old and _needs_rebuilding(old[cell.id], cell)}
    operations: list[Operation] = []
    gone = tuple(Target(cell.id, cell.hash) for cell in before if cell.id not in new or cell.id in rebuilt)
    if gone:
        operations.append(Delete(gone))
    stay = [cell.id for cell in before if cell.id in new and cell.id not in rebuilt]
    stay_after = [cell.id for cell in after if cell.id in old and cell.id not in rebuilt]
    moving = set(moved_ids(stay, stay_after))
    placed = [cell for cell in stay if cell not in moving]
    operations += _placements(after, old, rebuilt, moving, placed[0] if placed else None)
    for cell in after:
        if cell.id in old and cell.id not in rebuilt:
            operations += _changes(old[cell.id], cell)
    return operations


def _placements(
    after: Sequence[Cell], old: Mapping[str, Cell], rebuilt: set[str], moving: set[str], first: str | None
) -> list[Operation]:
    """Inserts and moves, from the top, each after the cell that then stands before it."""
    operations: list[Operation] = []
    previous: str | None = None
    for cell in after:
        at_top = previous is None
        anchor_before = first if at_top else None
        if cell.id not in old or cell.id in rebuilt:
            operations.append(
                Insert(
                    cell.type,
                    cell.source,
                    after=previous,
                    before=anchor_before,
                    id=cell.id,
                    metadata=cell.metadata,
                    outputs=cell.outputs,
                    execution_count=cell.execution_count,
                    attachments=cell.attachments,
                )
            )
        elif cell.id in moving:
            operations.append(Move((Target(cell.id, old[cell.id].hash),), after=previous, before=anchor_before))
        previous = cell.id
    return operations


def _needs_rebuilding(old: Cell, new: Cell) -> bool:
    """Whether no operation but delete and insert (with the same id) makes `new` of `old`."""
    plain = {key: value for key, value in old.metadata.items() if key != "tags"}
    wanted = {key: value for key, value in new.metadata.items() if key != "tags"}
    outputs_kept = (list(old.outputs), old.execution_count) == (list(new.outputs), new.execution_count)
    outputs_cleared = not new.outputs and new.execution_count is None
    return (
        old.type != new.type
        or plain != wanted
        or dict(old.attachments) != dict(new.attachments)
        or not (outputs_kept or outputs_cleared)
    )


def _changes(old: Cell, new: Cell) -> list[Operation]:
    target = Target(old.id, old.hash)
    operations: list[Operation] = []
    if old.source != new.source:
        operations.append(ReplaceSource(target, new.source))
    if old.tags != new.tags:
        operations.append(SetTags(target, new.tags))
    if (old.outputs or old.execution_count is not None) and not new.outputs and new.execution_count is None:
        operations.append(ClearOutputs((target,)))
    return operations
