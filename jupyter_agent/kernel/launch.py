"""Starting and finding kernels: a `Link` is all the client backend needs of whoever manages a kernel.

Touches processes: starts kernels, keeps a registry of those, and ends exactly those when this program ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from jupyter_agent.errors import KernelError

WITHHELD = ("ANTHROPIC_", "JUPYTER_AGENT_")
"""Prefixes of environment variables that a kernel of ours does not inherit: the model's keys, our server's secret."""

DEFAULT_KERNEL = "python3"


@dataclass(frozen=True)
class Link:
    """A kernel, as the client backend reaches it.

    `client` gives a new jupyter_client client with a Session id of its own, channels not started. `alive` is polled;
    None when only the kernel itself can say. `interrupt` None: by message on the control channel. `restart` and
    `shutdown` are None where the kernel is not ours to restart or end. `log` is the end of what the process wrote.
    `listens` asks whether anything is behind the kernel's ports; None where `alive` knows better.
    """

    name: str
    ours: bool
    client: Callable[[], Any]
    alive: Callable[[], Awaitable[bool]] | None = None
    interrupt: Callable[[], Awaitable[None]] | None = None
    restart: Callable[[], Awaitable[None]] | None = None
    shutdown: Callable[[], Awaitable[None]] | None = None
    log: Callable[[], str] = lambda: ""
    listens: Callable[[], Awaitable[bool]] | None = None


def kernel_name(metadata: Mapping[str, Any]) -> str:
    """The kernel a notebook names in its metadata, `python3` when it names none."""
    spec = metadata.get("kernelspec")
    name = spec.get("name") if isinstance(spec, Mapping) else None
    return name if isinstance(name, str) and name else DEFAULT_KERNEL


def kernel_environment(base: Mapping[str, str], notebook: str | None) -> dict[str, str]:
    """The person's environment for a kernel of theirs, without our keys; the notebook named as Jupyter names it."""
    environment = {name: value for name, value in base.items() if not name.startswith(WITHHELD)}
    environment.pop("JPY_SESSION_NAME", None)
    if notebook is not None:
        environment["JPY_SESSION_NAME"] = notebook
    return environment


def find_kernelspec(name: str) -> Any:
    """The installed kernelspec. Raises KernelError("no_kernelspec") naming those that are there."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    try:
        return manager.get_kernel_spec(name)
    except (NoSuchKernel, ValueError):
        known = ", ".join(sorted(manager.find_kernel_specs())) or "none"
        raise KernelError(
            f"No kernel named {name!r} is installed here. Installed: {known}. "
            "Choose one of these for the notebook, or install the missing kernel.",
            kind="no_kernelspec",
        ) from None


async def start_own(
    name: str,
    *,
    cwd: Path | None = None,
    notebook: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Link:
    """Start a kernel that ends with this program.

    `cwd` is the notebook's folder, `notebook` its absolute path; `environment` is added to this program's own. Raises
    KernelError (no_kernelspec, start_failed).
    """
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_client.session import Session

    find_kernelspec(name)
    manager = AsyncKernelManager(kernel_name=name)
    manager.shutdown_wait_time = 2.0
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the kernel
    try:
        await manager.start_kernel(
            cwd=str(cwd) if cwd is not None else None,
            env={**kernel_environment(os.environ, notebook), **(environment or {})},
            stdout=output,
            stderr=output,
        )
    except Exception as error:
        output.close()
        with contextlib.suppress(Exception):
            await manager.cleanup_resources()
        raise KernelError(f"The kernel {name!r} could not be started: {error}", kind="start_failed") from error
    started = _Started(manager, output)
    _STARTED.add(started)

    def client() -> Any:
        scheme, key = manager.session.signature_scheme, manager.session.key
        return manager.client(session=Session(key=key, signature_scheme=scheme))

    async def restart() -> None:
        await manager.restart_kernel()
        started.remember()

    return Link(
        name=name,
        ours=True,
        client=client,
        alive=manager.is_alive,
        interrupt=manager.interrupt_kernel,
        restart=restart,
        shutdown=started.shutdown,
        log=started.log,
    )


def connect_to(connection_file: str | Path) -> Link:
    """A kernel that somebody else started, by its connection file. Raises KernelError when there is no such file."""
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.connect import find_connection_file

    try:
        path = find_connection_file(str(connection_file))
    except OSError:
        raise KernelError(
            f"There is no kernel connection file {connection_file}. The kernel may have ended; "
            "`jupyter --runtime-dir` names the folder in which running kernels leave theirs.",
            kind="dead",
        ) from None

    def client() -> Any:
        made = AsyncKernelClient(connection_file=path)
        try:
            made.load_connection_file()
        except (OSError, ValueError) as error:
            raise KernelError(f"{path} is not a kernel connection file: {error}", kind="dead") from None
        return made

    content = _content_of(path)

    async def listens() -> bool:
        return await _listens(content)

    name = content.get("kernel_name")
    return Link(name if isinstance(name, str) else "", ours=False, client=client, listens=listens)


def _content_of(path: str) -> Mapping[str, Any]:
    import json

    try:
        content = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


async def _listens(content: Mapping[str, Any]) -> bool:
    """Whether the shell's port takes connections; true wherever that is not known for sure."""
    host, port = content.get("ip"), content.get("shell_port")
    if content.get("transport", "tcp") != "tcp" or not isinstance(host, str) or not isinstance(port, int):
        return True
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 1.0)
    except ConnectionRefusedError:
        return False
    except (OSError, TimeoutError):
        return True
    writer.close()
    return True


# ------------------------------------------------------------------------------------------- kernels we started


class _Started:
    """A kernel process of ours: what is needed to end it, also without an event loop."""

    def __init__(self, manager: Any, output: BinaryIO) -> None:
        self._manager, self._output = manager, output
        self.starter = os.getpid()
        self.remember()

    def remember(self) -> None:
        provisioner = self._manager.provisioner
        self.pid: int | None = getattr(provisioner, "pid", None)
        self._process: Any = getattr(provisioner, "process", None)

    def log(self) -> str:
        """The last 2,000 bytes of what the process wrote outside its cells."""
        if self._output.closed:
            return ""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()

    async def shutdown(self) -> None:
        _STARTED.discard(self)
        await self._manager.shutdown_kernel()
        self._output.close()

    def end(self) -> None:
        """End the process and its group, politely for a second, then not; for the end of this program."""
        _STARTED.discard(self)
        with contextlib.suppress(Exception):
            self._manager.cleanup_connection_file()
        process = self._process
        if process is not None and process.poll() is None:
            for sign in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
                _signal_group(process.pid, sign)
                deadline = time.monotonic() + 1.0
                while process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
        self._output.close()


def _signal_group(pid: int, sign: int) -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(pid, sign)
        else:
            os.kill(pid, sign)


_STARTED: set[_Started] = set()


def started_pids() -> list[int]:
    """Process ids of the kernels that this program started and that it will end."""
    return sorted(started.pid for started in _STARTED if started.pid is not None)


@atexit.register
def end_started() -> None:
    """End every kernel of ours that is still there; also called by surfaces that end without the interpreter's exit."""
    for started in list(_STARTED):
        # A forked child of ours inherits this list but not the right to act on it.
        if started.starter == os.getpid():
            started.end()
