"""A client of a conversation's websocket, as any page is one."""

from __future__ import annotations

import asyncio
import http.client
import json
import urllib.error
import uuid
from typing import Any

from lab.harness import LabServer
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

Json = dict[str, Any]


class Client:
    """`events` holds every event received, deltas included; `others` status messages and problems."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket
        self.events: list[Json] = []
        self.others: list[Json] = []
        self._news = asyncio.Event()
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    async def connect(cls, server: LabServer, conversation: str, *, after: int = 0, name: str = "") -> Client:
        url = f"{server.url.replace('http', 'ws', 1)}jupyter-agent/conversations/{conversation}/events"
        request = HTTPRequest(url, headers={"Authorization": f"token {server.token}"})
        client = cls(await websocket_connect(request, max_message_size=2**28))
        client.tell({"after": after, "client": name or uuid.uuid4().hex})
        return client

    async def _read(self) -> None:
        while (text := await self.socket.read_message()) is not None:
            message = json.loads(text)
            (self.events if "seq" in message else self.others).append(message)
            self._news.set()

    def tell(self, message: Json) -> None:
        self.socket.write_message(json.dumps(message))

    def ask(self, text: str, *, id: str | None = None, **more: Any) -> str:
        """Send a message; its id."""
        message = {"type": "user", "id": id or uuid.uuid4().hex, "text": text, "attachments": [], **more}
        self.tell(message)
        return str(message["id"])

    def answer(self, request: Json, decision: str = "once", **changes: Any) -> None:
        answer = {"type": "approval", "id": request["id"], "digest": request["digest"], "decision": decision}
        self.tell({**answer, "reason": "", **changes})

    async def until(self, kind: str, *, count: int = 1, timeout: float = 30.0) -> Json:
        """The `count`th event (or other message) of this type, waited for."""
        async with asyncio.timeout(timeout):
            while True:
                found = [message for message in [*self.events, *self.others] if message["type"] == kind]
                if len(found) >= count:
                    return found[count - 1]
                self._news.clear()
                await self._news.wait()

    @property
    def journalled(self) -> list[Json]:
        return [event for event in self.events if event["type"] != "delta"]

    async def close(self) -> None:
        self.socket.close()
        await self._reader


def create(server: LabServer, **options: Any) -> str:
    """A new conversation; its id."""
    return str(server.request("POST", "jupyter-agent/conversations", options)["id"])


def upgrade_status(server: LabServer, path: str, headers: dict[str, str]) -> int:
    """The status with which a websocket's opening request is answered: 101 when it is accepted."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=90)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    try:
        connection.request("GET", f"{server.base_url}{path}", headers={**upgrade, **headers})
        with connection.getresponse() as response:
            return response.status
    finally:
        connection.close()


def refusal(server: LabServer, method: str, path: str) -> tuple[int, str]:
    """Status and sentence of a request that is declined; raises AssertionError when it is answered."""
    try:
        server.request(method, path, {} if method == "POST" else None)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, str(json.loads(error.read() or b"{}").get("message", ""))
    raise AssertionError(f"{method} {path} was answered")
