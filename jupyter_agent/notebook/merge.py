"""Three-way merge of notebooks by cell id and field: what both sides did to different things lands, the rest conflicts.

Pure. `base` is what our change started from, `ours` the result of it, `theirs` the document as it is now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jupyter_agent.notebook.cells import moved_ids, renumbered, same_content
from jupyter_agent.notebook.document import Cell


@dataclass(frozen=True)
class Conflict:
    """Both sides changed the same thing of a cell. `theirs` is its source in the document now, None when deleted."""

    cell: str
    reason: str
    theirs: str | None


@dataclass(frozen=True)
class Merged:
    """`cells` is meaningful only without conflicts."""

    cells: tuple[Cell, ...]
    conflicts: tuple[Conflict, ...] = ()


def merge(base: Sequence[Cell], ours: Sequence[Cell], theirs: Sequence[Cell]) -> Merged:
    """Apply the difference from `base` to `ours` to `theirs`.

    Source, type and attachments conflict when both sides changed them differently; of outputs, theirs are newer and
    win; metadata merges key by key. New and moved cells of ours follow the same neighbour as in `ours`.
    """
    old = {cell.id: cell for cell in base}
    mine = {cell.id: cell for cell in ours}
    present = {cell.id: cell for cell in theirs}
    conflicts: list[Conflict] = []
    result: dict[str, Cell] = {}
    for cell_id in dict.fromkeys([*present, *mine, *old]):
        merged = _merge_cell(cell_id, old.get(cell_id), mine.get(cell_id), present.get(cell_id))
        if isinstance(merged, Conflict):
            conflicts.append(merged)
        elif merged is not None:
            result[cell_id] = merged
    if conflicts:
        return Merged(tuple(theirs), tuple(conflicts))
    order = _merge_order([c.id for c in base], [c.id for c in ours], [c.id for c in theirs], result)
    return Merged(renumbered(result[cell_id] for cell_id in order))


def _merge_cell(cell_id: str, base: Cell | None, ours: Cell | None, theirs: Cell | None) -> Cell | Conflict | None:
    if base is None:
        if ours is not None and theirs is not None and not same_content(ours, theirs):
            return Conflict(cell_id, "was created on both sides", theirs.source)
        return theirs or ours
    if ours is None:
        if theirs is None or _same_text(base, theirs):
            return None
        return Conflict(cell_id, "was changed meanwhile, and this deletes it", theirs.source)
    if theirs is None:
        if same_content(base, ours):
            return None
        return Conflict(cell_id, "was deleted meanwhile", None)
    if same_content(base, ours) or same_content(ours, theirs):
        return theirs
    return _merge_fields(base, ours, theirs)


def _merge_fields(base: Cell, ours: Cell, theirs: Cell) -> Cell | Conflict:
    if _same_text(base, theirs):
        text = ours
    elif _same_text(base, ours) or _same_text(ours, theirs):
        text = theirs
    else:
        return Conflict(base.id, "was changed meanwhile", theirs.source)
    metadata = _merge_metadata(base.metadata, ours.metadata, theirs.metadata)
    if metadata is None:
        return Conflict(base.id, "got other tags meanwhile", theirs.source)
    outputs_unchanged = theirs.outputs == base.outputs and theirs.execution_count == base.execution_count
    ran = ours if outputs_unchanged else theirs
    code = text.type == "code"
    return replace(
        theirs,
        type=text.type,
        source=text.source,
        attachments=text.attachments,
        metadata=metadata,
        outputs=ran.outputs if code else (),
        execution_count=ran.execution_count if code else None,
    )


def _same_text(one: Cell, other: Cell) -> bool:
    return (one.type, one.source, one.attachments) == (other.type, other.source, other.attachments)


def _merge_metadata(
    base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any] | None:
    merged = dict(theirs)
    for key in dict.fromkeys([*base, *ours]):
        if ours.get(key) == base.get(key) or ours.get(key) == theirs.get(key):
            continue
        if theirs.get(key) != base.get(key):
            if key == "tags":
                return None
            continue
        if key in ours:
            merged[key] = ours[key]
        else:
            merged.pop(key, None)
    return merged


def _merge_order(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], result: Mapping[str, Cell]
) -> list[str]:
    in_base, in_ours = set(base), set(ours)
    common_base = [cell_id for cell_id in base if cell_id in in_ours]
    moved = set(moved_ids(common_base, [cell_id for cell_id in ours if cell_id in in_base]))
    order = [cell_id for cell_id in theirs if cell_id in result and cell_id not in moved]
    placed = set(order)
    previous: str | None = None
    for cell_id in ours:
        if cell_id in result and cell_id not in placed:
            order.insert(0 if previous is None else order.index(previous) + 1, cell_id)
            placed.add(cell_id)
        if cell_id in placed:
            previous = cell_id
    return order
