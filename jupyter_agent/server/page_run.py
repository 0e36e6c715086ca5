"""Running a cell through the page that has its notebook open: widgets, input() and displays are then the page's own."""

from __future__ import annotations

import asyncio
import contextlib
import time

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.kernel.execution import LiveExecution
from jupyter_agent.kernel.protocol import OnOutput, Snapshot
from jupyter_agent.kernel.sent import Unsure
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import ANSWER_WITHIN, Json, Page, PageGone, Pages

CANNOT = ("no_kernel", "missing", "unknown_cell")
"""Kinds with which a page declines because it cannot run the cell now: then the server's own client does."""
BEHIND = ("stale", "unknown_cell")
"""Kinds with which a page declines what it may not have got from its room yet."""
CAUGHT_UP_WITHIN = 10.0
"""Seconds in which a page gets what the room of its notebook holds already."""


class PageRun:
    """One run of one cell. `send` is a `Sender`; while the page is there, it is the page that shows the outputs."""

    def __init__(self, pages: Pages, notebook: ServedNotebook, cell: str, kernel_id: str) -> None:
        self._pages, self._notebook, self._cell, self._kernel_id = pages, notebook, cell, kernel_id
        self._page: Page | None = None
        self._ended = asyncio.Event()

    async def send(self, execution: LiveExecution) -> str | None:
        """Raises NotebookRefused where the cell is no longer what was granted, Unsure when the page vanished."""
        page = await self._notebook.page()
        if page is None:
            return None

        document = self._notebook.held_by(page)

        def listen(message: Json) -> None:
            execution.asks = str(message.get("asks") or "")
            if message.get("done"):
                if document is not None and isinstance(message.get("state"), dict):
                    document.take(message["state"])
                self._ended.set()

        fields: Json = {"cell": self._cell, "source": execution.code, "kernel": self._kernel_id}
        if document is not None:
            # With this the page's last word brings the cells as they are then, which are asked for next.
            fields["seen"] = document.seen()
        deadline = time.monotonic() + CAUGHT_UP_WITHIN
        while True:
            try:
                answer = await self._pages.request(page, "run", self._notebook.name, listener=listen, **fields)
            except PageGone:
                raise Unsure from None
            except NotebookRefused as refused:
                if refused.kind in BEHIND and time.monotonic() < deadline and await self._is_behind(execution.code):
                    await asyncio.sleep(0.01)
                    continue
                if refused.kind in CANNOT:
                    return None
                raise
            self._page = page
            return str(answer["message"])

    async def _is_behind(self, code: str) -> bool:
        """Whether the room holds the very code, so that the page's copy of the document has yet to get it."""
        cells = await self._notebook.cells()
        return self._notebook.backend == "shared" and any((c.id, c.source) == (self._cell, code) for c in cells)

    def sink(self, on_output: OnOutput) -> OnOutput:
        """Passes outputs on once the page that shows them is gone, and for a cell that no page runs.

        Its last word waits for the page's own, so that who saves the document then saves it with these outputs.
        """

        async def tell(snapshot: Snapshot) -> None:
            if self._page is not None and snapshot.status not in ("queued", "running"):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), ANSWER_WITHIN)
            if self._page is None or not self._pages.has_open(self._page, self._notebook.name):
                await on_output(snapshot)

        return tell
