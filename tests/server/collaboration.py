"""A server with jupyter-collaboration, and people in its rooms over real websockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jupyter_ydoc import YNotebook
from pycrdt import (
    Awareness,
    TransactionEvent,
    YMessageType,
    YSyncMessageType,
    create_awareness_message,
    create_sync_message,
    create_update_message,
    handle_sync_message,
)
from server.threaded import TOKEN, ThreadedServer, serving
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupyter_agent.notebook.cells import from_json, to_json
from jupyter_agent.notebook.document import Cell


class CollaborationServer(ThreadedServer):
    def __init__(self, folder: Path, settings: dict[str, Any] | None = None) -> None:
        own = {
            "ServerApp": {"jpserver_extensions": {"jupyter_server_ydoc": True, "jupyter_server_fileid": True}},
            "SQLiteYStore": {"db_path": str(folder / "ystore.db")},
            "BaseFileIdManager": {"db_path": str(folder / "file_id.db")},
        }
        for name, values in (settings or {}).items():
            own[name] = {**own.get(name, {}), **values}
        super().__init__(folder, own)

    async def join(self, name: str) -> Person:
        """Somebody who opens the notebook."""
        session = await asyncio.to_thread(
            self.request, "PUT", f"api/collaboration/session/{name}", {"format": "json", "type": "notebook"}
        )
        room = f"json:notebook:{session['fileId']}"
        url = f"{self.url.replace('http', 'ws')}api/collaboration/room/{room}?sessionId={session['sessionId']}"
        request = HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"})
        person = Person(await websocket_connect(request, max_message_size=2**28))
        await person.refresh()
        return person


@contextlib.contextmanager
def collaborating(folder: Path, settings: dict[str, Any] | None = None) -> Iterator[CollaborationServer]:
    with serving(CollaborationServer(folder, settings)) as server:
        yield server


class Person:
    """A member of a room with a copy of the document, as a page has one."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self.notebook = YNotebook()
        self.awareness = Awareness(self.notebook.ydoc)
        self._answers: asyncio.Queue[None] = asyncio.Queue()
        self.updates = 0
        """Updates of others that have arrived."""
        self._applying = False
        self.notebook.ydoc.observe(self._send)
        self._reader = asyncio.ensure_future(self._read())

    def _send(self, event: TransactionEvent) -> None:
        if not self._applying and event.update != b"\x00\x00":
            self._socket.write_message(create_update_message(event.update), binary=True)

    async def _read(self) -> None:
        while (message := await self._socket.read_message()) is not None:
            assert isinstance(message, bytes)
            if message[0] != YMessageType.SYNC:
                continue
            self._applying = True
            try:
                reply = handle_sync_message(message[1:], self.notebook.ydoc)
            finally:
                self._applying = False
            if reply is not None:
                self._socket.write_message(reply, binary=True)
            if message[1] == YSyncMessageType.SYNC_STEP2:
                self._answers.put_nowait(None)
            elif message[1] == YSyncMessageType.SYNC_UPDATE:
                self.updates += 1

    async def refresh(self) -> None:
        """Afterwards each side has what the other had."""
        while not self._answers.empty():
            self._answers.get_nowait()
        self._socket.write_message(create_sync_message(self.notebook.ydoc), binary=True)
        async with asyncio.timeout(60):
            await self._answers.get()

    def say(self, **state: Any) -> None:
        """What this person's page tells the others of itself, such as `autosave`."""
        for key, value in state.items():
            self.awareness.set_local_state_field(key, value)
        data = self.awareness.encode_awareness_update([self.awareness.client_id])
        self._socket.write_message(create_awareness_message(data), binary=True)

    def sources(self) -> list[str]:
        return [str(cell["source"]) for cell in self.notebook.ycells]

    def cells(self) -> list[Cell]:
        raw = [cell.to_py() for cell in self.notebook.ycells]
        made: list[Cell] = []
        for index, cell in enumerate(raw):
            count = cell.get("execution_count")
            metadata = {key: value for key, value in cell["metadata"].items() if key != "trusted"}
            cell = {**cell, "execution_count": None if count is None else int(count), "metadata": metadata}
            made.append(from_json(cell, cell["id"], index))
        return made

    def replace(self, cells: Sequence[Cell]) -> None:
        """Deletes, inserts, moves (as pages do: delete and insert) and types, until the document has these cells."""
        ycells = self.notebook.ycells
        wanted = [cell.id for cell in cells]
        with self.notebook.ydoc.transaction():
            for index in range(len(ycells) - 1, -1, -1):
                if ycells[index]["id"] not in wanted:
                    del ycells[index]
            for index, cell in enumerate(cells):
                here = [ycell["id"] for ycell in ycells]
                if here[index : index + 1] != [cell.id]:
                    if cell.id in here:
                        del ycells[here.index(cell.id)]
                    ycells.insert(index, self.notebook.create_ycell(to_json(cell)))
                elif str(ycells[index]["source"]) != cell.source:
                    source = ycells[index]["source"]
                    source.clear()
                    source.insert(0, cell.source)

    def type(self, index: int, text: str) -> None:
        """At the end of a cell."""
        source = self.notebook.ycells[index]["source"]
        source.insert(len(source), text)

    async def leave(self) -> None:
        self._socket.close()
        await self._reader
