"""The lab backend under the shipped suite: a notebook open in a real JupyterLab in Chromium, changed through its page.

The page's own websocket about its documents ends in the test instead of in the server, so that the suite drives the
very `ServedNotebook` that a conversation on the server has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from lab.browser_thread import BrowserThread, browser_page
from lab.harness import LabServer, check_bundle, find_browser, write_notebook
from playwright.async_api import Page, WebSocketRoute

from jupyter_agent.notebook.cells import from_json, to_json
from jupyter_agent.notebook.document import Cell, Delete, Notebook, Target
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import Pages
from jupyter_agent.testing.documents import DocumentConformance, commit
from jupyter_agent.testing.samples import sample

NAME = "conformance.ipynb"
PANEL = "const panel = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.context);"
REPLACE = f"""async notebook => {{
  {PANEL}
  panel.context.model.fromJSON(notebook);
  await panel.context.save();
}}"""
"""A new document in the open panel, as its file holds it."""
READ = f"() => {{ {PANEL} return panel.context.model.toJSON(); }}"
CHANGE = f"""cells => {{
  {PANEL}
  const shared = panel.context.model.sharedModel;
  const wanted = new Set(cells.map(cell => cell.id));
  for (let index = shared.cells.length - 1; index >= 0; index--) {{
    if (!wanted.has(shared.cells[index].getId())) {{
      shared.deleteCell(index);
    }}
  }}
  const place = id => shared.cells.findIndex(candidate => candidate.getId() === id);
  cells.forEach((cell, index) => {{
    const present = place(cell.id);
    if (present < 0) {{
      shared.insertCell(index, cell);
    }} else {{
      if (present === index + 1) {{
        shared.moveCell(index, cells.findIndex(candidate => candidate.id === shared.cells[index].getId()));
      }}
      if (place(cell.id) !== index) {{
        shared.moveCell(place(cell.id), index);
      }}
      if (shared.getCell(index).getSource() !== cell.source) {{
        shared.getCell(index).setSource(cell.source);
      }}
    }}
  }});
}}"""
"""What a person does to the cells: deletes, inserts, moves, types."""


class PageSocket:
    """The page's websocket about its documents; `receive` is whoever listens at the moment."""

    def __init__(self) -> None:
        self.hello: dict[str, Any] = {}
        self.receive: Callable[[dict[str, Any]], None] = lambda message: None
        self._route: WebSocketRoute | None = None

    async def answer(self, page: Page) -> None:
        await page.route_web_socket("**/jupyter-agent/documents*", self._opened)

    def _opened(self, route: WebSocketRoute) -> None:
        self._route = route
        route.on_message(lambda text: self._got(json.loads(text)))

    def _got(self, message: dict[str, Any]) -> None:
        if message["type"] == "hello":
            self.hello = message
        else:
            self.receive(message)

    def send(self, message: dict[str, Any]) -> None:
        assert self._route is not None
        self._route.send(json.dumps(message))

    def nobody_listens(self) -> None:
        self.receive = lambda message: None


class LabBackend:
    """One open notebook, its contents new for each test."""

    def __init__(self, server: LabServer, browser: BrowserThread, socket: PageSocket) -> None:
        self.server, self.browser, self.socket = server, browser, socket

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        notebook = await self.browser.evaluate(READ)
        notebook["cells"] = [to_json(cell, with_id=True) for cell in cells]
        await self.browser.evaluate(REPLACE, notebook)
        loop, pages = asyncio.get_running_loop(), Pages()

        def send(message: dict[str, Any]) -> None:
            self.browser.loop.call_soon_threadsafe(self.socket.send, message)

        page = pages.connect(self.socket.hello["client"], send, {NAME: {"dirty": False, "active": True}})
        self.socket.receive = lambda message: loop.call_soon_threadsafe(pages.receive, page, message)  # type: ignore
        root = self.server.root.resolve()
        return ServedNotebook(pages, root / NAME, NAME, root)

    async def stored(self) -> Sequence[Cell]:
        notebook = await self.browser.evaluate(READ)
        return [from_json(cell, cell["id"], index) for index, cell in enumerate(notebook["cells"])]

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        cells = edit(list(await self.stored()))
        await self.browser.evaluate(CHANGE, [to_json(cell, with_id=True) for cell in cells])


@pytest.fixture(scope="module")
def open_lab(server: LabServer) -> Iterator[LabBackend]:
    path = find_browser()
    check_bundle()
    socket = PageSocket()
    write_notebook(server.root / NAME, [("only", "code", "")])

    async def prepare(page: Page) -> None:
        await socket.answer(page)
        await page.goto(f"{server.url}lab/tree/{NAME}?reset&token={server.token}")
        await page.wait_for_function(f"() => {{ {PANEL} return panel?.context.isReady; }}")
        await page.evaluate(f"() => {{ {PANEL} return panel.revealed.then(() => undefined); }}")

    with browser_page(path, prepare) as browser:
        yield LabBackend(server, browser, socket)


class TestLab(DocumentConformance):
    @pytest.fixture
    def backend(self, open_lab: LabBackend) -> Iterator[LabBackend]:
        yield open_lab
        open_lab.socket.nobody_listens()

    async def test_every_cell_may_be_deleted_by_name(self, notebook: Notebook, backend: LabBackend) -> None:
        """JupyterLab itself puts an empty cell into a notebook that has none."""
        await commit(notebook, Delete(tuple(Target(cell.id, cell.hash) for cell in sample())))
        assert [cell.source for cell in await backend.stored()] in ([], [""])
