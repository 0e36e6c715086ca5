"""The browser pages that are connected, which documents they have open, and requests to them.

Lives on the agent's loop; a page's socket lives on the server's, behind `Page.send`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jupyter_agent.errors import NotebookRefused

Json = dict[str, Any]

ANSWER_WITHIN = 20.0
"""Seconds for a page's answer; a page in a background tab is slowed down by its browser, but not by this much."""
RETURN_WITHIN = 5.0
"""Seconds in which a page whose connection broke is expected back before somebody else may take its document over."""
CLEAN_AWAY = 30.0
"""Seconds after which a page that went away without a word gives up documents it had saved."""


class PageGone(Exception):
    """The page vanished before it answered; whether it did what was asked is unknown."""


@dataclass
class OpenDocument:
    """A document in a page. `used` orders pages by when the person was last in it (`time.monotonic`)."""

    dirty: bool = False
    used: float = 0.0


@dataclass
class Page:
    """A connected page. `send` may be called from the agent's loop; `documents` by the contents manager's path.

    `touches` counts how often the page told that a document changed since it last told its state.
    """

    client: str
    send: Callable[[Json], None]
    documents: dict[str, OpenDocument] = field(default_factory=dict)
    pending: dict[str, asyncio.Future[Json]] = field(default_factory=dict)
    listeners: dict[str, Callable[[Json], None]] = field(default_factory=dict)
    touches: Counter[str] = field(default_factory=Counter)
    away_since: float | None = None


class Pages:
    """All pages. Requests go to one page only: the one that owns the document (fault n35)."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._owners: dict[str, str] = {}
        self._ids = itertools.count(1)
        self._arrived = asyncio.Event()
        self._watchers: list[Callable[[str, list[str]], None]] = []
        self._renamed: dict[str, str] = {}

    # ------------------------------------------------------------------------------------------ from the pages

    def connect(self, client: str, send: Callable[[Json], None], documents: Json) -> Page:
        """A page (again): what it has open is what it says now."""
        old = self._pages.get(client)
        page = Page(client, send, {path: _document(state) for path, state in documents.items()})
        self._pages[client] = page
        if old is not None:
            _fail(old)
        self._wake()
        return page

    def disconnect(self, page: Page, *, leaving: bool) -> None:
        """The connection ended. `leaving`: the page said so itself, its documents are closed."""
        _fail(page)
        if self._pages.get(page.client) is not page:
            return
        if leaving or not page.documents:
            del self._pages[page.client]
        else:
            page.away_since = time.monotonic()
        self._wake()

    def receive(self, page: Page, message: Json) -> None:
        """A message of a connected page; what is malformed is ignored."""
        kind, path = message.get("type"), message.get("path")
        if kind == "document":
            future = page.pending.pop(str(message.get("id")), None)
            if future is not None and not future.done():
                future.set_result(message)
        elif kind == "execution":
            number = str(message.get("id"))
            listener = page.listeners.pop(number, None) if message.get("done") else page.listeners.get(number)
            if listener is not None:
                listener(message)
        elif not isinstance(path, str):
            return
        elif kind == "state":
            page.documents[path] = _document(message)
            self._renamed.pop(path, None)
            self._wake()
        elif kind == "touched":
            page.touches[path] += 1
        elif kind == "closed":
            page.documents.pop(path, None)
            self._wake()
        elif kind == "renamed" and isinstance(message.get("to"), str):
            # Open without a gap: in one, its file would be written behind the page's back.
            page.documents[message["to"]] = page.documents.pop(path, OpenDocument())
            self._renamed[path] = message["to"]
            self._wake()
        elif kind == "changed":
            cells = [cell for cell in message.get("cells", []) if isinstance(cell, str)]
            for watcher in list(self._watchers):
                watcher(path, cells)

    # -------------------------------------------------------------------------------------------- to the pages

    async def owner(self, path: str) -> Page | None:
        """The page that owns the document now; None when no page has it open.

        A page whose connection just broke is waited for. Raises NotebookRefused("open_elsewhere") while a page that
        did not say goodbye may still hold unsaved work.
        """
        deadline = time.monotonic() + RETURN_WITHIN
        while True:
            page = self._choose(path)
            away = self._away(path)
            if page is not None or away is None:
                return page
            left = deadline - time.monotonic()
            if left <= 0:
                raise NotebookRefused(
                    "open_elsewhere",
                    f"{path} is open in a browser page that cannot be reached at the moment, and its unsaved changes "
                    "are only there. Bring that page back (or reload it), then repeat the step.",
                )
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), left)
            except TimeoutError:
                continue

    def present_path(self, path: str) -> str:
        """Where a document is now that was at `path` when a page renamed it; `path` itself for all others."""
        seen = {path}
        while (renamed := self._renamed.get(path)) is not None and renamed not in seen:
            path = renamed
            seen.add(path)
        return path

    def is_open(self, path: str) -> bool:
        return self._choose(path) is not None or self._away(path) is not None

    async def request(
        self, page: Page, action: str, path: str, *, listener: Callable[[Json], None] | None = None, **fields: Any
    ) -> Json:
        """Ask the page and return its `result`.

        Raises PageGone, and NotebookRefused with the page's kind and sentence when it declined. `listener` gets the
        messages about an execution that the request starts, the last of them with `done`.
        """
        if page.away_since is not None or self._pages.get(page.client) is not page:
            raise PageGone
        number = f"{next(self._ids)}"
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        page.pending[number] = future
        if listener is not None:
            page.listeners[number] = listener
        page.send({"type": "document", "id": number, "action": action, "path": path, **fields})
        try:
            answer = await asyncio.wait_for(future, ANSWER_WITHIN)
        except TimeoutError:
            raise NotebookRefused(
                "open_elsewhere",
                f"The browser page that has {path} open does not answer. Look at that page, then repeat the step.",
            ) from None
        finally:
            page.pending.pop(number, None)
        if not answer.get("ok"):
            page.listeners.pop(number, None)
            kind, text = str(answer.get("kind") or "op"), str(answer.get("message") or "the page declined")
            raise NotebookRefused(kind, text, content=str(answer.get("content") or ""))
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def has_open(self, page: Page, path: str) -> bool:
        """Whether this page is connected and still has the document."""
        return self._pages.get(page.client) is page and page.away_since is None and path in page.documents

    def shown_to(self, client: str, path: str) -> Page | None:
        """This client's page, where it is connected and has the document open."""
        page = self._pages.get(client)
        return page if page is not None and self.has_open(page, path) else None

    def watch(self, watcher: Callable[[str, list[str]], None]) -> Callable[[], None]:
        """Call back with (path, cell ids) for changes by persons; the returned function ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def _choose(self, path: str) -> Page | None:
        holders = [page for page in self._pages.values() if page.away_since is None and path in page.documents]
        if not holders:
            self._owners.pop(path, None)
            return None
        # The owner stays the owner while it has the document, so that one tab executes and one is edited.
        chosen = next((page for page in holders if page.client == self._owners.get(path)), None)
        chosen = chosen or max(holders, key=lambda page: page.documents[path].used)
        self._owners[path] = chosen.client
        return chosen

    def _away(self, path: str) -> Page | None:
        now = time.monotonic()
        for page in list(self._pages.values()):
            if page.away_since is None or path not in page.documents:
                continue
            if not page.documents[path].dirty and now - page.away_since > CLEAN_AWAY:
                del page.documents[path]
                continue
            return page
        return None

    def _wake(self) -> None:
        self._arrived.set()


def _document(state: Any) -> OpenDocument:
    state = state if isinstance(state, dict) else {}
    return OpenDocument(bool(state.get("dirty")), time.monotonic() if state.get("active") else 0.0)


def _fail(page: Page) -> None:
    for future in page.pending.values():
        if not future.done():
            future.set_exception(PageGone())
    page.pending.clear()
    for listener in page.listeners.values():
        listener({"done": True})
    page.listeners.clear()
