"""A transaction described as one Effect: what a person sees, what undo needs, and how it is committed and confirmed.

Every backend builds its effects here and supplies two functions, one that reads the cells and one that rewrites them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence

from jupyter_agent.effect import Change, Effect, unified_diff
from jupyter_agent.errors import NotebookRefused, Stale
from jupyter_agent.notebook.cells import moved_ids, same_content, to_json
from jupyter_agent.notebook.document import Cell, EditOutcome
from jupyter_agent.notebook.merge import Conflict, merge
from jupyter_agent.notebook.transaction import Transaction

Rewrite = Callable[[Sequence[Cell]], tuple[Cell, ...]]
"""Current cells to new cells; raises Stale. A backend may call it again when its write lost a race."""


def edit_effect(
    transaction: Transaction,
    *,
    target: str,
    read: Callable[[], Awaitable[tuple[Cell, ...]]],
    rewrite: Callable[[Rewrite], Awaitable[tuple[Cell, ...]]],
) -> Effect[EditOutcome]:
    """The effect of a transaction on the document `target`.

    `read` gives the cells as they are now; `rewrite(make)` replaces them by `make(cells now)` in one step and returns
    what then is in the document, read back. The commit merges by cell id into whatever others changed meanwhile,
    raises Stale with the current source where they changed a cell of ours, and NotebookRefused("unconfirmed") when the
    change is not in the document afterwards.
    """
    diffs = cell_diffs(transaction)
    preview = "\n".join(diffs.values())

    async def current() -> str:
        cells = await read()
        found = fingerprint(cells, transaction.touched)
        if found != before:
            raise _stale(transaction, cells, target)
        return found

    def make(cells: Sequence[Cell]) -> tuple[Cell, ...]:
        merged = merge(transaction.before, transaction.after, cells)
        if merged.conflicts:
            raise Stale(_sentence(target, merged.conflicts))
        check_not_emptied(cells, merged.cells, transaction.deleted)
        return merged.cells

    async def apply() -> EditOutcome:
        cells = await rewrite(make)
        _confirm(transaction, cells, target)
        return EditOutcome(
            cells=cells,
            changed=transaction.changed,
            created=transaction.created,
            deleted=transaction.deleted,
            diff=preview,
            warnings=transaction.warnings,
        )

    before = fingerprint(transaction.before, transaction.touched)
    return Effect(
        kind="edit",
        target=target,
        title=_title(transaction, target),
        preview=preview,
        apply=apply,
        before=before,
        payload=_payload(transaction),
        current=current,
        changes=_changes(transaction, target, diffs),
        details={
            "path": target,
            "changed": list(transaction.changed),
            "created": list(transaction.created),
            "deleted": list(transaction.deleted),
            "sources": {cell.id: cell.source for cell in transaction.after if cell.id in transaction.changed},
            "types": {cell.id: cell.type for cell in transaction.after if cell.id in transaction.changed},
        },
    )


def fingerprint(cells: Iterable[Cell], touched: Iterable[str]) -> str:
    """SHA-256 hex over content, tags and relative order of the touched cells; other cells do not enter."""
    wanted = set(touched)
    state = [(cell.id, cell.type, cell.source, cell.tags) for cell in cells if cell.id in wanted]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def check_not_emptied(before: Sequence[Cell], after: Sequence[Cell], deleted: Iterable[str]) -> None:
    """Refuse to lose a cell that nobody asked to delete (fault f10). Raises NotebookRefused("empty")."""
    lost = {cell.id for cell in before} - {cell.id for cell in after} - set(deleted)
    if lost:
        names = ", ".join(sorted(lost)[:10])
        raise NotebookRefused(
            "empty",
            f"this write would drop {len(lost)} of {len(before)} cells that nobody deleted ({names}), so it was not "
            "made. Read the notebook again.",
        )


def changed_by_others(before: Sequence[Cell], after: Sequence[Cell]) -> tuple[str, ...]:
    """Ids whose source, type or relative place differs between two states, or that appeared or vanished."""
    old = {cell.id: cell for cell in before}
    new = {cell.id: cell for cell in after}
    moved = moved_ids([c.id for c in before if c.id in new], [c.id for c in after if c.id in old])
    edited = [c.id for c in after if c.id not in old or (c.type, c.source) != (old[c.id].type, old[c.id].source)]
    return tuple(dict.fromkeys([*edited, *moved, *(cell.id for cell in before if cell.id not in new)]))


def cell_diffs(transaction: Transaction) -> dict[str, str]:
    """By cell id, in document order, deleted cells first: one heading line per kind of change and the line diff."""
    old = {cell.id: cell for cell in transaction.before}
    diffs: dict[str, str] = {}
    for cell_id in transaction.deleted:
        cell = old[cell_id]
        heading = f"delete {cell.type} cell {cell_id}{_outputs_note(cell)}\n"
        diffs[cell_id] = heading + _source_diff(cell.source, "", cell_id)
    previous: str | None = None
    for cell in transaction.after:
        if cell.id in transaction.changed:
            diffs[cell.id] = _cell_diff(old.get(cell.id), cell, previous, cell.id in transaction.moved)
        previous = cell.id
    return diffs


def _cell_diff(old: Cell | None, cell: Cell, previous: str | None, moved: bool) -> str:
    place = f"after {previous}" if previous else "at the top"
    if old is None:
        return f"insert {cell.type} cell {cell.id} {place}{_outputs_note(cell)}\n" + _source_diff(
            "", cell.source, cell.id
        )
    lines: list[str] = []
    if old.source != cell.source:
        lines.append(f"edit {cell.type} cell {cell.id}")
    if moved:
        lines.append(f"move {cell.type} cell {cell.id} {place}")
    if old.type != cell.type:
        lines.append(f"change cell {cell.id} from {old.type} to {cell.type}")
    if old.tags != cell.tags:
        lines.append(f"tags of cell {cell.id}: {', '.join(old.tags) or 'none'} -> {', '.join(cell.tags) or 'none'}")
    if old.outputs and not cell.outputs:
        count = len(old.outputs)
        lines.append(f"clear {count} output{'' if count == 1 else 's'} of cell {cell.id}")
    elif old.outputs != cell.outputs:
        lines.append(f"replace the outputs of cell {cell.id} ({len(old.outputs)} -> {len(cell.outputs)})")
    if old.attachments != cell.attachments:
        lines.append(f"attachments of cell {cell.id}: {', '.join(cell.attachments) or 'none'}")
    if not lines:
        lines.append(f"change metadata of cell {cell.id}")
    return "\n".join(lines) + "\n" + _source_diff(old.source, cell.source, cell.id)


def _source_diff(before: str, after: str, cell_id: str) -> str:
    # Sources rarely end with a newline; one is added so that the diff has no noise about it.
    return unified_diff(before and before + "\n", after and after + "\n", cell_id)


def _outputs_note(cell: Cell) -> str:
    count = len(cell.outputs)
    return f" with {count} output{'' if count == 1 else 's'}" if count else ""


def _title(transaction: Transaction, target: str) -> str:
    created, deleted = len(transaction.created), len(transaction.deleted)
    edited = len(transaction.changed) - created
    parts = [
        f"{verb} {count} cell{'s' if count > 1 else ''}"
        for verb, count in (("change", edited), ("insert", created), ("delete", deleted))
        if count
    ]
    name = target.replace("\\", "/").rsplit("/", 1)[-1]
    title = f"{', '.join(parts) or 'change nothing'} in {name}"
    return title[0].upper() + title[1:]


def _payload(transaction: Transaction) -> str:
    """Everything the transaction leaves behind, hashed: contents, and where they end up among the cells touched."""
    old = {cell.id: cell for cell in transaction.before}
    digest = hashlib.sha256()
    relevant = {*transaction.changed, *transaction.touched}
    for cell in transaction.after:
        if cell.id not in relevant:
            continue
        state = to_json(cell)
        if cell.id in old and cell.outputs == old[cell.id].outputs:
            state.pop("outputs", None)
        digest.update(json.dumps(state, sort_keys=True).encode() + b"\n")
    digest.update(json.dumps(transaction.deleted).encode())
    return digest.hexdigest()


def _changes(transaction: Transaction, target: str, diffs: dict[str, str]) -> tuple[Change, ...]:
    old = {cell.id: cell for cell in transaction.before}
    new = {cell.id: cell for cell in transaction.after}
    previous: dict[str, str | None] = {}
    last: str | None = None
    for cell in transaction.before:
        previous[cell.id], last = last, cell.id
    changes: list[Change] = []
    for cell_id, diff in diffs.items():
        was, now = old.get(cell_id), new.get(cell_id)
        pre_image = None
        if was is not None:
            state = {"cell": to_json(was), "after": previous[cell_id], "moved": cell_id in transaction.moved}
            pre_image = json.dumps(state).encode()
        before, after = was.hash if was else "", now.hash if now else ""
        changes.append(Change(target, cell_id, before, after, diff, pre_image))
    return tuple(changes)


OUTPUTS_KEPT = 8 * 2**20
"""Bytes of a cell with its outputs beyond which a run keeps no pre-image of them: undo is for work, not for floods."""


def output_changes(cells: Sequence[Cell], running: Iterable[str], target: str) -> tuple[Change, ...]:
    """What undo needs of cells about to be run: their present outputs. Their hashes stay, so the diffs are empty."""
    wanted, changes, last = set(running), [], None
    for cell in cells:
        if cell.id in wanted:
            image = json.dumps({"cell": to_json(cell), "after": last, "moved": False}).encode()
            if len(image) <= OUTPUTS_KEPT:
                changes.append(Change(target, cell.id, cell.hash, cell.hash, "", image))
        last = cell.id
    return tuple(changes)


def _confirm(transaction: Transaction, cells: Sequence[Cell], target: str) -> None:
    """Every changed cell must be in the document as described, every deleted one gone (faults f13, n12)."""
    found = {cell.id: cell for cell in cells}
    old = {cell.id: cell for cell in transaction.before}
    wrong = [cell_id for cell_id in transaction.deleted if cell_id in found]
    for cell in transaction.after:
        if cell.id not in transaction.changed:
            continue
        if not _landed(old.get(cell.id), cell, found.get(cell.id)):
            wrong.append(cell.id)
    if wrong:
        names = ", ".join(wrong[:10])
        raise NotebookRefused(
            "unconfirmed",
            f"{target} was written, but the change is not in it (cells {names}). Somebody else writes it too, or the "
            "storage drops writes: read the notebook again before anything else.",
        )


def _landed(was: Cell | None, wanted: Cell, now: Cell | None) -> bool:
    """Whether what the transaction changed of a cell is there; what it left alone may have changed meanwhile."""
    if now is None:
        return False
    text, tags = (wanted.type, wanted.source), wanted.tags
    if was is not None and (was.type, was.source) == text and was.tags == tags:
        return True
    if (was is None or was.tags != tags) and now.tags != tags:
        return False
    return (was is not None and (was.type, was.source) == text) or (now.type, now.source) == text


def _stale(transaction: Transaction, cells: Sequence[Cell], target: str) -> Stale:
    old = {cell.id: cell for cell in transaction.before}
    found = {cell.id: cell for cell in cells}
    conflicts: list[Conflict] = []
    for cell_id in transaction.touched:
        now = found.get(cell_id)
        if now is None:
            conflicts.append(Conflict(cell_id, "was deleted meanwhile", None))
        elif not same_content(old[cell_id], now):
            conflicts.append(Conflict(cell_id, "was changed meanwhile", now.source))
    if not conflicts:
        return Stale(f"{target}: the cells were moved since this was described. Read the notebook and repeat the step.")
    return Stale(_sentence(target, conflicts))


def _sentence(target: str, conflicts: Sequence[Conflict]) -> str:
    parts = [f"{target} changed since this was described; nothing was written. Look at the cells and repeat the step."]
    for conflict in conflicts:
        parts.append(f"Cell {conflict.cell} {conflict.reason}.")
        if conflict.theirs is not None:
            parts.append(f"Its source now:\n{conflict.theirs}")
    return "\n".join(parts)
