"""What a kernel says reaches a page at once: TCP does not hold its second message back for 40 ms."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from server.threaded import TOKEN, ThreadedServer, serving
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_agent.notebook.address import SECRET, URL


async def test_messages_to_a_page_are_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The extension leaves the way to its server for kernels there, and this process is not to keep it.
    for name in (URL, SECRET):
        monkeypatch.setenv(name, "")
    enabled = {"ServerApp": {"jpserver_extensions": {"jupyter_agent": True}}}
    with serving(ThreadedServer(tmp_path, enabled)) as server:
        kernel = (await asyncio.to_thread(server.request, "POST", "api/kernels", {}))["id"]
        url = f"{server.url.replace('http', 'ws')}api/kernels/{kernel}/channels?session_id=page"
        page = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"}))
        await page.read_message()
        (handler,) = (
            handler for handler in ZMQChannelsWebsocketConnection._open_sessions.values() if handler.kernel_id == kernel
        )
        connection = handler.ws_connection.stream.socket
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        page.close()
        while await page.read_message() is not None:
            pass
        await asyncio.to_thread(server.request, "DELETE", f"api/kernels/{kernel}")
