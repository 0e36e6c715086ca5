"""Where the magic is asked: the notebook of this kernel, and the way to whoever holds it open."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from jupyter_agent.errors import AgentError, NotebookRefused, UsageError
from jupyter_agent.magic.restarts import connection_file
from jupyter_agent.notebook.bridge import Bridge

_KERNEL_ID = re.compile(r"kernel-(?P<id>[0-9a-f-]{36})\.json$")


@dataclass(frozen=True)
class Place:
    """`notebook` is an absolute path, on the server's machine where there is a `bridge` to that server."""

    notebook: Path | None = None
    bridge: Bridge | None = None


async def find_place(shell: Any, connected: Bridge | None) -> Place:
    """Through the bridge, where the person connected one or the server left one: it knows of renames.

    Else the server is looked for by the kernel's id; else what it (`JPY_SESSION_NAME`) or VS Code left is taken. Raises
    NotebookRefused where the connected server no longer answers for this kernel.
    """
    if connected is not None:
        return Place(Path(await connected.path()), connected)
    kernel_id = _kernel_id()
    left = Bridge.from_environment(os.environ, kernel_id) if kernel_id is not None else None
    if left is not None:
        try:
            return Place(Path(await left.path()), left)
        except NotebookRefused:
            # Inherited by a kernel that the server does not know: one started in its terminal, say.
            pass
    return Place(await _own_file(shell, kernel_id))


async def _own_file(shell: Any, kernel_id: str | None) -> Path | None:
    if kernel_id is not None:
        from jupyter_agent.notebook.servers import notebook_of_kernel

        found = await notebook_of_kernel(kernel_id)
        if found is not None:
            return Path(found)
    for named in (os.environ.get("JPY_SESSION_NAME"), shell.user_ns.get("__vsc_ipynb_file__")):
        if isinstance(named, str) and named.endswith(".ipynb") and Path(named).is_file():
            return Path(named).resolve()
    return None


async def connect(address: str, token: str) -> Place:
    """The place of this kernel on the server at `address` (its token may be part of it, as in the browser).

    Raises UsageError, and NotebookRefused with the server's reason.
    """
    parts = urlsplit(address if "//" in address else f"http://{address}")
    token = token or parse_qs(parts.query).get("token", [""])[0]
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{address!r} is no address of a Jupyter server. Copy it from the browser: http://host:8888/")
    if not token:
        raise UsageError("The server's token is needed: %agent connect URL TOKEN. `jupyter server list` shows it.")
    kernel_id = _kernel_id()
    if kernel_id is None:
        raise UsageError("This shell is no kernel of a Jupyter server, so there is no notebook to connect to.")
    base = _BROWSER_PART.sub("/", parts.path or "/")
    bridge = Bridge(urlunsplit((parts.scheme, parts.netloc, base, "", "")), kernel_id, token=token)
    try:
        return Place(Path(await bridge.path()), bridge)
    except NotebookRefused as refused:
        raise AgentError(
            f"{bridge.url} was asked for this kernel's notebook and declined: {refused.message} Is it the server that "
            "started this kernel, with jupyter_agent installed, and is the token right?",
            kind="not_connected",
        ) from None


_BROWSER_PART = re.compile(r"/(lab|tree|notebooks|doc|edit)(/.*)?$")
"""What the browser's address adds to the server's own."""


def _kernel_id() -> str | None:
    match = _KERNEL_ID.search(connection_file() or "")
    return match["id"] if match else None


def started_by_server() -> bool:
    """Whether some server or editor started this kernel and so may hold its notebook open."""
    return "JPY_SESSION_NAME" in os.environ or _kernel_id() is not None or "VSCODE_PID" in os.environ
