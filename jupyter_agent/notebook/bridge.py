"""From a kernel to its own notebook, through the Jupyter server that started it: so `%agent` edits live cells.

The server leaves its address and a secret of its own in the environment that its kernels inherit. Standard library
only; talks to that one server and follows no redirect.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from jupyter_agent.effect import Effect
from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.address import HEADER, SECRET, URL
from jupyter_agent.notebook.change import changed_by_others, edit_effect
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Operation, Output
from jupyter_agent.notebook.limits import cap_outputs
from jupyter_agent.notebook.remote import RemoteDocument
from jupyter_agent.notebook.transaction import apply

Json = dict[str, Any]
TIMEOUT = 30.0
POLL = 0.5
"""Seconds between looks at the document by `watch`."""


@dataclass(frozen=True)
class Bridge:
    """The way to the server. `kernel` is the kernel's id there; `token` replaces the secret for a server that did not
    start this kernel (`%agent connect`)."""

    url: str
    kernel: str
    secret: str = ""
    token: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], kernel: str) -> Bridge | None:
        """The bridge that the server left, None where there is none."""
        url, secret = environment.get(URL), environment.get(SECRET)
        return cls(url, kernel, secret) if url and secret else None

    async def ask(self, action: str, fields: Json) -> Json:
        """Raises NotebookRefused with the server's sentence, or when the server cannot be reached."""
        return await asyncio.to_thread(self._post, {"kernel": self.kernel, "action": action, **fields})

    async def path(self) -> str:
        """The absolute path of the kernel's notebook, as the server knows it now."""
        return str((await self.ask("path", {}))["path"])

    def _post(self, body: Json) -> Json:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "127.0.0.1", parts.port
        headers = {"Content-Type": "application/json", HEADER: self.secret}
        if self.token:
            headers = {"Content-Type": "application/json", "Authorization": f"token {self.token}"}
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=_context(host))
        else:
            connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        try:
            connection.request("POST", f"{parts.path.rstrip('/')}/jupyter-agent/bridge", json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read() or b"{}")
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NotebookRefused(
                "open_elsewhere", f"The Jupyter server of this kernel cannot be reached ({error}). Is it still running?"
            ) from None
        finally:
            connection.close()
        if response.status != 200:
            text = str(answer.get("message") or f"The Jupyter server answered with status {response.status}.")
            raise NotebookRefused(str(answer.get("kind") or "op"), text, content=str(answer.get("content") or ""))
        return dict(answer)


def _context(host: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if host in ("127.0.0.1", "::1", "localhost"):
        # Certificates of local servers name the host, and are often self-signed.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class BridgedNotebook:
    """The `Notebook` protocol over a bridge; whoever owns the document on the server does the work."""

    def __init__(self, bridge: Bridge, path: str) -> None:
        self._document = RemoteDocument(bridge.ask, path)
        self._path = path

    @property
    def path(self) -> str:
        return self._path

    @property
    def backend(self) -> Literal["lab"]:
        return "lab"

    async def cells(self) -> tuple[Cell, ...]:
        return await self._document.cells()

    async def metadata(self) -> Mapping[str, Any]:
        return await self._document.current_metadata()

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        cells = await self.cells()
        language = str(self._document.metadata.get("kernelspec", {}).get("language", "python"))
        transaction = apply(cells, operations, language=language)
        return edit_effect(transaction, target=self._path, read=self.cells, rewrite=self._document.rewrite)

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        try:
            await self._document.set_outputs(cell, cap_outputs(outputs), execution_count, timing)
        except NotebookRefused as refused:
            if refused.kind != "unknown_cell":
                raise

    def watch(self) -> AsyncIterator[CellsChanged]:
        return self._watch()

    async def save(self) -> None:
        await self._document.save()

    async def close(self) -> None:
        """Nothing is held here."""

    async def _watch(self) -> AsyncIterator[CellsChanged]:
        before = await self.cells()
        while True:
            await asyncio.sleep(POLL)
            now = await self.cells()
            changed = changed_by_others(before, now)
            before = now
            if changed:
                yield CellsChanged(changed)
