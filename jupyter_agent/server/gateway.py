"""A client of a kernel behind a kernel gateway: one websocket to the gateway, as the server itself has for its pages.

Looks like a jupyter_client client to `jupyter_agent.kernel.channels`. Lives on the agent's loop. Talks to the gateway
that the server was started with, with the server's own credentials for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jupyter_agent.kernel import Link

_LOG = logging.getLogger("jupyter_agent.kernel")
LARGEST_MESSAGE = 512 * 2**20
"""Bytes of one message: an output with a large image or table comes in one."""
AGAIN = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before the first, second, … try to connect again; the gateway keeps messages for us meanwhile."""
ALIVE_FOR = 2.0
"""Seconds for which the gateway's word that a kernel lives is believed: each question is a request over the network."""


def is_gateway(manager: Any) -> bool:
    """Whether this kernel manager's kernel is behind a gateway, so that its ports cannot be reached from here."""
    return hasattr(manager, "kernels_url") and hasattr(manager, "kernel_url")


class Channel:
    """One channel's messages, in order."""

    def __init__(self, name: str, send: Callable[[str, dict[str, Any]], None]) -> None:
        self.name, self._send = name, send
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def send(self, message: dict[str, Any]) -> None:
        self._send(self.name, message)

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        return await asyncio.wait_for(self._messages.get(), timeout)

    def receive(self, message: dict[str, Any]) -> None:
        self._messages.put_nowait(message)


class GatewayClient:
    """`session` makes messages and their ids; its id tells the gateway who we are, also after a broken connection."""

    def __init__(self, kernel_id: str) -> None:
        from jupyter_client.session import Session

        self._kernel_id = kernel_id
        self.session = Session()
        self.shell_channel = Channel("shell", self._send)
        self.control_channel = Channel("control", self._send)
        self.iopub_channel = Channel("iopub", self._send)
        self.stdin_channel = Channel("stdin", self._send)
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why the gateway cannot be reached, where it could not."""
        self.dead = False
        """Whether the gateway gave the kernel up."""

    def start_channels(self, **channels: bool) -> None:
        """Connects in the background; what is sent before waits."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop_channels(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _send(self, channel: str, message: dict[str, Any]) -> None:
        message = {**message, "channel": channel, "buffers": []}
        self._outgoing.put_nowait(json.dumps(message, default=_date))

    async def _run(self) -> None:
        tries = 0
        while True:
            began = time.monotonic()
            try:
                await self._exchange()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self.problem = f"The kernel gateway could not be reached: {error}"
                _LOG.info("kernel %s: %s", self._kernel_id, self.problem)
            tries = 0 if time.monotonic() - began > AGAIN[-1] else tries + 1
            await asyncio.sleep(AGAIN[min(tries, len(AGAIN) - 1)])

    async def _exchange(self) -> None:
        """One connection, until it ends."""
        from tornado.websocket import websocket_connect

        socket = await websocket_connect(await self._request(), max_message_size=LARGEST_MESSAGE)
        self.problem = ""
        writer = asyncio.ensure_future(self._write(socket))
        try:
            while (text := await socket.read_message()) is not None:
                self._receive(text)
        finally:
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writer
            _hang_up(socket)

    async def _request(self) -> Any:
        from jupyter_server.gateway.gateway_client import GatewayClient as Settings
        from jupyter_server.utils import url_path_join
        from tornado.httpclient import HTTPRequest

        settings = Settings.instance()
        url = url_path_join(
            settings.ws_url or "", settings.kernels_endpoint, quote(self._kernel_id, safe=""), "channels"
        )
        options = settings.load_connection_args()
        options.setdefault("connect_timeout", settings.connect_timeout)
        return HTTPRequest(f"{url}?session_id={quote(self.session.session)}", **options)

    async def _write(self, socket: Any) -> None:
        while True:
            text = await self._outgoing.get()
            try:
                await socket.write_message(text)
            except BaseException:
                # Not sent: the next connection begins with it.
                rest = [text]
                while not self._outgoing.empty():
                    rest.append(self._outgoing.get_nowait())
                for waiting in rest:
                    self._outgoing.put_nowait(waiting)
                raise

    def _receive(self, data: str | bytes) -> None:
        if isinstance(data, bytes):
            from jupyter_server.services.kernels.connection.base import deserialize_binary_message

            message = deserialize_binary_message(data)
        else:
            message = json.loads(data)
        self.dead = self.dead or message.get("content", {}).get("execution_state") == "dead"
        for channel in (self.shell_channel, self.control_channel, self.iopub_channel, self.stdin_channel):
            if channel.name == message.get("channel"):
                channel.receive(message)


def behind_gateway(link: Link, kernel_id: str) -> Link:
    """`link` of a kernel whose ports are out of reach: the same kernel through the gateway's websocket."""
    clients: list[GatewayClient] = []
    believed_until = 0.0

    def client() -> GatewayClient:
        clients[:] = [GatewayClient(kernel_id)]
        return clients[0]

    async def alive() -> bool:
        nonlocal believed_until
        assert link.alive is not None
        if any(client.dead for client in clients):
            return False
        if time.monotonic() > believed_until:
            if not await link.alive():
                return False
            believed_until = time.monotonic() + ALIVE_FOR
        return True

    return replace(link, client=client, alive=alive, log=lambda: "".join(client.problem for client in clients))


def _hang_up(socket: Any) -> None:
    """Close at once: the polite way keeps the connection for seconds, and nobody may be there for as long."""
    stream = getattr(socket.protocol, "stream", None)
    socket.close()
    if stream is not None:
        stream.close()


def _date(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
