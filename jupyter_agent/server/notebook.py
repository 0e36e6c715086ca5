"""A notebook on this server, whoever owns it now: the page that has it open, else its file.

The owner is asked for anew before every read and every write, so a notebook that is opened or closed in the middle of a
turn is handed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
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
from jupyter_agent.server.lab_document import LabDocument
from jupyter_agent.server.pages import Page, PageGone, Pages

T = TypeVar("T")
Pending = tuple[Sequence[Output], int | None, Mapping[str, str] | None]


class ServedNotebook:
    """The `Notebook` protocol. `path` is the absolute real path, `name` the contents manager's."""

    def __init__(self, pages: Pages, path: Path, name: str, root: Path) -> None:
        self._pages, self._path, self.name = pages, str(path), name
        self._file = FileNotebook(path, guard=self._guard, root=root)
        self._lab: LabDocument | None = None
        self._pending: dict[str, Pending] = {}
        self._flusher: asyncio.Task[None] | None = None
        self._was_clean: bool | None = None
        self._lock = asyncio.Lock()

    @property
    def path(self) -> str:
        return self._path

    @property
    def backend(self) -> Literal["lab", "file"]:
        return "lab" if self._pages.is_open(self.name) else "file"

    async def cells(self) -> tuple[Cell, ...]:
        async def read(lab: LabDocument) -> tuple[Cell, ...]:
            return await lab.cells()

        return await self._either(read, self._file.cells)

    async def metadata(self) -> Mapping[str, Any]:
        async def read(lab: LabDocument) -> Mapping[str, Any]:
            await lab.cells()
            return lab.metadata

        return await self._either(read, self._file.metadata)

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        make_id = await self._file.id_maker() if await self._owner() is None else None
        cells, metadata = await self.cells(), await self.metadata()
        language = str(metadata.get("kernelspec", {}).get("language", "python"))
        transaction = apply(cells, operations, make_id=make_id, language=language)
        return edit_effect(transaction, target=self._path, read=self.cells, rewrite=self.rewrite)

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells by `make(cells)` in one step at whoever owns them."""

        async def with_page(lab: LabDocument) -> tuple[Cell, ...]:
            self._note_state(lab)
            return await lab.rewrite(make)

        async def with_file() -> tuple[Cell, ...]:
            return await self._file.rewrite(make)

        async with self._lock:
            return await self._either(with_page, with_file)

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
        return self._watch()

    async def save(self) -> None:
        """Outputs first; then the page saves, if the document was saved when we began to change it."""
        await self._flush()

        async def save_page(lab: LabDocument) -> None:
            if self._was_clean:
                await lab.save()

        await self._either(save_page, self._file.save)
        self._was_clean = None

    @property
    def left_unsaved(self) -> bool:
        """Whether our changes stand in a document that already had unsaved edits of the person."""
        return self._was_clean is False

    async def close(self) -> None:
        await self.save()
        await self._file.close()

    async def page(self) -> Page | None:
        """The page that owns the document and may run its cells; what it then shows counts as a change of ours."""
        lab = await self._owner()
        if lab is None:
            return None
        self._note_state(lab)
        return lab.page

    # ------------------------------------------------------------------------------------------------- the owner

    async def _owner(self) -> LabDocument | None:
        page = await self._pages.owner(self.name)
        if page is None:
            self._lab = None
        elif self._lab is None or self._lab.page is not page:
            self._lab = LabDocument(self._pages, page, self.name)
        return self._lab

    async def _either(
        self, with_page: Callable[[LabDocument], Awaitable[T]], with_file: Callable[[], Awaitable[T]]
    ) -> T:
        """Do it with the owner; when the page vanishes meanwhile, with the next owner."""
        while True:
            lab = await self._owner()
            if lab is None:
                return await with_file()
            with contextlib.suppress(PageGone):
                return await with_page(lab)

    def _note_state(self, lab: LabDocument) -> None:
        """Before our first change since the last save: whether the person had unsaved edits."""
        if self._was_clean is None:
            self._was_clean = not lab.dirty

    async def _flush(self) -> None:
        for cell, pending in list(self._pending.items()):

            async def show(lab: LabDocument, cell: str = cell, pending: Pending = pending) -> None:
                self._note_state(lab)
                await lab.set_outputs(cell, *pending)

            async def store(cell: str = cell, pending: Pending = pending) -> None:
                outputs, count, timing = pending
                await self._file.set_outputs(cell, outputs, count, timing=timing)

            try:
                await self._either(show, store)
            except NotebookRefused as refused:
                if refused.kind != "unknown_cell":
                    raise
            if self._pending.get(cell) is pending:
                del self._pending[cell]

    async def _guard(self, path: str) -> None:
        """Before the file is written: no page of ours, and no other server, may have it open."""
        if self._pages.is_open(self.name):
            raise NotebookRefused(
                "open_elsewhere", f"{self.name} was opened in the browser meanwhile. Read it again and repeat the step."
            )
        await check_not_open(path, besides=os.getpid())

    async def _watch(self) -> AsyncIterator[CellsChanged]:
        queue: asyncio.Queue[CellsChanged] = asyncio.Queue()

        def changed(name: str, cells: list[str]) -> None:
            if name == self.name and cells:
                queue.put_nowait(CellsChanged(tuple(cells)))

        async def follow_file() -> None:
            async for change in self._file.watch():
                if not self._pages.is_open(self.name):
                    queue.put_nowait(change)

        stop = self._pages.watch(changed)
        follower = asyncio.ensure_future(follow_file())
        try:
            while True:
                yield await queue.get()
        finally:
            stop()
            follower.cancel()
