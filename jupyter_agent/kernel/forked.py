"""Runs code in a forked copy of this very process and gives back what it shows; the process itself stays as it is.

Sent to kernels as text with `forked_copy.py`, the half that runs in the copy, since a kernel's environment lacks this
package: standard library only, Python 3.9 and later. Linux only.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import json
import os
import re
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jupyter_agent.kernel.forked_copy import become_copy

Send = Callable[[str, "dict[str, Any]"], None]

THREAD_POOLS = {
    "polars": "polars",
    "jaxlib": "JAX",
    "tensorflow": "TensorFlow",
    "duckdb": "DuckDB",
    "ray": "Ray",
    "cupy": "CuPy",
    "cudf": "cuDF",
    "pycuda": "PyCUDA",
    "grpc": "gRPC",
}
"""Libraries whose threads do not come along into a copy, which then waits for them for ever."""

CONNECTED = frozenset(
    {
        *("socket", "sqlite3", "ssl", "psycopg", "psycopg2", "pymysql", "MySQLdb", "oracledb", "asyncpg", "aiosqlite"),
        *("sqlalchemy", "pymongo", "redis", "zmq", "paramiko", "websocket", "websockets"),
        *("multiprocessing", "concurrent", "subprocess", "distributed"),
    }
)
CONNECTIONS = re.compile(
    "(connection|cursor|session|engine|pool|executor|client|socket|redis|popen|process|channel)$", re.IGNORECASE
)
"""Modules, and names of their classes, of objects that hold a connection, a file lock or a process of the kernel's."""

DEVICES = ("/dev/nvidia", "/dev/kfd")
POLL = 0.05
GRACE = 0.3
"""Seconds that output of the copy's own programs gets to arrive once the copy has ended."""
READ = 1 << 16


# ----------------------------------------------------------------------------------------------- what speaks against it


def objection(code: str, namespace: Mapping[str, Any], modules: Mapping[str, Any], links: Iterable[str]) -> str:
    """Why this process cannot be copied for this code, as a sentence; `""` when it can.

    `links` are what the process's descriptors lead to.
    """
    if not sys.platform.startswith("linux") or not hasattr(os, "fork"):
        return "a copy of a running kernel can be made on Linux only"
    for module, name in THREAD_POOLS.items():
        if modules.get(module) is not None:
            return f"{name} is loaded in this kernel, and its threads would hang in a copy"
    torch = modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    initialised = getattr(cuda, "is_initialized", None)
    if any(link.startswith(DEVICES) for link in links) or (callable(initialised) and initialised()):
        return "this kernel uses a GPU, which a copy cannot share"
    for name in _names(code):
        kind = type(namespace.get(name))
        if kind.__module__.split(".")[0] in CONNECTED and CONNECTIONS.search(kind.__name__):
            return (
                f"{name} is a {kind.__module__}.{kind.__name__}: a copy would talk over the kernel's own connection. "
                "Open one inside the code instead"
            )
    return ""


def _names(code: str) -> list[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        # Magics and the like: every word may be a name.
        return sorted(set("".join(c if c.isalnum() or c == "_" else " " for c in code).split()))
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})


def descriptors() -> dict[int, str]:
    """This process's open descriptors and what they lead to."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


# --------------------------------------------------------------------------------------------------------- the process


class Copy:
    """A forked copy that runs `code`. `relay` passes on what it shows and waits for its end; both in one process.

    The fork happens here; in the copy the constructor never returns. `memory`: bytes that the copy may allocate beyond
    what the process has.
    """

    def __init__(self, shell: Any, code: str, seconds: float, memory: int) -> None:
        pipes = [os.pipe() for _ in range(3)]
        self._readers = [reader for reader, _ in pipes]
        parent = os.getpid()
        random: Any = sys.modules.get("random")
        state = random.getstate() if random is not None else None
        with warnings.catch_warnings():
            # Python 3.12 warns of forks of processes with threads: known, and what this module is about.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            become_copy(state, shell, code, seconds, memory, parent, [writer for _, writer in pipes])
        for _, writer in pipes:
            os.close(writer)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        self._status: int | None = None

    def relay(self, seconds: float, send: Send, stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Pass on outputs until the copy ends, `seconds` are over or `stopped()`; then everything of it is ended.

        Returns {status: ok | error | timeout | interrupted | dead | refused, reason}.
        """
        inbox = _Inbox(self._readers, send)
        deadline = time.monotonic() + seconds
        status = ""
        try:
            while inbox.end is None and not self._ended():
                if time.monotonic() > deadline:
                    status = "timeout"
                    break
                if stopped():
                    status = "interrupted"
                    break
                inbox.take(min(POLL, max(deadline - time.monotonic(), 0.0)))
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            # The copy waits for this, so that what it started is still known to be its own.
            self.kill()
            self._reap(wait=inbox.end is None)
        inbox.drain()
        if status:
            return {"status": status, "reason": ""}
        return inbox.end or {"status": "dead", "reason": self._death()}

    def _ended(self) -> bool:
        if self._status is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid == 0:
                    return False
                self._status = status
        return True

    def kill(self) -> None:
        """End the copy and everything that it started."""
        for pid in [*_descendants(self.pid), *([] if self._status is not None else [self.pid])]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def _reap(self, *, wait: bool) -> None:
        """Tearing down a gigabyte takes the system a while: where the verdict is known, a thread waits for that."""
        if self._status is not None:
            return
        if wait:
            with contextlib.suppress(ChildProcessError):
                self._status = os.waitpid(self.pid, 0)[1]
        else:
            threading.Thread(target=_wait_for, args=(self.pid,), daemon=True).start()

    def _death(self) -> str:
        status = self._status
        if status is not None and os.WIFSIGNALED(status):
            return f"the copy was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return "the copy ended by itself (os._exit, or a crash)"


def _wait_for(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


class _Inbox:
    """Reads the copy's three pipes: messages, and what it or its programs write to descriptors 1 and 2."""

    def __init__(self, readers: list[int], send: Send) -> None:
        self._send = send
        self._decoders: dict[int, Any] = {}
        self._messages = readers[0]
        self._rest = b""
        self._text: tuple[str, list[str]] = ("", [])
        self.end: dict[str, Any] | None = None
        self._poll = select.poll()
        self._open = set(readers)
        for reader in readers:
            os.set_blocking(reader, False)
            self._poll.register(reader, select.POLLIN)
        for reader, name in ((readers[1], "stdout"), (readers[2], "stderr")):
            self._decoders[reader] = (name, codecs.getincrementaldecoder("utf-8")("replace"))

    def take(self, seconds: float) -> bool:
        """Wait at most `seconds` for something and pass it on. False when there was nothing."""
        if not self._open:
            time.sleep(min(seconds, 0.005))
            return False
        found = self._poll.poll(int(seconds * 1000))
        for reader, _ in found:
            self._read(reader)
        self._flush()
        return bool(found)

    def drain(self) -> None:
        """What was written before the end; a program that outlived it may not hold us up."""
        until = time.monotonic() + GRACE
        while self._open and self.take(0.0) and time.monotonic() < until:
            pass
        for reader in list(self._open):
            self._close(reader)
        self._flush()

    def _read(self, reader: int) -> None:
        try:
            data = os.read(reader, READ)
        except BlockingIOError:
            return
        if not data:
            self._close(reader)
        elif reader in self._decoders:
            name, decoder = self._decoders[reader]
            self._stream(name, decoder.decode(data))
        else:
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._message(json.loads(line))

    def _message(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "end":
            self.end = {"status": message["status"], "reason": message["reason"]}
        elif kind == "stream":
            self._stream(message["content"]["name"], message["content"]["text"])
        else:
            self._flush()
            self._send(kind, message["content"])

    def _stream(self, name: str, text: str) -> None:
        if self._text[0] != name:
            self._flush()
            self._text = (name, [])
        self._text[1].append(text)

    def _flush(self) -> None:
        """Neighbouring pieces of one stream go on as one message."""
        name, pieces = self._text
        self._text = ("", [])
        if text := "".join(pieces):
            self._send("stream", {"name": name, "text": text})

    def _close(self, reader: int) -> None:
        self._poll.unregister(reader)
        self._open.discard(reader)
        os.close(reader)


def _descendants(pid: int) -> list[int]:
    """Processes that `pid` started and theirs, as far as they are still its own."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *_descendants(child)]
    return found


# ------------------------------------------------------------------------------------------------- inside a kernel


def scratch(shell: Any, code: str, seconds: float, memory: int) -> str:
    """The whole, inside a kernel: outputs are published as those of the request that is being handled. JSON as `relay`
    returns it, with `count`, the number by which tracebacks call the code."""
    reason = objection(
        code, shell.user_ns, sys.modules, descriptors().values() if os.path.isdir("/proc/self/fd") else ()
    )
    session: Any = getattr(getattr(shell, "kernel", None), "session", None)
    publisher = shell.display_pub
    if session is None or not hasattr(publisher, "pub_socket"):
        reason = "this kernel is not ipykernel"
    if reason:
        return json.dumps({"status": "refused", "reason": reason, "count": None})
    parent = shell.get_parent()

    def send(kind: str, content: dict[str, Any]) -> None:
        session.send(publisher.pub_socket, kind, content, parent=parent, ident=kind.encode())

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ended = Copy(shell, code, seconds, memory).relay(seconds, send)
    return json.dumps({**ended, "count": shell.execution_count})
