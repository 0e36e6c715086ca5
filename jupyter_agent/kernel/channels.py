"""The channels of one kernel client: sending, routing of replies, readiness, liveness.

Owns the sockets and the tasks that read them; knows nothing of executions.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.launch import Link

Message = dict[str, Any]
_LOG = logging.getLogger("jupyter_agent.kernel")

BURST = 200
"""Messages taken from a socket before other tasks of the loop get their turn."""

REFUSED = 5.0
"""Seconds in which nothing may listen at the ports of a connection file: a kernel that starts opens them late."""

FIRST_START = 2.0
"""Seconds after connecting in which a `starting` of a kernel without a visible process is its first one."""

REVIVED_WITHIN = 8.0
"""Seconds in which a server starts a kernel again that has died."""

IDLE_AFTER_REPLY = 2.0
"""Seconds after a reply in which everything that was printed before it arrives."""

HEARTBEATS_LOST = 4.0
"""Seconds without a heartbeat after which a kernel whose process we cannot see counts as dead."""


class Channels:
    """iopub, shell and control of one kernel, read by one task each.

    `on_iopub` and `on_reply` get every message of iopub and every shell reply; `on_restarted` is called when the
    kernel says that it starts although it had started; `on_input` gets requests for input, which no kernel should send
    to a client that allows none, but R's does.
    """

    def __init__(
        self,
        link: Link,
        on_iopub: Callable[[Message], None],
        on_reply: Callable[[Message], None],
        on_restarted: Callable[[], None],
        on_input: Callable[[Message], None],
    ) -> None:
        self._link = link
        self._on_iopub, self._on_reply, self._on_restarted = on_iopub, on_reply, on_restarted
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self._collected: dict[str, list[Message]] = {}
        self._iopub_seen = asyncio.Event()
        self._opened_at = 0.0
        self.last_iopub = 0.0
        self._process: _Process | None = None
        self._search: asyncio.Task[None] | None = None
        self._silent_since: float | None = None
        self._client = link.client()
        _keep_every_message(self._client)
        self._client.start_channels(hb=link.alive is None)
        routes = {
            "iopub": (self._client.iopub_channel, self._route_iopub),
            "shell": (self._client.shell_channel, self._route_reply),
            "control": (self._client.control_channel, self._route_control),
            "stdin": (self._client.stdin_channel, on_input),
        }
        self._bursts = {name: (_burst_reader(channel), route) for name, (channel, route) in routes.items()}
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read(name, channel, route)) for name, (channel, route) in routes.items()]

    @property
    def session_id(self) -> str:
        return str(self._client.session.session)

    # ------------------------------------------------------------------------------------------- opening

    async def open(self, timeout: float) -> dict[str, Any]:
        """The kernel_info reply, once requests are answered and iopub is known to reach us."""
        began = time.monotonic()
        # The main shell may be busy for hours; a kernel with a control thread answers there meanwhile.
        asked = [self.ask("kernel_info_request", {}), self.ask("kernel_info_request", {}, channel="control")]
        while True:
            await asyncio.wait(asked, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            answered = [future for future in asked if future.done()]
            if answered and self._iopub_seen.is_set():
                break
            if answered:
                # Our subscription came too late for the statuses of these requests: provoke new ones. Kernels without a
                # control thread (R's) have none for control, and a busy one answers nowhere else.
                asked.append(self.ask("kernel_info_request", {}, channel="control"))
                if asked[0].done():
                    asked.append(self.ask("kernel_info_request", {}))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._iopub_seen.wait(), 0.2)
            await self._check_opening(began, timeout)
        if self._link.alive is None:
            await self._find_process()
        self._opened_at = time.monotonic()
        return dict(answered[0].result()["content"])

    async def _check_opening(self, began: float, timeout: float) -> None:
        waited = time.monotonic() - began
        # A server's restarter looks for dead kernels every 3 s, and starts them again.
        revived = not self._link.ours and waited < REVIVED_WITHIN
        if self._link.alive is not None and not revived and not await self._link.alive():
            log = self._link.log()
            raise KernelError(
                f"The kernel {self._link.name!r} ended while it started."
                + (f" Its last words:\n{log}" if log else " It said nothing; try its command in a terminal."),
                kind="start_failed",
            )
        if waited > REFUSED and self._link.listens is not None and not await self._link.listens():
            raise KernelError(
                "The kernel of this connection file has ended: nothing listens at its ports. Start it again where it "
                "was started, and give the new connection file.",
                kind="dead",
            )
        if waited > timeout:
            raise KernelError(
                f"The kernel did not answer within {timeout:g} s. If it is there, it may be busy in compiled code: "
                "wait for it or interrupt it where it was started.",
                kind="start_failed" if self._link.ours else "timeout",
            )

    async def _find_process(self) -> None:
        """Learn the kernel's process, if it is on this machine: seeing it beats heartbeats."""
        with contextlib.suppress(TimeoutError, KernelError):
            reply = await self.request("usage_request", {}, timeout=1.0, channel="control")
            pid, host = reply["content"].get("pid"), reply["content"].get("hostname")
            if isinstance(pid, int) and host == socket.gethostname():
                self._process = _Process.find(pid)

    # ------------------------------------------------------------------------------------------- sending

    def send(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        channel: str = "shell",
        metadata: Mapping[str, Any] | None = None,
        subshell: str | None = None,
    ) -> str:
        """Send without waiting; the message id."""
        message = self._client.session.msg(kind, dict(content), metadata=dict(metadata or {}))
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        (self._client.control_channel if channel == "control" else self._client.shell_channel).send(message)
        # Sending may swallow ZeroMQ's one signal that a message has arrived: look, or the reader sleeps on for ever.
        asyncio.get_running_loop().call_soon(self._drain, channel)
        return str(message["header"]["msg_id"])

    def ask(self, kind: str, content: Mapping[str, Any], **options: Any) -> asyncio.Future[Message]:
        """Send; the future of the reply."""
        message_id = self.send(kind, content, **options)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[message_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(message_id, None))
        return future

    async def request(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        timeout: float,
        channel: str = "shell",
        subshell: str | None = None,
        collect: bool = False,
    ) -> Message:
        """Send and await the reply; with `collect` it carries the request's iopub messages as `iopub`.

        Raises TimeoutError.
        """
        future = self.ask(kind, content, channel=channel, subshell=subshell)
        message_id = next(key for key, value in self._waiting.items() if value is future)
        if collect:
            self._collected[message_id] = []
        try:
            reply = await asyncio.wait_for(future, timeout)
            if collect:
                await self._collected_all(message_id)
        finally:
            collected = self._collected.pop(message_id, [])
        return {**reply, "iopub": collected}

    async def _collected_all(self, message_id: str) -> None:
        """Printed text may come after the reply: its end is the request's own `idle`, unless that was lost."""
        deadline = time.monotonic() + IDLE_AFTER_REPLY
        while time.monotonic() < deadline:
            states = (message["content"].get("execution_state") for message in self._collected[message_id])
            if "idle" in states:
                return
            await asyncio.sleep(0.005)

    async def create_subshell(self, timeout: float) -> str:
        """A shell beside the main one (ipykernel 7), for looking at variables while a cell runs."""
        try:
            reply = await self.request("create_subshell_request", {}, timeout=timeout, channel="control")
            return str(reply["content"]["subshell_id"])
        except (TimeoutError, KeyError):
            raise KernelError(
                "The kernel is busy and did not open a second shell to look into it.", kind="busy"
            ) from None

    def delete_subshell(self, subshell: str) -> None:
        self.send("delete_subshell_request", {"subshell_id": subshell}, channel="control")

    # ------------------------------------------------------------------------------------------- liveness

    async def alive(self) -> bool:
        """Whether the kernel is there: by its manager, its process, or else its heartbeat."""
        if self._link.alive is not None:
            return bool(await self._link.alive())
        if self._process is not None:
            if not self._process.alive() and (self._search is None or self._search.done()):
                # A server's restarter may have put a new process behind the same ports.
                self._search = asyncio.get_running_loop().create_task(self._find_process())
            return self._process.alive()
        if self._client.hb_channel.is_beating():
            self._silent_since = None
            return True
        self._silent_since = self._silent_since or time.monotonic()
        return time.monotonic() - self._silent_since < HEARTBEATS_LOST

    # ------------------------------------------------------------------------------------------- receiving

    async def _read(self, name: str, channel: Any, route: Callable[[Message], None]) -> None:
        while True:
            try:
                message = await channel.get_msg(timeout=None)
            except (ValueError, Empty):
                # Not signed with our key, or not a message at all; or `_drain` took it after it was announced.
                continue
            self._deliver(message, route)
            self._drain(name)
            await asyncio.sleep(0)

    def _drain(self, name: str) -> None:
        """Route what has arrived. A burst is taken in one go: a wake-up per message is too slow for a flood, and
        messages that a subscriber leaves lying are dropped by the kernel."""
        burst, route = self._bursts[name]
        taken = 0
        for taken, message in enumerate(burst(), 1):  # noqa: B007 - the count of the last one
            self._deliver(message, route)
        if taken >= BURST:
            asyncio.get_running_loop().call_soon(self._drain, name)

    def _deliver(self, message: Message, route: Callable[[Message], None]) -> None:
        """A message that is not as the protocol says must not end the reading of those that follow."""
        try:
            route(message)
        except (KeyError, TypeError, AttributeError, ValueError):
            _LOG.exception("a kernel message could not be handled")

    def _route_iopub(self, message: Message) -> None:
        self.last_iopub = time.monotonic()
        parent = message["parent_header"].get("msg_id")
        if parent:
            # What answers no request may be a server's or gateway's own word, and proves nothing of the kernel's iopub.
            self._iopub_seen.set()
        if parent in self._collected:
            self._collected[parent].append(message)
            return
        kind, state = message["header"]["msg_type"], message["content"].get("execution_state")
        if kind == "status" and state in ("starting", "restarting"):
            # A kernel of ours is restarted by nobody else.
            if self._opened_at and not self._link.ours:
                self._note_start(state)
            return
        self._on_iopub(message)

    def _route_reply(self, message: Message) -> None:
        if not self._resolve(message):
            self._on_reply(message)

    def _route_control(self, message: Message) -> None:
        self._resolve(message)

    def _resolve(self, message: Message) -> bool:
        future = self._waiting.get(message["parent_header"].get("msg_id", ""))
        if future is None or future.done():
            return False
        future.set_result(message)
        return True

    def _note_start(self, state: str) -> None:
        if state == "restarting":
            # A gateway's word about its restarter; the kernel's own `starting` may follow.
            self._opened_at = time.monotonic()
            self._on_restarted()
        else:
            self._search = asyncio.get_running_loop().create_task(self._judge_start())

    async def _judge_start(self) -> None:
        """The kernel said that it starts: again, or did we connect in the middle of its first start?"""
        before, self._process = self._process, None
        await self._find_process()
        if before is not None and self._process is not None:
            again = self._process != before
        else:
            again = time.monotonic() - self._opened_at > FIRST_START
        if again:
            self._on_restarted()

    def close(self) -> None:
        """Stop reading and close the sockets; unanswered requests are cancelled."""
        for task in [*self._tasks, *([self._search] if self._search else [])]:
            task.cancel()
        for future in list(self._waiting.values()):
            future.cancel()
        self._client.stop_channels()


def _keep_every_message(client: Any) -> None:
    """No limit on what waits in our sockets: beyond it the kernel would drop output, statuses included."""
    import zmq

    if isinstance(getattr(client, "context", None), zmq.Context):
        client.context.setsockopt(zmq.RCVHWM, 0)


def _burst_reader(channel: Any) -> Callable[[], Iterator[Message]]:
    """Reads what has already arrived on a ZeroMQ channel; nothing for channels of another kind (a gateway's)."""
    import zmq
    import zmq.asyncio

    if not isinstance(getattr(channel, "socket", None), zmq.asyncio.Socket):
        return lambda: iter(())
    waiting: Any = zmq.Socket.shadow(channel.socket.underlying)

    def read() -> Iterator[Message]:
        for _ in range(BURST):
            try:
                frames = waiting.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:
                return
            try:
                yield channel.session.deserialize(channel.session.feed_identities(frames)[1])
            except ValueError:
                continue

    return read


@dataclass(frozen=True)
class _Process:
    """A process on this machine, told apart from a later one with the same id by its start time."""

    pid: int
    started: str

    @classmethod
    def find(cls, pid: int) -> _Process | None:
        started = _start_time(pid)
        return cls(pid, started) if started is not None else None

    def alive(self) -> bool:
        return _start_time(self.pid) == self.started


def _start_time(pid: int) -> str | None:
    """A token of the process's start, or None when it is gone or a zombie that its parent has not reaped yet."""
    try:
        # The command in parentheses may hold blanks: fields are counted from the last one. proc(5): 3 state, 22 start.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _bare_existence(pid)
    return None if fields[0] in "ZX" else fields[19]


def _bare_existence(pid: int) -> str | None:
    """The same without /proc (macOS): no start time. On Windows signal 0 is a Ctrl-C, so nothing is known there."""
    if os.name != "posix":
        return None
    try:
        os.kill(pid, 0)
    except PermissionError:
        return ""
    except OSError:
        return None
    return ""
