"""Documents that jupyter-collaboration holds in a room on this server: changed there, never through the file.

Everything that touches a room runs on the server's loop, in one go: read, decide, change, with nothing awaited in
between. Touches rooms through jupyter-collaboration's extension, where it is installed and enabled.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.change import Rewrite
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.server.order import moved
from jupyter_agent.server.threads import ServerLoop
from jupyter_agent.server.ynotebook import (
    bare_cells,
    check_storable,
    read_cells,
    read_ids,
    read_metadata,
    risky_ids,
    write_cells,
    write_outputs,
)

EXTENSION, NAMES = "jupyter_server_ydoc", "file_id_manager"
"""Under these names the extension, and what it knows notebooks by, are in the settings; it needs both."""
ORIGIN = "jupyter-agent"
"""The origin of our transactions: a page's undo takes back what that page did, so never ours."""
SAVED_WITHIN = 20.0
"""Seconds for a save; one of a large notebook to a slow disk takes a few."""
LOADED_WITHIN = 20.0
"""Seconds in which a room has loaded its file, or is through with loading it anew."""
QUIET = 0.3
"""Seconds without a key in a cell before it is deleted, moved or made another type.

A key that is on its way when its cell is taken out would be lost, and one key seldom comes alone.
"""
BUSY = 60.0
"""Seconds after a person's last key in a cell in which it is rather not moved."""

Watcher = Callable[[str, list[str]], None]


class RoomGone(Exception):
    """The room was closed before it could be asked."""


class Rooms:
    """All rooms with notebooks. `settings` are the server's; methods are called on the agent's loop."""

    def __init__(self, server: ServerLoop, settings: Mapping[str, Any]) -> None:
        self._server, self._settings = server, settings
        self._documents: dict[int, SharedDocument] = {}
        self._watchers: list[Watcher] = []

    @property
    def enabled(self) -> bool:
        return EXTENSION in self._settings and NAMES in self._settings

    async def find(self, name: str) -> SharedDocument | None:
        """The document of the notebook's room; None where there is no room, so that somebody else owns it."""
        extension = self._settings[EXTENSION] if self.enabled else None
        if extension is None or not extension.ywebsocket_server.rooms:
            return None
        loop = asyncio.get_running_loop()

        async def find() -> SharedDocument | None:
            document = await extension.get_document(path=name, content_type="notebook", file_format="json", copy=False)
            rooms = extension.ywebsocket_server.rooms
            self._documents = {key: found for key, found in self._documents.items() if found.exists}
            room = next((room for room in rooms.values() if getattr(room, "_document", None) is document), None)
            if document is None or room is None:
                return None
            found = self._documents.get(id(room))
            if found is None:
                contents = self._settings["contents_manager"]
                found = SharedDocument(self._server, contents, rooms, room, name, lambda *told: self._tell(loop, *told))
                self._documents[id(room)] = found
            found.name = name
            return found

        return await self._server.run(find)

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call back with (name, cell ids) for changes by others in rooms found before; the result ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def _tell(self, loop: asyncio.AbstractEventLoop, name: str, cells: list[str]) -> None:
        def tell() -> None:
            for watcher in list(self._watchers):
                watcher(name, cells)

        if not loop.is_closed():
            loop.call_soon_threadsafe(tell)


class SharedDocument:
    """One room. Its methods raise RoomGone when the room was closed, NotebookRefused when nothing was done."""

    def __init__(
        self, server: ServerLoop, contents: Any, rooms: Mapping[str, Any], room: Any, name: str, tell: Watcher
    ) -> None:
        """Called on the server's loop. `rooms` are those that exist at any time, `tell` hears of others' changes."""
        self._server, self._contents, self._rooms, self._room = server, contents, rooms, room
        self.name, self._tell = name, tell
        self._document = room._document
        self._ours = False
        self._typed: dict[str, float] = {}
        self._followed = time.monotonic()
        self._order: list[str] = []
        self._known: tuple[Cell, ...] | None = None
        self.metadata: Mapping[str, Any] = {}
        self._document.ycells.observe_deep(self._changed)

    @property
    def exists(self) -> bool:
        return any(room is self._room for room in self._rooms.values())

    # ------------------------------------------------------------------------------------------ on the agent's loop

    async def cells(self) -> tuple[Cell, ...]:
        async def read() -> tuple[Cell, ...]:
            await self._settled()
            return self._read()

        return await self._server.run(read)

    async def current_metadata(self) -> Mapping[str, Any]:
        await self.cells()
        return self.metadata

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)` in one transaction; others' keys come before it or after it.

        `make` is called on the server's loop. Returns what the document then holds.
        """

        async def work() -> tuple[Cell, ...]:
            while True:
                await self._settled()
                before = self._read()
                after = make(before)
                busy = self._typed_in(BUSY)
                risky = risky_ids(before, after, busy)
                if risky & self._typed_in(QUIET) or (risky and time.monotonic() - self._followed < QUIET):
                    await asyncio.sleep(QUIET / 3)
                    continue
                if tuple(after) != before:
                    check_storable(after)
                    with self._transaction():
                        write_cells(self._document, before, after, busy)
                    await self._save_unattended()
                return self._read()

        return await self._server.run(work)

    async def set_outputs(
        self, cell: str, outputs: Sequence[Output], execution_count: int | None, timing: Mapping[str, str] | None
    ) -> None:
        """Raises NotebookRefused("unknown_cell")."""

        async def work() -> bool:
            await self._settled()
            ycell = self._find(cell)
            if ycell is None or ycell.get("cell_type") != "code":
                return False
            with self._transaction():
                write_outputs(self._document, ycell, outputs, execution_count, timing)
            return True

        if not await self._server.run(work):
            raise NotebookRefused("unknown_cell", f"Cell {cell} of {self.name} is not there any more.")

    async def has_unsaved(self) -> bool:
        """Whether a person left something unsaved. A room saves by itself, unless all its people said not to."""

        async def look() -> bool:
            await self._settled()
            return not self._saves_itself() and not await self._is_on_disk()

        return await self._server.run(look)

    async def save(self) -> None:
        """Have the room save now. Raises NotebookRefused("not_saved")."""

        async def work() -> bool:
            await self._settled()
            return await self._save()

        if not await self._server.run(work):
            raise NotebookRefused(
                "not_saved",
                f"jupyter-collaboration could not save {self.name}; the server's log says why. The changes are in the "
                "open document: make room for them or make the file writable, then save it there.",
            )

    # ----------------------------------------------------------------------------------------- on the server's loop

    async def _settled(self) -> None:
        """Wait until the room has its file's content, and nobody is in the middle of a change that takes a while."""
        deadline = time.monotonic() + LOADED_WITHIN
        while True:
            if not self.exists:
                raise RoomGone
            lock = getattr(self._room, "_update_lock", None)
            changing = (lock is not None and lock.locked()) or getattr(self._document.ydoc, "_txn", None) is not None
            if self._room.ready and not changing:
                return
            if time.monotonic() > deadline:
                raise NotebookRefused(
                    "open_elsewhere", f"{self.name} is still being loaded by jupyter-collaboration. Try again later."
                )
            await asyncio.sleep(0.01)

    def _read(self) -> tuple[Cell, ...]:
        self.metadata, _ = read_metadata(self._document)
        if self._known is None:
            self._known = read_cells(self._document, self.name)
            self._order = [cell.id for cell in self._known]
        return self._known

    def _find(self, cell: str) -> Any:
        """The shared cell of this id; None where there is none."""
        ycells = self._document.ycells
        place = self._order.index(cell) if cell in self._order else -1
        if not 0 <= place < len(ycells) or ycells[place].get("id") != cell:
            self._order = read_ids(self._document)
            place = self._order.index(cell) if cell in self._order else -1
        return ycells[place] if place >= 0 else None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._ours = True
        try:
            with self._document.ydoc.transaction(origin=ORIGIN):
                yield
        finally:
            self._ours = False

    def _changed(self, events: list[Any]) -> None:
        """Others' changes of sources, types and places; called at the end of each transaction."""
        self._known = None
        told: dict[str, None] = {}
        for event in events:
            path = list(event.path)
            if not path:
                before, self._order = self._order, read_ids(self._document)
                told |= dict.fromkeys(_differing(before, self._order))
            elif path[1:2] == ["source"] or (len(path) == 1 and {"source", "cell_type"} & set(event.keys)):
                cell = str(self._document.ycells[path[0]].get("id"))
                if not self._ours:
                    self._typed[cell] = time.monotonic()
                told[cell] = None
        if told and not self._ours:
            self._tell(self.name, list(told))

    def _typed_in(self, seconds: float) -> set[str]:
        since = time.monotonic() - seconds
        return {cell for cell, when in self._typed.items() if when > since}

    def _saves_itself(self) -> bool:
        """As the room decides it: when nobody there switched saving on, it does not."""
        states = [state for state in self._room.awareness.states.values() if state]
        wanted = not states or any(state.get("autosave", True) for state in states)
        return wanted and getattr(self._room, "_save_delay", None) is not None

    async def _save_unattended(self) -> None:
        """A room without people is closed after a while, whatever it has not saved: it must not be the only copy."""
        if not self._room.clients:
            await self._save()

    async def _save(self) -> bool:
        """Have the room write its file; whether it did. It tells of a failure to the log only."""
        document, room = self._document, self._room
        with self._transaction():
            document.dirty = True
        deadline = time.monotonic() + SAVED_WITHIN
        # Where a room cannot be told to, it still saves by itself, a moment after each change.
        save_now = getattr(room, "_save_to_disc", lambda: None)
        while document.dirty and time.monotonic() < deadline:
            saving = save_now()
            if saving is None:
                await asyncio.sleep(0.05)
                continue
            await asyncio.wait([saving])
            await self._settled()
            # A key pressed meanwhile puts the room's own save in the place of ours; else this one failed.
            if getattr(room, "_saving_document", saving) is saving:
                break
        return not document.dirty

    async def _is_on_disk(self) -> bool:
        held = await self._document.aget()
        try:
            stored = self._contents.get(self.name, content=True, type="notebook", format="json")
            model = await stored if hasattr(stored, "__await__") else stored
        except Exception:
            return False
        return bare_cells(model["content"]) == bare_cells(held)


def _differing(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Ids that came, went, or changed their relative place."""
    old, new = set(before), set(after)
    places = moved([cell for cell in before if cell in new], [cell for cell in after if cell in old])
    return [*(cell for cell in after if cell not in old), *places, *(cell for cell in before if cell not in new)]
