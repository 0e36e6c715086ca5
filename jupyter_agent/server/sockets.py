"""Websockets: a conversation's events, and the documents that pages have open.

Authenticated, Origin checked, authorised at the beginning and for each kind of message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_agent.errors import AgentError
from jupyter_agent.server.handlers import RESOURCE

if TYPE_CHECKING:
    from jupyter_agent.server.app import JupyterAgentApp
    from jupyter_agent.server.pages import Page

Json = dict[str, Any]
ACTIONS: Mapping[str, str] = {"stop": "write", "mode": "write", "model": "write"}
"""What a message needs beyond reading; everything not named here lets code run: `execute`."""
LARGEST_MESSAGE = 256 * 2**20
"""Bytes of one message: a page answers with whole notebooks."""
GONE = 4404
"""Close code: there is no such conversation."""


class AgentSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """Base of ours: JSON objects in and out, in order."""

    auth_resource = RESOURCE

    def initialize(self, app: JupyterAgentApp) -> None:
        self.app = app

    @property
    def max_message_size(self) -> int:
        return LARGEST_MESSAGE

    def set_default_headers(self) -> None:
        """None of a page's headers: this is a websocket."""

    def get_compression_options(self) -> dict[str, Any] | None:
        return {}

    @ws_authenticated
    async def get(self, *args: str, **kwargs: str) -> Any:
        if not await self.may("read"):
            raise web.HTTPError(403)
        return await super().get(*args, **kwargs)

    def opened(self) -> None:
        """Called first by `open`: the peer is asked from time to time whether it is still there."""
        super().open()
        # Small messages follow one another: each goes out when it is there, see kernel_sockets.
        self.set_nodelay(True)

    async def may(self, action: str) -> bool:
        allowed = self.authorizer.is_authorized(self, self.current_user, action, RESOURCE)
        return bool(await allowed if asyncio.iscoroutine(allowed) or isinstance(allowed, asyncio.Future) else allowed)

    def on_close(self) -> None:
        # It would hold a closed connection, and all that belongs to it, for another half minute.
        if self.ping_callback is not None:
            self.ping_callback.stop()

    def send_from_agent(self, message: Json) -> None:
        """Send from the agent's thread."""
        text = json.dumps(message, ensure_ascii=False, default=str)
        self.app.server.call(lambda: self.send_text(text))

    def send_text(self, text: str) -> None:
        with contextlib.suppress(WebSocketClosedError):
            # A client that hangs up in the middle of a message is no error.
            self.write_message(text).add_done_callback(lambda written: written.exception())

    @staticmethod
    def parse(data: str | bytes) -> Json:
        try:
            message = json.loads(data)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}


class EventsSocket(AgentSocket):
    """`{after, client}` first, then the client's messages; out come status, events and problems."""

    conversation_id = client = ""
    unsubscribe: Callable[[], None] | None = None

    async def open(self, conversation_id: str) -> None:
        self.opened()
        self.conversation_id = conversation_id
        self.inbox: asyncio.Queue[Json | None] = asyncio.Queue()
        self.worker = asyncio.ensure_future(self._work())

    def on_message(self, data: str | bytes) -> None:
        self.inbox.put_nowait(self.parse(data))

    def on_close(self) -> None:
        super().on_close()
        if self.conversation_id:
            self.inbox.put_nowait(None)

    async def _work(self) -> None:
        """Messages one after the other: what was sent first is done first."""
        first = await self.inbox.get()
        if first is None or not await self._attach(first):
            return
        while (message := await self.inbox.get()) is not None:
            allowed = await self.may(ACTIONS.get(str(message.get("type")), "execute"))
            await self.app.agent.run(self._receive(message, allowed))
        await self.app.agent.run(self._leave())

    async def _attach(self, hello: Json) -> bool:
        async def attach() -> None:
            live = await self.app.hub.open(self.conversation_id)
            after = hello.get("after")
            self.live, self.client = live, str(hello.get("client") or "")
            self.unsubscribe = live.attach(after if isinstance(after, int) else 0, self.send_from_agent)

        try:
            await self.app.agent.run(attach())
        except AgentError as error:
            self.send_text(json.dumps({"type": "problem", "text": error.message}))
            self.close(GONE, "gone")
            return False
        return True

    async def _receive(self, message: Json, allowed: bool) -> None:
        self.live.receive(message, self.send_from_agent, self.client, allowed=allowed)

    async def _leave(self) -> None:
        if self.unsubscribe is not None:
            self.unsubscribe()


class DocumentsSocket(AgentSocket):
    """One per page: what it has open, and requests to it. A page may edit and run, so it needs `execute`."""

    page: Page | None = None
    leaving = False

    async def open(self) -> None:
        self.opened()
        if not await self.may("execute"):
            self.close(4403, "not allowed")

    def on_message(self, data: str | bytes) -> None:
        message = self.parse(data)
        self.app.agent.loop.call_soon_threadsafe(self._receive, message)

    def on_close(self) -> None:
        super().on_close()
        if self.app.agent.started:
            self.app.agent.loop.call_soon_threadsafe(self._closed)

    def _receive(self, message: Json) -> None:
        if message.get("type") == "hello":
            documents = message.get("documents")
            self.page = self.app.pages.connect(
                str(message.get("client")), self.send_from_agent, documents if isinstance(documents, dict) else {}
            )
        elif message.get("type") == "bye":
            self.leaving = True
        elif self.page is not None:
            self.app.pages.receive(self.page, message)

    def _closed(self) -> None:
        if self.page is not None:
            self.app.pages.disconnect(self.page, leaving=self.leaving)
