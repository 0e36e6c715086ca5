"""The document in a JupyterLab page: read and changed through the page's own model, never through the file.

The page checks, in the same instant in which it changes anything, that the cells concerned are still what was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_agent.errors import NotebookRefused, Stale
from jupyter_agent.notebook.cells import from_json, renumbered, to_json
from jupyter_agent.notebook.change import Rewrite
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.server.pages import Page, Pages

Json = dict[str, Any]
ATTEMPTS = 10
"""Changes tried when the person's typing keeps coming between our read and our change."""


class LabDocument:
    """One path in one page. Raises PageGone when the page vanishes, NotebookRefused when it declines."""

    def __init__(self, pages: Pages, page: Page, path: str) -> None:
        self.page = page
        self._pages, self._path = pages, path
        self._outputs: dict[str, tuple[int, Json]] = {}
        self.metadata: Mapping[str, Any] = {}
        self.minor = 5

    @property
    def dirty(self) -> bool:
        """Whether the page holds unsaved edits, as it last said."""
        document = self.page.documents.get(self._path)
        return document is not None and document.dirty

    async def cells(self) -> tuple[Cell, ...]:
        """All cells as they are in the page now."""
        return self._take(await self._ask("read", seen=self._seen()))

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)` in one transaction of the page; repeated when the person was faster."""
        for _ in range(ATTEMPTS):
            before = await self.cells()
            after = renumbered(make(before))
            change = difference(before, after)
            if change is None:
                return before
            try:
                # The answer is the document right after our change, before the person's next key.
                return self._take(await self._ask("change", seen=self._seen(), **change))
            except NotebookRefused as refused:
                if refused.kind != "stale":
                    raise
        raise Stale(f"{self._path} is being changed all the time. Wait for a pause and repeat the step.")

    async def set_outputs(
        self, cell: str, outputs: Sequence[Output], execution_count: int | None, timing: Mapping[str, str] | None
    ) -> None:
        await self._ask(
            "outputs",
            cell=cell,
            outputs=list(outputs),
            execution_count=execution_count,
            timing=dict(timing) if timing else None,
        )

    async def save(self) -> None:
        await self._ask("save")

    async def _ask(self, action: str, **fields: Any) -> Json:
        return await self._pages.request(self.page, action, self._path, **fields)

    def _seen(self) -> dict[str, int]:
        """The outputs we have, by revision."""
        return {cell: revision for cell, (revision, _) in self._outputs.items()}

    def _take(self, state: Json) -> tuple[Cell, ...]:
        """The cells of an answer to `read`; outputs that did not change since the last one are not sent again."""
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
        return tuple(cells)


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
    concerned = [*changed, *deleted]
    return {
        "order": order,
        "known": was,
        "insert": inserted,
        "set": changed,
        "expected": {cell: old[cell].source for cell in concerned},
    }


def _fields(old: Cell, new: Cell) -> Json:
    fields: Json = {}
    if old.type != new.type:
        return {"cell": to_json(new)}
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
