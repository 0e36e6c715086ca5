"""A notebook's kernel on this server: found through the server's sessions, run through its kernel manager.

Local, gateway and remote kernels alike. Kernels are the server's and the person's: never ended by us.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel import ClientKernel, Execution, KernelState, Link
from jupyter_agent.kernel.launch import kernel_name
from jupyter_agent.kernel.protocol import KernelStatus, RunOptions
from jupyter_agent.kernel.proxy import KernelProxy
from jupyter_agent.server.gateway import behind_gateway, is_gateway
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.page_run import PageRun
from jupyter_agent.server.pages import Pages
from jupyter_agent.server.threads import ServerLoop


class ServerKernels:
    """What of the server's kernel and session managers we use, each call on the server's loop."""

    def __init__(self, server: ServerLoop, kernels: Any, sessions: Any) -> None:
        self._server, self._kernels, self._sessions = server, kernels, sessions

    async def find(self, name: str) -> str | None:
        """The id of the kernel in the session of the notebook `name`, None where none runs."""

        async def find() -> str | None:
            for session in await self._sessions.list_sessions():
                # A shared document's path carries its drive: "RTC:folder/name.ipynb".
                paths = {session.get("path"), str(session.get("path", "")).partition(":")[2]}
                kernel = session.get("kernel")
                if name in paths and kernel:
                    return str(kernel["id"])
            return None

        return await self._server.run(find)

    async def notebook_of(self, kernel_id: str) -> str | None:
        """The notebook whose session has this kernel now, by the contents manager's path without a drive."""

        async def find() -> str | None:
            for session in await self._sessions.list_sessions():
                if (session.get("kernel") or {}).get("id") == kernel_id:
                    path = str(session.get("path", ""))
                    return path.partition(":")[2] or path
            return None

        return await self._server.run(find)

    async def start(self, name: str, kernel: str) -> str:
        """Start a kernel in a session for the notebook; its id. Raises KernelError("start_failed")."""

        async def start() -> str:
            session = await self._sessions.create_session(
                path=name, name=name.rsplit("/", 1)[-1], type="notebook", kernel_name=kernel
            )
            return str(session["kernel"]["id"])

        try:
            return await self._server.run(start)
        except Exception as error:
            raise KernelError(f"The kernel {kernel!r} could not be started: {error}", kind="start_failed") from error

    async def link(self, kernel_id: str) -> Link:
        """How the client backend reaches the kernel. Raises KernelError("dead") when it is gone."""

        async def manager() -> Any:
            return self._kernels.get_kernel(kernel_id)

        async def alive() -> bool:
            return kernel_id in self._kernels and bool(await _awaited(self._kernels.is_alive(kernel_id)))

        async def interrupt() -> None:
            await _awaited(self._kernels.interrupt_kernel(kernel_id))

        async def restart() -> None:
            await _awaited(self._kernels.restart_kernel(kernel_id))

        try:
            found = await self._server.run(manager)
        except Exception as error:
            raise KernelError("The notebook's kernel has ended. Start it again, then repeat.", kind="dead") from error

        link = Link(
            name=str(getattr(found, "kernel_name", "") or "kernel"),
            ours=False,
            client=lambda: _client(found),
            alive=lambda: self._server.run(alive),
            interrupt=lambda: self._server.run(interrupt),
            restart=lambda: self._server.run(restart),
        )
        return behind_gateway(link, kernel_id) if is_gateway(found) else link


async def _awaited(value: Any) -> Any:
    """Kernel managers answer some calls at once and some by an awaitable, depending on their kind."""
    return await value if asyncio.iscoroutine(value) or isinstance(value, asyncio.Future) else value


def _client(manager: Any) -> Any:
    """A client with a Session of its own (fault f36), whose sockets belong to the caller's loop."""
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.session import Session

    session = manager.session
    made = AsyncKernelClient(session=Session(key=session.key, signature_scheme=session.signature_scheme))
    info = {
        key: value for key, value in manager.get_connection_info().items() if key not in ("key", "signature_scheme")
    }
    made.load_connection_info(info)
    return made


class ServedKernel(KernelProxy):
    """The `Kernel` protocol for one notebook; the person may restart or change its kernel at any time.

    Cells run through the page that has `notebook` open, if there is one; code and cells without a page through a client
    of our own.
    """

    def __init__(
        self,
        kernels: ServerKernels,
        name: str,
        metadata: Mapping[str, Any],
        spill: Path | None,
        pages: Pages | None = None,
        notebook: ServedNotebook | None = None,
    ) -> None:
        self._kernels, self._name, self._spill = kernels, name, spill
        self._pages, self._notebook = pages, notebook
        self._kernel_name = kernel_name(metadata)
        self._language = str((metadata.get("language_info") or {}).get("name") or "python").lower()
        self._client: ClientKernel | None = None
        self._id: str | None = None
        self._lock = asyncio.Lock()

    @property
    def language(self) -> str:
        return self._client.language if self._client is not None else self._language

    async def state(self) -> KernelState:
        client = await self._connected()
        if client is not None:
            return await client.state()
        status: KernelStatus = "none"
        return KernelState(status, self._kernel_name, self._language, ours=False)

    async def run(self, code: str, **options: Unpack[RunOptions]) -> Execution:
        client = await self.start()
        cell, on_output = options.get("cell"), options.get("on_output")
        if cell is None or self._pages is None or self._notebook is None or self._id is None:
            return await client.run(code, **options)
        through = PageRun(self._pages, self._notebook, cell, self._id)
        if on_output is not None:
            options["on_output"] = through.sink(on_output)
        return await client.run(code, sender=through.send, **options)

    async def start(self) -> ClientKernel:
        client = await self._connected()
        if client is not None:
            return client
        await self._kernels.start(self._name, self._kernel_name)
        return await self.running()

    async def restart(self) -> None:
        client = await self._connected()
        if client is None:
            await self.start()
        else:
            await client.restart()

    async def shutdown(self) -> None:
        """Let go of the kernel; it goes on."""
        async with self._lock:
            await self._drop()

    async def running(self) -> ClientKernel:
        client = await self._connected()
        if client is None:
            raise KernelError(
                "No kernel runs for this notebook yet. Run a cell, or start the kernel (control_kernel 'start').",
                kind="none",
            )
        return client

    async def _connected(self) -> ClientKernel | None:
        """A client of the kernel that the notebook's session has now; None where there is no kernel."""
        async with self._lock:
            kernel_id = await self._kernels.find(self._name)
            if kernel_id != self._id or (self._client is not None and await _is_dead(self._client)):
                await self._drop()
            if kernel_id is not None and self._client is None:
                self._client = await ClientKernel.open(await self._kernels.link(kernel_id), spill=self._spill)
                self._id = kernel_id
            return self._client

    async def _drop(self) -> None:
        client, self._client, self._id = self._client, None, None
        if client is not None:
            with contextlib.suppress(KernelError):
                await client.shutdown()


async def _is_dead(client: ClientKernel) -> bool:
    return (await client.state()).status == "dead"
