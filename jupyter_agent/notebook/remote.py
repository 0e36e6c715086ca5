"""A document that somebody else holds and changes for us: a page, or a server on the way to one. Pure but for `ask`.

The holder checks, in the same instant in which it changes anything, that the cells concerned are still what was read.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from jupyter_agent.errors import NotebookRefused, Stale
from jupyter_agent.notebook.cells import from_json, renumbered, to_json
from jupyter_agent.notebook.change import Rewrite
from jupyter_agent.notebook.document import Cell, Output

Json = dict[str, Any]
Ask = Callable[[str, Json], Awaitable[Json]]
"""(action, fields) -> result; raises NotebookRefused when the holder declines."""

FRESH = 0.01
"""Seconds for which a read stands for the next one: steps of one call read again at once, a person cannot type between.
Changes are checked by the holder itself, whatever was read."""

UNTOUCHED = 1.0
"""The same for a holder that tells when something changes, and told of nothing since."""

METADATA_FRESH = 1.0
"""Seconds for which the notebook's own metadata (its language, its kernel) are taken to be as last read."""

ATTEMPTS = 10
"""Changes tried when the person's typing keeps coming between our read and our change."""


class RemoteDocument:
    """The holder's actions: `read {seen}`, `change {order, known, insert, set, expected, seen}`, `outputs`, `save`."""

    def __init__(self, ask: Ask, name: str, touches: Callable[[], int] | None = None) -> None:
        """`touches`: how often the holder told that something was changed; None for one that does not tell."""
        self._ask, self._name, self._touches = ask, name, touches
        self._touched = 0
        self._outputs: dict[str, tuple[int, Json]] = {}
        self._read: tuple[Cell, ...] = ()
        self._read_at = -METADATA_FRESH
        self.metadata: Mapping[str, Any] = {}
        self.minor = 5

    async def cells(self) -> tuple[Cell, ...]:
        """All cells as the holder has them now."""
        if self._is_fresh():
            return self._read
        return self._take(await self._ask("read", {"seen": self.seen()}))

    async def current_metadata(self) -> Mapping[str, Any]:
        """The notebook's metadata, at most a second old."""
        if time.monotonic() - self._read_at >= METADATA_FRESH:
            await self.cells()
        return self.metadata

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)` in one transaction of the holder; repeated when the person was faster."""
        for _ in range(ATTEMPTS):
            before = await self.cells()
            after = renumbered(make(before))
            change = difference(before, after)
            if change is None:
                return before
            try:
                # The answer is the document right after our change, before the person's next key.
                return self._take(await self._ask("change", {**change, "seen": self.seen()}))
            except NotebookRefused as refused:
                if refused.kind != "stale":
                    raise
                self._forget()
        raise Stale(f"{self._name} is being changed all the time. Wait for a pause and repeat the step.")

    async def set_outputs(
        self, cell: str, outputs: Sequence[Output], execution_count: int | None, timing: Mapping[str, str] | None
    ) -> None:
        self._forget()
        fields = {"cell": cell, "outputs": list(outputs), "execution_count": execution_count}
        await self._ask("outputs", {**fields, "timing": dict(timing) if timing else None})

    async def save(self) -> None:
        await self._ask("save", {})

    def seen(self) -> dict[str, int]:
        """The outputs we have, by revision: the holder need not send them again."""
        return {cell: revision for cell, (revision, _) in self._outputs.items()}

    def take(self, state: Json) -> None:
        """A state that the holder told unasked. Left aside where it leaves out outputs that we no longer have."""
        left_out = (entry for entry in state["cells"] if entry.get("same_outputs"))
        if all(self._outputs.get(str(entry["id"]), (None,))[0] == entry["revision"] for entry in left_out):
            self._take(state)
        else:
            self._forget()

    def _is_fresh(self) -> bool:
        age = time.monotonic() - self._read_at
        return age < FRESH if self._touches is None else age < UNTOUCHED and self._touches() == self._touched

    def _forget(self) -> None:
        """What was read no longer stands for the next read."""
        self._read_at = min(self._read_at, time.monotonic() - UNTOUCHED)

    def _take(self, state: Json) -> tuple[Cell, ...]:
        """The cells of an answer; outputs that did not change since the last one are not sent again."""
        kept: dict[str, tuple[int, Json]] = {}
        cells: list[Cell] = []
        for index, entry in enumerate(state["cells"]):
            raw, revision = entry["cell"], int(entry["revision"])
            cell_id = str(entry["id"])
            if entry.get("same_outputs"):
                raw = {**raw, **self._outputs[cell_id][1]}
            if raw.get("outputs"):
                results = {"outputs": raw["outputs"], "execution_count": raw.get("execution_count")}
                kept[cell_id] = (revision, results)
            cells.append(from_json(raw, cell_id, index))
        self._outputs = kept
        self.metadata = state.get("metadata") or {}
        self.minor = int(state.get("minor", 5))
        self._read, self._read_at = tuple(cells), time.monotonic()
        self._touched = self._touches() if self._touches is not None else 0
        return self._read


def difference(before: Sequence[Cell], after: Sequence[Cell]) -> Json | None:
    """What must be done to get from one state to the other, and what must still hold for it; None for nothing.

    `order`: all ids afterwards. `insert`: new cells by id, `set`: changed fields by id. `expected`: the source that
    each existing cell concerned must still have; `known`: all ids that were there.
    """
    old = {cell.id: cell for cell in before}
    new = {cell.id: cell for cell in after}
    inserted = {cell.id: to_json(cell) for cell in after if cell.id not in old}
    changed = {cell.id: fields for cell in after if cell.id in old and (fields := _fields(old[cell.id], cell))}
    deleted = [cell.id for cell in before if cell.id not in new]
    order, was = [cell.id for cell in after], [cell.id for cell in before]
    if not inserted and not changed and not deleted and order == was:
        return None
    return {
        "order": order,
        "known": was,
        "insert": inserted,
        "set": changed,
        "expected": {cell: old[cell].source for cell in [*changed, *deleted]},
    }


def apply_difference(cells: Sequence[Cell], change: Json) -> tuple[Cell, ...]:
    """What a holder without a page does with `change`. Raises NotebookRefused("stale") where it no longer fits."""
    present = {cell.id: cell for cell in cells}
    if [cell.id for cell in cells] != change["known"]:
        raise NotebookRefused("stale", "Cells were added, removed or moved meanwhile.")
    for cell_id, source in change["expected"].items():
        if present[cell_id].source != source:
            raise NotebookRefused("stale", f"Cell {cell_id} was changed meanwhile.", content=present[cell_id].source)
    result: list[Cell] = []
    for index, cell_id in enumerate(change["order"]):
        if cell_id in change["insert"]:
            result.append(from_json(change["insert"][cell_id], cell_id, index))
            continue
        fields = change["set"].get(cell_id, {})
        raw = fields.get("cell") or {**to_json(present[cell_id]), **fields}
        result.append(from_json(raw, cell_id, index))
    return tuple(result)


def _fields(old: Cell, new: Cell) -> Json:
    if old.type != new.type:
        return {"cell": to_json(new)}
    fields: Json = {}
    if old.source != new.source:
        fields["source"] = new.source
    if old.metadata != new.metadata:
        fields["metadata"] = dict(new.metadata)
    if old.attachments != new.attachments:
        fields["attachments"] = {name: dict(bundle) for name, bundle in new.attachments.items()}
    if list(old.outputs) != list(new.outputs) or old.execution_count != new.execution_count:
        fields["outputs"] = list(new.outputs)
        fields["execution_count"] = new.execution_count
    return fields
