"""A notebook that nobody has open, behind a contents manager that keeps it elsewhere than in files of this machine.

Read and written through the contents manager only, on the server's loop.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from jupyter_agent.errors import AgentError, NotebookRefused
from jupyter_agent.notebook.cells import Json, renumbered, to_json, with_outputs
from jupyter_agent.notebook.change import Rewrite
from jupyter_agent.notebook.document import Cell, CellsChanged, Output
from jupyter_agent.notebook.file import Watcher, derived_id, identified
from jupyter_agent.notebook.ipynb import check_unique_ids
from jupyter_agent.notebook.transaction import NewId
from jupyter_agent.server.threads import ServerLoop
from jupyter_agent.server.ynotebook import TRUSTED

POLL = 2.0
"""Seconds between looks by `watch`: each may be a request to a far store."""
FLUSH = 1.0
"""Seconds for which outputs of running code are gathered before they are stored."""

Guard = Callable[[], Awaitable[None]]


class ContentsDocument:
    """`name` is the contents manager's; `guard` raises NotebookRefused before a write when somebody has it open."""

    def __init__(self, server: ServerLoop, contents: Any, name: str, guard: Guard) -> None:
        self._server, self._contents, self._name, self._guard = server, contents, name, guard
        self._known: tuple[tuple[str, str], ...] = ()
        self._pending: dict[str, tuple[Sequence[Output], int | None, Mapping[str, str] | None]] = {}
        self._flusher: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._last: tuple[Cell, ...] = ()
        self._watchers: WeakSet[Watcher] = WeakSet()

    async def cells(self) -> tuple[Cell, ...]:
        return self._with_pending((await self._on_server(self._get))[1])

    async def metadata(self) -> Mapping[str, Any]:
        content, _ = await self._on_server(self._get)
        return content.get("metadata") or {}

    async def id_maker(self) -> NewId | None:
        """How new cells get their ids: None for at random, which is where the notebook stores them."""
        content, cells = await self._on_server(self._get)
        return None if content["nbformat_minor"] >= 5 else derived_id(cells)

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)`, with pending outputs. Between reading and saving nothing is awaited.

        Returns the cells as they are then stored.
        """
        async with self._writing:
            await self._guard()
            pending = dict(self._pending)

            async def work() -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
                content, stored = await self._get()
                before = self._with_pending(stored)
                after = renumbered(make(before))
                if after != stored:
                    await self._put(content, stored, after)
                return before, (await self._get())[1]

            before, cells = await self._on_server(work)
            for watcher in self._watchers:
                watcher.skip(before, cells)
            self._pending = {key: value for key, value in self._pending.items() if pending.get(key) is not value}
            return self._with_pending(cells)

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """As the protocol says; stored after a pause, or by `save`."""
        self._pending[cell] = (outputs, execution_count, timing)
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.get_running_loop().create_task(self._flush_later())

    async def save(self) -> None:
        """Store pending outputs. Raises NotebookRefused; then they stay pending, shown by `cells`."""
        if self._pending:
            await self.rewrite(tuple)

    async def close(self) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._flusher
        await self.save()

    def watch(self) -> AsyncIterator[CellsChanged]:
        """Changes by others since what was last read, seen by looking now and then."""
        watcher = Watcher(self._last, ())
        self._watchers.add(watcher)
        return self._watch(watcher)

    async def _watch(self, watcher: Watcher) -> AsyncIterator[CellsChanged]:
        while True:
            await asyncio.sleep(POLL)
            with suppress(NotebookRefused):
                watcher.look(await self.cells(), ())
            if watcher.changed:
                changed, watcher.changed = watcher.changed, ()
                yield CellsChanged(changed)

    async def _flush_later(self) -> None:
        while self._pending:
            await asyncio.sleep(FLUSH)
            with suppress(AgentError):
                await self.save()

    def _with_pending(self, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
        for cell, (outputs, execution_count, timing) in self._pending.items():
            cells = with_outputs(cells, cell, outputs, execution_count, timing)
        return cells

    # ----------------------------------------------------------------------------------------- on the server's loop

    async def _on_server(self, work: Callable[[], Any]) -> Any:
        try:
            return await self._server.run(work)
        except AgentError:
            raise
        except Exception as error:
            # A contents manager says what is wrong in an exception of tornado's, or of its store's client.
            reason = str(getattr(error, "log_message", "") or error) or type(error).__name__
            raise NotebookRefused(
                "not_saved" if "save" in reason.lower() else "missing",
                f"The server's contents manager did not do it for {self._name}: {reason}. Check the path and the "
                "store, then repeat the step.",
            ) from error

    async def _get(self) -> tuple[Json, tuple[Cell, ...]]:
        found = self._contents.get(self._name, content=True, type="notebook", format="json")
        content = (await found if hasattr(found, "__await__") else found)["content"]
        raw = [_without_trust(cell) for cell in content["cells"]]
        minor = int(content["nbformat_minor"])
        if minor >= 5:
            check_unique_ids(raw, self._name)
        cells, self._known = identified(raw, minor, self._known)
        self._last = cells
        return content, cells

    async def _put(self, content: Json, before: Sequence[Cell], after: Sequence[Cell]) -> None:
        old = {cell.id: (cell, raw) for cell, raw in zip(before, content["cells"], strict=True)}
        minor = int(content["nbformat_minor"])
        made: Json = copy.deepcopy({key: value for key, value in content.items() if key != "cells"})
        made["cells"] = [_raw(cell, *old.get(cell.id, (None, None)), with_id=minor >= 5) for cell in after]
        model = {"type": "notebook", "format": "json", "content": made}
        saved = self._contents.save(model, self._name)
        if hasattr(saved, "__await__"):
            await saved


def _without_trust(raw: Mapping[str, Any]) -> Json:
    """A cell without the mark that the contents manager adds while it is read."""
    return {**raw, "metadata": {key: value for key, value in raw["metadata"].items() if key != TRUSTED}}


def _raw(cell: Cell, was: Cell | None, raw: Mapping[str, Any] | None, *, with_id: bool) -> Json:
    """The cell as nbformat JSON; an unchanged one, and of a changed one what we do not know, as it was."""
    if was is not None and raw is not None:
        if was == cell or (was.type == cell.type and to_json(was) == to_json(cell)):
            return dict(raw)
        if was.type == cell.type:
            return {**raw, **to_json(cell, with_id=with_id)}
    return to_json(cell, with_id=with_id)
