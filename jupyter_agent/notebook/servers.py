"""Who has a notebook open: the Jupyter servers that run for this user are asked before a file is written (fault n42).

Standard library only: the base install has no jupyter_server. Reads the runtime folder, talks to the servers named
there with their own tokens, follows no redirect, and changes nothing.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from jupyter_agent.errors import NotebookRefused

TIMEOUT = 5.0
"""Seconds for one server's answer; a server that is busy for longer cannot be asked."""
_LARGEST_ANSWER = 10_000_000
_LOOPBACK = {"", "*", "0.0.0.0", "localhost", "127.0.0.1"}
Answer = Literal["open", "closed", "gone", "unknown"]


@dataclass(frozen=True)
class Server:
    """A running Jupyter server as its info file describes it. `url` holds no token and may be shown."""

    url: str
    hostname: str
    port: int
    sock: str
    base_url: str
    secure: bool
    token: str
    root: str
    pid: int

    def holds(self, path: str) -> bool:
        """Whether the real path lies below the server's root."""
        return bool(self.root) and Path(path).is_relative_to(os.path.realpath(self.root))


async def check_not_open(
    path: str, runtime_dir: str | os.PathLike[str] | None = None, *, besides: int | None = None
) -> None:
    """Raise NotebookRefused("open_elsewhere") when a running server has the notebook open or may have it open.

    A server counts as having it open when one of its sessions is for this file; when its root holds the file and it
    cannot be asked (password without token, no answer), it may have it open. The server of process `besides` is not
    asked: it is the one that wants to know.
    """
    real = os.path.realpath(path)
    running = await asyncio.to_thread(running_servers, runtime_dir)
    servers = [server for server in running if server.pid != besides]
    answers = await asyncio.gather(*(asyncio.to_thread(_ask, server, real) for server in servers))
    for server, answer in zip(servers, answers, strict=True):
        if answer == "open":
            raise NotebookRefused(
                "open_elsewhere",
                f"{path} is open in the Jupyter server at {server.url} (process {server.pid}). Writing the file now "
                "could lose what is unsaved there. Work with %agent or the chat in that notebook, or close it there "
                "and shut down its kernel, then repeat the step.",
            )
        if answer == "unknown" and server.holds(real):
            raise NotebookRefused(
                "open_elsewhere",
                f"{path} lies below the root of the Jupyter server at {server.url} (process {server.pid}), which could "
                "not be asked whether it has the notebook open. Work with %agent or the chat there, or stop that "
                "server, or start it with a token instead of a password, then repeat the step.",
            )


def running_servers(runtime_dir: str | os.PathLike[str] | None = None) -> list[Server]:
    """The servers whose info files name a live process; other users' and broken files are passed over."""
    if runtime_dir is None:
        from jupyter_core.paths import jupyter_runtime_dir

        runtime_dir = jupyter_runtime_dir()
    servers: list[Server] = []
    for pattern in ("jpserver-*.json", "nbserver-*.json"):
        for file in sorted(Path(runtime_dir).glob(pattern)):
            server = _read_info(file)
            if server is not None and _is_alive(server.pid):
                servers.append(server)
    return servers


def _read_info(file: Path) -> Server | None:
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
        return Server(
            url=str(info["url"]),
            hostname=str(info.get("hostname") or ""),
            port=int(info.get("port") or 0),
            sock=str(info.get("sock") or ""),
            base_url=str(info.get("base_url") or "/"),
            secure=bool(info.get("secure")),
            token=str(info.get("token") or ""),
            root=str(info.get("root_dir") or info.get("notebook_dir") or ""),
            pid=int(info["pid"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ask(server: Server, real: str) -> Answer:
    try:
        sessions = _get(server, "api/sessions")
    except ConnectionRefusedError:
        # Nothing listens there: the info file was left behind and its process id belongs to another program by now.
        return "gone"
    except FileNotFoundError:
        return "gone"
    except (OSError, ValueError, http.client.HTTPException):
        return "unknown"
    if not isinstance(sessions, list):
        return "unknown"
    return "open" if any(_is_for(session, server, real) for session in sessions) else "closed"


def _is_for(session: Any, server: Server, real: str) -> bool:
    if not isinstance(session, dict):
        return False
    paths = [session.get("path")]
    if isinstance(session.get("notebook"), dict):
        paths.append(session["notebook"].get("path"))
    for path in paths:
        if not isinstance(path, str) or not path:
            continue
        # A shared document's path carries its drive: "RTC:folder/name.ipynb".
        for name in {path, path.partition(":")[2] or path}:
            if os.path.realpath(os.path.join(server.root, name.lstrip("/"))) == real:
                return True
    return False


def _get(server: Server, endpoint: str) -> Any:
    """The JSON of a GET. Raises OSError, ValueError, HTTPException for everything but a 200 with JSON."""
    connection = _connection(server)
    headers = {"Accept": "application/json"}
    if server.token:
        headers["Authorization"] = f"token {server.token}"
    try:
        connection.request("GET", quote(server.base_url.rstrip("/"), safe="/%@") + "/" + endpoint, headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return json.loads(response.read(_LARGEST_ANSWER))
    finally:
        connection.close()


def _connection(server: Server) -> http.client.HTTPConnection:
    if server.sock:
        return _UnixConnection(server.sock)
    loopback = server.hostname in _LOOPBACK
    host = "127.0.0.1" if loopback else "::1" if server.hostname == "::" else server.hostname
    if not server.secure:
        return http.client.HTTPConnection(host, server.port, timeout=TIMEOUT)
    context = ssl.create_default_context()
    if loopback or host == "::1":
        # Certificates of local servers name the host, not 127.0.0.1, and are often self-signed.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, server.port, timeout=TIMEOUT, context=context)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


async def notebook_of_kernel(kernel_id: str, runtime_dir: str | os.PathLike[str] | None = None) -> str | None:
    """The real path of the notebook that a running server's kernel `kernel_id` belongs to, as that server says now.

    None where no server that can be asked knows the kernel, or its notebook lies outside the server's root.
    """
    servers = await asyncio.to_thread(running_servers, runtime_dir)
    found = await asyncio.gather(*(asyncio.to_thread(_notebook_of, server, kernel_id) for server in servers))
    return next((path for path in found if path is not None), None)


def _notebook_of(server: Server, kernel_id: str) -> str | None:
    try:
        sessions = _get(server, "api/sessions")
    except (OSError, ValueError, http.client.HTTPException):
        return None
    for session in sessions if isinstance(sessions, list) else ():
        kernel = session.get("kernel") if isinstance(session, dict) else None
        if isinstance(kernel, dict) and kernel.get("id") == kernel_id:
            name = str(session.get("path", "")).partition(":")[2] or str(session.get("path", ""))
            real = os.path.realpath(os.path.join(server.root, name.lstrip("/")))
            return real if os.path.isfile(real) and Path(real).is_relative_to(os.path.realpath(server.root)) else None
    return None
