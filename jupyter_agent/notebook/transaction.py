"""Operations applied to cells: a pure function from (cells, operations) to the cells after all of them, or an error.

Nothing is half done: every id and expected hash is checked against the cells as they are before the first operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from jupyter_agent.errors import EditRefused, NotebookRefused
from jupyter_agent.notebook.cells import (
    CELL_TYPES,
    from_json,
    is_valid_id,
    moved_ids,
    new_id,
    normal_source,
    same_content,
)
from jupyter_agent.notebook.document import (
    Cell,
    ClearOutputs,
    Delete,
    EditSource,
    Insert,
    Merge,
    Move,
    Operation,
    ReplaceSource,
    Restore,
    SetTags,
    SetType,
    Split,
    Target,
)

NewId = Callable[[Collection[str], str, str], str]
"""(ids in use, type, source) -> the id of a new cell."""

EditText = Callable[[str, Sequence[tuple[str, str]], str], tuple[str, tuple[str, ...]]]
"""(source, blocks, file name that tells the language) -> (new source, warnings); raises EditRefused."""


@dataclass(frozen=True)
class Transaction:
    """What operations did to `before`.

    `touched`: ids of existing cells the operations name, anchors included. `changed` (new, or different in content,
    type, tags, outputs or relative place) and `created` are in the order of `after`, `deleted` in that of `before`.
    """

    before: tuple[Cell, ...]
    after: tuple[Cell, ...]
    touched: tuple[str, ...]
    changed: tuple[str, ...]
    created: tuple[str, ...]
    deleted: tuple[str, ...]
    moved: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def apply(
    cells: Sequence[Cell],
    operations: Sequence[Operation],
    *,
    make_id: NewId | None = None,
    edit_text: EditText | None = None,
    language: str = "python",
) -> Transaction:
    """The cells after all operations, in order.

    An expected hash is compared with the cell as it was before the transaction; it may be None only for EditSource,
    Move, SetTags, ClearOutputs, Restore, and for cells the same transaction made. Several inserts after one anchor land
    in the order given.
    Raises NotebookRefused (`unknown_cell`, `stale` with the current source, `op`) and EditRefused.
    """
    before = tuple(cells)
    if not operations:
        raise NotebookRefused("op", "no operations were given. Pass at least one, for example an insert.")
    _check_expectations(before, operations)
    work = _Work(before, make_id or _random_id, edit_text or edit_source, language)
    for number, operation in enumerate(_neighbours_first(operations), 1):
        try:
            work.apply(operation)
        except (NotebookRefused, EditRefused) as refused:
            if len(operations) > 1:
                note = f"operation {number} of {len(operations)} ({_name(operation)}), nothing was changed: "
                refused.args = (note + refused.message,)
            raise
    return _outcome(before, operations, work)


def _random_id(taken: Collection[str], cell_type: str, source: str) -> str:
    return new_id(taken)


def edit_source(source: str, blocks: Sequence[tuple[str, str]], filename: str) -> tuple[str, tuple[str, ...]]:
    """Apply search/replace blocks to a cell's source with the edit engine; returns it with each tolerance used."""
    from jupyter_agent.edit import edit_text

    edited, result = edit_text(source, blocks, filename=filename)
    return edited, result.warnings


class _Work:
    """The cells in the making."""

    def __init__(self, cells: Sequence[Cell], make_id: NewId, edit_text: EditText, language: str) -> None:
        self.cells = list(cells)
        self.make_id = make_id
        self.edit_text = edit_text
        self.language = language
        self.known = {cell.id for cell in cells}
        self.warnings: list[str] = []
        self.followers: dict[str | None, list[str]] = {}

    def apply(self, operation: Operation) -> None:
        handler: Any = _HANDLERS[type(operation)]
        handler(self, operation)

    def place(self, cell_id: str) -> int:
        for place, cell in enumerate(self.cells):
            if cell.id == cell_id:
                return place
        raise unknown_cell(cell_id, self.cells)

    def update(self, cell_id: str, **changes: Any) -> None:
        place = self.place(cell_id)
        self.cells[place] = replace(self.cells[place], **changes)

    def fresh_id(self, cell_type: str, source: str, wanted: str | None = None) -> str:
        if wanted is not None:
            if wanted in {cell.id for cell in self.cells}:
                raise NotebookRefused("op", f"a cell with id {wanted!r} is there already. Leave the id out.")
            if not is_valid_id(wanted):
                raise NotebookRefused("op", f"{wanted!r} is not a valid cell id: 1 to 64 letters, digits, - or _.")
        made = wanted if wanted is not None else self.make_id(self.known, cell_type, source)
        self.known.add(made)
        return made

    def edit(self, op: EditSource) -> None:
        cell = self.cells[self.place(op.target.cell)]
        suffix = {"markdown": ".md", "raw": ".txt"}.get(cell.type, SUFFIXES.get(self.language, ".txt"))
        blocks = [(normal_source(search), normal_source(text)) for search, text in op.blocks]
        try:
            source, warnings = self.edit_text(cell.source, blocks, f"cell{suffix}")
        except EditRefused as refused:
            refused.args = (f"cell {cell.id}: {refused.message}",)
            raise
        self.warnings.extend(f"cell {cell.id}: {warning}" for warning in warnings)
        self.update(cell.id, source=normal_source(source))

    def replace(self, op: ReplaceSource) -> None:
        self.update(op.target.cell, source=normal_source(op.source))

    def insert(self, op: Insert) -> None:
        _check_type(op.type)
        if op.type != "code" and (op.outputs or op.execution_count is not None):
            raise NotebookRefused("op", f"a {op.type} cell has no outputs. Leave them out or insert a code cell.")
        made = self.fresh_id(op.type, normal_source(op.source), op.id)
        cell = Cell(
            id=made,
            index=0,
            type=op.type,
            source=normal_source(op.source),
            metadata=dict(op.metadata),
            outputs=tuple(op.outputs),
            execution_count=op.execution_count,
            attachments=dict(op.attachments),
        )
        self.put([cell], op.after, op.before)

    def put(self, moving: Sequence[Cell], after: str | None, before: str | None) -> None:
        """Insert cells at an anchor; what this transaction put after the same anchor earlier stays before them."""
        if after is not None and before is not None:
            raise NotebookRefused("op", "both `after` and `before` were given. Name one cell, with one of them.")
        if before is not None:
            place = self.place(before)
        elif after is not None:
            place = self.place(after) + 1
            followers = self.followers.setdefault(after, [])
            while place < len(self.cells) and self.cells[place].id in followers:
                place += 1
            followers.extend(cell.id for cell in moving)
        else:
            place = len(self.cells)
        self.cells[place:place] = moving

    def delete(self, op: Delete) -> None:
        for target in op.targets:
            del self.cells[self.place(target.cell)]

    def move(self, op: Move) -> None:
        ids = [target.cell for target in op.targets]
        anchor = op.after if op.after is not None else op.before
        if anchor in ids:
            raise NotebookRefused("op", f"cell {anchor!r} cannot be moved next to itself. Name another cell.")
        moving = [self.cells[self.place(cell_id)] for cell_id in ids]
        self.cells = [cell for cell in self.cells if cell.id not in ids]
        self.put(moving, op.after, op.before)

    def split(self, op: Split) -> None:
        place = self.place(op.target.cell)
        cell = self.cells[place]
        first, *rest = _split_source(cell, op.at)
        parts = [Cell(self.fresh_id(cell.type, source), 0, cell.type, source) for source in rest]
        self.cells[place : place + 1] = [replace(cell, source=first), *parts]

    def merge(self, op: Merge) -> None:
        if len(op.targets) < 2:
            raise NotebookRefused("op", "merge needs at least two cells. Name them in the order of the notebook.")
        places = [self.place(target.cell) for target in op.targets]
        parts = [self.cells[place] for place in places]
        if places != list(range(places[0], places[0] + len(places))):
            raise NotebookRefused("op", "merge takes cells that follow each other, in order. Move them together first.")
        if len({part.type for part in parts}) > 1:
            raise NotebookRefused("op", "merge takes cells of one type. Use set_type first.")
        source = "\n\n".join(part.source.strip("\n") for part in parts if part.source.strip("\n"))
        attachments: dict[str, Any] = {}
        for part in parts:
            for name, bundle in part.attachments.items():
                if attachments.setdefault(name, bundle) != bundle:
                    raise NotebookRefused("op", f"two of the cells attach different files as {name!r}. Rename one.")
        merged = replace(parts[0], source=source, attachments=attachments, outputs=(), execution_count=None)
        self.cells[places[0] : places[-1] + 1] = [merged]

    def set_type(self, op: SetType) -> None:
        _check_type(op.type)
        cell = self.cells[self.place(op.target.cell)]
        if op.type == "code" and cell.attachments:
            raise NotebookRefused(
                "op", f"cell {cell.id} has attachments, which a code cell cannot keep. Copy its text."
            )
        if op.type != cell.type:
            self.update(cell.id, type=op.type, outputs=(), execution_count=None)

    def clear_outputs(self, op: ClearOutputs) -> None:
        for target in op.targets:
            self.update(target.cell, outputs=(), execution_count=None)

    def set_tags(self, op: SetTags) -> None:
        for tag in op.tags:
            if not tag.strip() or "," in tag:
                raise NotebookRefused("op", f"{tag!r} is not a tag: tags are not empty and have no comma.")
        cell = self.cells[self.place(op.target.cell)]
        metadata = {key: value for key, value in cell.metadata.items() if key != "tags" or op.tags}
        if op.tags:
            metadata["tags"] = list(dict.fromkeys(op.tags))
        self.update(cell.id, metadata=metadata)

    def restore(self, op: Restore) -> None:
        cell = from_json(dict(op.cell), op.id, 0)
        place = next((place for place, present in enumerate(self.cells) if present.id == op.id), None)
        if place is not None and not op.moved:
            self.cells[place] = cell
            return
        if place is not None:
            del self.cells[place]
        places = {present.id: number for number, present in enumerate(self.cells)}
        place = 0 if op.after is None else places.get(op.after, len(self.cells) - 1) + 1
        self.cells.insert(place, cell)


_HANDLERS: dict[type, Callable[[_Work, Any], None]] = {
    EditSource: _Work.edit,
    ReplaceSource: _Work.replace,
    Insert: _Work.insert,
    Delete: _Work.delete,
    Move: _Work.move,
    Split: _Work.split,
    Merge: _Work.merge,
    SetType: _Work.set_type,
    ClearOutputs: _Work.clear_outputs,
    SetTags: _Work.set_tags,
    Restore: _Work.restore,
}
_GUARDED = (ReplaceSource, Delete, Split, Merge, SetType)
_NAMES = {
    EditSource: "edit",
    ReplaceSource: "replace",
    Insert: "insert",
    Delete: "delete",
    Move: "move",
    Split: "split",
    Merge: "merge",
    SetType: "set_type",
    ClearOutputs: "clear_outputs",
    SetTags: "set_tags",
    Restore: "restore",
}
SUFFIXES = {"python": ".py", "julia": ".jl", "r": ".R", "R": ".R", "bash": ".sh", "javascript": ".js"}
"""File-name suffix by kernel language: tells the edit engine how to check a code cell."""


def targets_of(operation: Operation) -> tuple[Target, ...]:
    """The cells an operation changes or removes (anchors not included)."""
    if isinstance(operation, Insert):
        return ()
    if isinstance(operation, Delete | Move | Merge | ClearOutputs):
        return operation.targets
    if isinstance(operation, Restore):
        return (Target(operation.id, operation.expected_hash),)
    return (operation.target,)


def unknown_cell(cell_id: str, cells: Iterable[Cell]) -> NotebookRefused:
    """The refusal of an id that is not there: never taken for an index; names the ids that are."""
    present = [cell.id for cell in cells]
    shown = ", ".join(present[:40]) + (", …" if len(present) > 40 else "")
    position = " A cell is named by its id, not by its position." if cell_id.lstrip("-").isdigit() else ""
    there = f"The cells are, in order: {shown}." if present else "The notebook has no cells."
    return NotebookRefused("unknown_cell", f"there is no cell {cell_id!r}.{position} {there}")


def stale_cell(cell: Cell, expected: str | None) -> NotebookRefused:
    """The refusal of an operation meant for another source; carries the current source."""
    what = (
        f"expected_hash is needed for cell {cell.id}"
        if expected is None
        else f"cell {cell.id} is not what you read: its hash is {cell.hash}, you expected {expected}"
    )
    message = f"{what}. Look at its current source and repeat the step with hash={cell.hash} if it still fits."
    return NotebookRefused("stale", message, content=cell.source)


def _check_expectations(cells: Sequence[Cell], operations: Sequence[Operation]) -> None:
    by_id = {cell.id: cell for cell in cells}
    made = {op.id for op in operations if isinstance(op, Insert) and op.id is not None}
    for operation in operations:
        seen: set[str] = set()
        if not isinstance(operation, Insert) and not targets_of(operation):
            raise NotebookRefused("op", f"{_name(operation)} names no cell. Give at least one id.")
        for target in targets_of(operation):
            if target.cell in seen:
                raise NotebookRefused("op", f"{_name(operation)} names cell {target.cell!r} twice. Name it once.")
            seen.add(target.cell)
            cell = by_id.get(target.cell)
            if cell is None:
                if target.cell in made or isinstance(operation, Restore):
                    continue
                raise unknown_cell(target.cell, cells)
            needed = isinstance(operation, _GUARDED)
            if (target.expected_hash is None and needed) or target.expected_hash not in (None, cell.hash):
                raise stale_cell(cell, target.expected_hash)


def _neighbours_first(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with each Restore behind the Restore of the cell it goes after; the others keep their places."""
    restores = {op.id: op for op in operations if isinstance(op, Restore)}
    ordered: list[Operation] = []
    done: set[str] = set()
    for operation in operations:
        chain: list[Restore] = []
        following = operation
        while isinstance(following, Restore) and following.id not in done:
            done.add(following.id)
            chain.append(following)
            following = restores.get(following.after or "", operation)
        ordered += reversed(chain) if isinstance(operation, Restore) else [operation]
    return ordered


def _outcome(before: tuple[Cell, ...], operations: Sequence[Operation], work: _Work) -> Transaction:
    after = tuple(cell if cell.index == index else replace(cell, index=index) for index, cell in enumerate(work.cells))
    old = {cell.id: cell for cell in before}
    remaining = {cell.id for cell in after}
    asked = {target.cell for operation in operations if isinstance(operation, Move) for target in operation.targets}
    moved = _moved([c.id for c in before if c.id in remaining], [c.id for c in after if c.id in old], asked)
    named: set[str] = set()
    for operation in operations:
        named.update(target.cell for target in targets_of(operation))
        if isinstance(operation, Insert | Move):
            # An anchor that goes away leaves the place undefined, so it counts as touched.
            named.update(anchor for anchor in (operation.after, operation.before) if anchor is not None)
    return Transaction(
        before=before,
        after=after,
        touched=tuple(cell.id for cell in before if cell.id in named),
        changed=tuple(c.id for c in after if c.id not in old or c.id in moved or not same_content(old[c.id], c)),
        created=tuple(cell.id for cell in after if cell.id not in old),
        deleted=tuple(cell.id for cell in before if cell.id not in remaining),
        moved=tuple(cell.id for cell in after if cell.id in moved),
        warnings=tuple(work.warnings),
    )


def _moved(before: Sequence[str], after: Sequence[str], asked: set[str]) -> set[str]:
    """The fewest cells that moved; where several answers are as short, those that were asked to move."""
    fewest = set(moved_ids(before, after))
    stayed = ([id for id in order if id not in asked] for order in (before, after))
    as_asked = len(asked & set(before)) <= len(fewest) and next(stayed) == next(stayed)
    return asked & set(before) if as_asked else fewest


def _split_source(cell: Cell, at: Sequence[int]) -> list[str]:
    lines = cell.source.split("\n")
    if not at or list(at) != sorted(set(at)) or at[0] < 2 or at[-1] > len(lines):
        message = f"split needs ascending line numbers from 2 to {len(lines)} (first lines of the new cells)."
        raise NotebookRefused("op", f"cell {cell.id} has {len(lines)} lines: {message}")
    bounds = [0, *(line - 1 for line in at), len(lines)]
    parts = ["\n".join(lines[a:b]).strip("\n") for a, b in pairwise(bounds)]
    for line, part in zip([1, *at], parts, strict=True):
        if not part.strip():
            raise NotebookRefused("op", f"splitting cell {cell.id} there leaves an empty cell at line {line}.")
    return parts


def _check_type(cell_type: str) -> None:
    if cell_type not in CELL_TYPES:
        raise NotebookRefused("op", f"{cell_type!r} is not a cell type. Use code, markdown or raw.")


def _name(operation: Operation) -> str:
    return _NAMES[type(operation)]
