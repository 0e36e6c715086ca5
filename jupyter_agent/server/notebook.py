"""A notebook on this server, whoever owns it now: the room it is shared in, a page that has it open, else its file.

The owner is asked for anew before every read and every write, so a notebook that is opened or closed in the middle of a
turn is handed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from jupyter_agent.effect import Effect
from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.change import Rewrite, edit_effect
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Operation, Output
from jupyter_agent.notebook.file import FileNotebook
from jupyter_agent.notebook.limits import cap_outputs
from jupyter_agent.notebook.servers import check_not_open
from jupyter_agent.notebook.transaction import apply
from jupyter_agent.server.contents_document import ContentsDocument
from jupyter_agent.server.lab_document import LabDocument
from jupyter_agent.server.pages import Page, PageGone, Pages
from jupyter_agent.server.shared_document import RoomGone, Rooms, SharedDocument
from jupyter_agent.server.threads import ServerLoop

T = TypeVar("T")
OpenDocument = LabDocument | SharedDocument
Pending = tuple[Sequence[Output], int | None, Mapping[str, str] | None]


class ServedNotebook:
    """The `Notebook` protocol. `path` is the absolute real path, `name` the contents manager's.

    `contents` is the contents manager, on its loop, where it keeps notebooks elsewhere than in files of this machine.
    """

    def __init__(
        self,
        pages: Pages,
        path: Path,
        name: str,
        root: Path,
        rooms: Rooms | None = None,
        contents: tuple[ServerLoop, Any] | None = None,
    ) -> None:
        self._pages, self._rooms, self._path, self.name = pages, rooms, str(path), name
        self._closed: FileNotebook | ContentsDocument
        if contents is None:
            self._closed = FileNotebook(path, guard=self._guard, root=root)
        else:
            self._closed = ContentsDocument(*contents, name, self._check_closed)
        self._open: OpenDocument | None = None
        self._pending: dict[str, Pending] = {}
        self._flusher: asyncio.Task[None] | None = None
        self._was_clean: bool | None = None
        self._lock = asyncio.Lock()
        self.asked_from = ""
        """The client in which the person asked for what is done now; empty where no page asked."""

    @property
    def path(self) -> str:
        return self._path

    @property
    def backend(self) -> Literal["shared", "lab", "file", "contents"]:
        """Of the owner when it was last asked for."""
        if isinstance(self._open, SharedDocument):
            return "shared"
        if self._pages.is_open(self.name):
            return "lab"
        return "file" if isinstance(self._closed, FileNotebook) else "contents"

    async def cells(self) -> tuple[Cell, ...]:
        async def read(document: OpenDocument) -> tuple[Cell, ...]:
            return await document.cells()

        return await self._either(read, self._closed.cells)

    async def metadata(self) -> Mapping[str, Any]:
        async def read(document: OpenDocument) -> Mapping[str, Any]:
            return await document.current_metadata()

        return await self._either(read, self._closed.metadata)

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        make_id = await self._closed.id_maker() if await self._owner() is None else None
        cells, metadata = await self.cells(), await self.metadata()
        language = str(metadata.get("kernelspec", {}).get("language", "python"))
        transaction = apply(cells, operations, make_id=make_id, language=language)
        return edit_effect(transaction, target=self._path, read=self.cells, rewrite=self.rewrite)

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)` in one step at whoever owns them."""

        async def in_document(document: OpenDocument) -> tuple[Cell, ...]:
            await self._note_state(document)
            return await document.rewrite(make)

        async def when_closed() -> tuple[Cell, ...]:
            return await self._closed.rewrite(make)

        async with self._lock:
            return await self._either(in_document, when_closed)

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """Shown by whoever owns the document when they arrive; kept until then when nobody can take them."""
        if timing is None and cell in self._pending:
            timing = self._pending[cell][2]
        self._pending[cell] = (cap_outputs(outputs), execution_count, timing)
        with contextlib.suppress(NotebookRefused):
            await self._flush()

    def watch(self) -> AsyncIterator[CellsChanged]:
        queue: asyncio.Queue[CellsChanged] = asyncio.Queue()
        found = weakref.ref(queue)

        def tell(name: str, cells: list[str]) -> None:
            if name == self.name and cells and (alive := found()) is not None:
                alive.put_nowait(CellsChanged(tuple(cells)))

        def tell_of_page(name: str, cells: list[str]) -> None:
            # A page of a room cannot tell our changes from a person's, but the room can.
            if not isinstance(self._open, SharedDocument):
                tell(name, cells)

        # A queue lives as long as somebody iterates over it.
        weakref.finalize(queue, self._pages.watch(tell_of_page))
        if self._rooms is not None:
            weakref.finalize(queue, self._rooms.watch(tell))
        closed = self._closed.watch() if self._open is None else None
        return self._drain(queue, closed)

    async def save(self) -> None:
        """Outputs first; then the page or room saves, if the document was saved when we began to change it."""
        await self._flush()

        async def save(document: OpenDocument) -> None:
            if self._was_clean:
                await document.save()

        await self._either(save, self._closed.save)
        self._was_clean = None

    @property
    def left_unsaved(self) -> bool:
        """Whether our changes stand in a document that already had unsaved edits of the person."""
        return self._was_clean is False

    async def close(self) -> None:
        await self.save()
        await self._closed.close()

    async def page(self) -> Page | None:
        """The page that has the document and may run its cells; what it then shows counts as a change of ours.

        All who are in a room have the document: there it is the page of the person who asked, whom input() may ask.
        """
        document = await self._owner()
        page = self._pages.shown_to(self.asked_from, self.name) if isinstance(document, SharedDocument) else None
        page = page or await self._pages.owner(self.name)
        if page is not None and document is not None:
            await self._note_state(document)
        return page

    def held_by(self, page: Page) -> LabDocument | None:
        """The page's document where the page itself holds it; None where it shows a room's."""
        document = self._open
        if isinstance(document, LabDocument) and document.page is page and document.name == self.name:
            return document
        return None

    # ------------------------------------------------------------------------------------------------- the owner

    async def _owner(self) -> OpenDocument | None:
        """Whoever has the document open now. A room is the document of all pages that show it."""
        room = await self._rooms.find(self.name) if self._rooms is not None else None
        if room is not None:
            self._open = room
            return room
        page = await self._pages.owner(self.name)
        if page is None:
            self._open = None
        elif self.held_by(page) is None:
            self._open = LabDocument(self._pages, page, self.name)
        return self._open

    async def _either(
        self, in_document: Callable[[OpenDocument], Awaitable[T]], when_closed: Callable[[], Awaitable[T]]
    ) -> T:
        """Do it with the owner; when the page or room vanishes meanwhile, with the next owner."""
        while True:
            document = await self._owner()
            if document is None:
                return await when_closed()
            with contextlib.suppress(PageGone, RoomGone):
                return await in_document(document)

    async def _note_state(self, document: OpenDocument) -> None:
        """Before our first change since the last save: whether the person had unsaved edits."""
        if self._was_clean is None:
            self._was_clean = not await document.has_unsaved()

    async def _flush(self) -> None:
        for cell, pending in list(self._pending.items()):

            async def show(document: OpenDocument, cell: str = cell, pending: Pending = pending) -> None:
                await self._note_state(document)
                await document.set_outputs(cell, *pending)

            async def store(cell: str = cell, pending: Pending = pending) -> None:
                outputs, count, timing = pending
                await self._closed.set_outputs(cell, outputs, count, timing=timing)

            try:
                await self._either(show, store)
            except NotebookRefused as refused:
                if refused.kind != "unknown_cell":
                    raise
            if self._pending.get(cell) is pending:
                del self._pending[cell]

    async def _guard(self, path: str) -> None:
        """Before the file is written: nobody here, and no other server, may have it open."""
        await self._check_closed()
        await check_not_open(path, besides=os.getpid())

    async def _check_closed(self) -> None:
        if await self._owner() is not None:
            raise NotebookRefused(
                "open_elsewhere", f"{self.name} was opened in the browser meanwhile. Read it again and repeat the step."
            )

    async def _drain(
        self, queue: asyncio.Queue[CellsChanged], closed: AsyncIterator[CellsChanged] | None
    ) -> AsyncIterator[CellsChanged]:
        async def follow_closed() -> None:
            async for change in closed or self._closed.watch():
                if await self._owner() is None:
                    queue.put_nowait(change)

        follower = asyncio.ensure_future(follow_closed())
        try:
            while True:
                yield await queue.get()
        finally:
            follower.cancel()
