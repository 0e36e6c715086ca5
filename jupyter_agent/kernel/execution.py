"""An execution as every backend has it: outputs folded, the sink told, waits bounded by our own running time.

A backend feeds it (`begin`, `feed`, `finish`); callers see the `Execution` protocol. Touches only the spill file.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_agent.errors import AgentError, KernelError
from jupyter_agent.kernel.outputs import Outputs, error_of
from jupyter_agent.kernel.protocol import Busy, OnOutput, Snapshot, Status

if TYPE_CHECKING:
    from jupyter_agent.kernel.scratch import ScratchRequest
    from jupyter_agent.kernel.sent import Sender

SINK_INTERVAL = 0.1
"""Seconds between two calls of the sink while outputs arrive."""

INTERRUPT_WAIT = 2.0
"""Seconds that `interrupt` waits for the kernel to obey."""

INPUT_ADVICE = (
    "Nobody can type into this cell: assign the value in the code instead of asking for it "
    "(input(), getpass and the debugger's prompt are refused)."
)


def utc_now() -> str:
    """ISO 8601 with microseconds and Z, as JupyterLab records execution times."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


Error = tuple[str, str, list[str]]
"""Name, message and traceback lines."""


INPUT_REFUSED: Error = ("InputRefused", "the code asks for input, and nobody can type here", [])


@dataclass(frozen=True)
class Verdict:
    """How an execution ended. `count`: the number its tracebacks call it by, where that is not the execution count."""

    status: Status
    error: Error | None = None
    advice: str = ""
    count: int | None = None


class LiveExecution:
    """One execution of ours.

    What its backend provides: what keeps the kernel `busy` meanwhile, a way to `withdraw` a request that was not sent
    (true when nothing will run), the interrupt to `stop` it, and for a backend whose code blocks the loop a deadline of
    its own (`limit`). A backend also sets `scratch`, the request where the code runs in a copy of the kernel; `sender`
    and `parent`, where others send the request or get the answers.
    """

    def __init__(
        self,
        code: str,
        *,
        spill: Path | None,
        busy: Callable[[], Busy | None],
        withdraw: Callable[[LiveExecution], bool],
        stop: Callable[[LiveExecution], Awaitable[None]],
        limit: Callable[[LiveExecution, float], None] | None = None,
        cell: str | None = None,
        on_output: OnOutput | None = None,
        queue_timeout: float = 60.0,
        store_history: bool = True,
        silent: bool = False,
    ) -> None:
        self.code = code
        self.cell = cell
        self.scratch: ScratchRequest | None = None
        self.sender: Sender | None = None
        self.parent: dict[str, Any] | None = None
        self.asks = ""
        self.silent, self.store_history = silent, store_history and not silent
        self.resends = 0
        self.outputs = Outputs(spill)
        self.execution_count: int | None = None
        self.interrupted = self.input_refused = False
        self._on_output = on_output
        self._queue_timeout = queue_timeout
        self._busy, self._withdraw, self._stop, self._limit = busy, withdraw, stop, limit
        self._status: Status = "queued"
        self._error: tuple[str, str, list[str]] | None = None
        self._lost_names: Sequence[str] = ()
        self._advice = ""
        self._clock: float | None = None
        self._seconds = 0.0
        self._started_at = self._ended_at = ""
        self._started, self._changed = asyncio.Event(), asyncio.Event()
        self._finished, self._done = asyncio.Event(), asyncio.Event()
        self._sink_error: BaseException | None = None
        self._refusal: AgentError | None = None
        self._sink: asyncio.Task[None] | None = None
        if on_output is not None:
            self._sink = asyncio.get_running_loop().create_task(self._tell())

    # ------------------------------------------------------------------------------------------- for callers

    @property
    def snapshot(self) -> Snapshot:
        self.outputs.flush()
        return Snapshot(
            status=self._status,
            outputs=self.outputs.outputs(),
            execution_count=self.execution_count,
            error=self._error or self.outputs.error,
            seconds=self.seconds,
            started=self._started_at,
            ended=self._ended_at,
            truncated=self.outputs.truncated,
            spill=self.outputs.spill_path if self.outputs.truncated else None,
            lost_names=tuple(self._lost_names),
            advice=self._advice,
            asks="" if self.finished else self.asks,
        )

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def seconds(self) -> float:
        """Of our own running time so far."""
        if self._clock is None or self._finished.is_set():
            return self._seconds
        return time.monotonic() - self._clock

    async def wait(self, timeout: float | None, *, interrupt: bool = False) -> Snapshot:
        if interrupt and timeout is not None and self._limit is not None and not self._finished.is_set():
            self._limit(self, timeout)
        await self._wait_for_start()
        # The sink has its last word before the wait ends: who reads the document then finds the outputs there.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._done.wait(), timeout)
        if interrupt and not self.done:
            return await self.interrupt()
        if self._refusal is not None:
            raise self._refusal
        if self.done and self._sink_error is not None:
            error, self._sink_error = self._sink_error, None
            raise error
        return self.snapshot

    async def _wait_for_start(self) -> None:
        if self._started.is_set():
            return
        try:
            await asyncio.wait_for(self._started.wait(), self._queue_timeout)
        except TimeoutError:
            if self._started.is_set():
                return
            busy = self._busy()
            what = f"is {busy.sentence()}" if busy else "did not begin with this code"
            gone = self._withdraw(self)
            tail = "The code was not run." if gone else "The code stays in its queue and runs when its turn comes."
            raise KernelError(
                f"The kernel {what}; waited {self._queue_timeout:g} s for it. {tail} Wait for it "
                "(control_kernel 'wait'), or ask the person whether it may be interrupted.",
                kind="busy",
            ) from None

    async def interrupt(self) -> Snapshot:
        """As the protocol says; a request that was not sent yet is withdrawn."""
        if self._finished.is_set() or self._withdraw(self):
            return self.snapshot
        await self._stop(self)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._done.wait(), INTERRUPT_WAIT)
        if not self.done:
            self._advice = (
                "The cell was interrupted but goes on (it may catch KeyboardInterrupt or be inside compiled code). "
                "Only a restart would end it, and that loses every variable: ask the person before restarting."
            )
        return self.snapshot

    # ------------------------------------------------------------------------------------------- for backends

    @property
    def finished(self) -> bool:
        """The kernel is done with it (the sink may still be writing)."""
        return self._finished.is_set()

    @property
    def began(self) -> bool:
        return self._clock is not None

    def begin(self) -> None:
        """Our own busy: the clock starts."""
        if self._clock is None and not self._finished.is_set():
            self._clock, self._started_at, self._status = time.monotonic(), utc_now(), "running"
            self._started.set()
            self._changed.set()

    def requeue(self) -> None:
        """The kernel gave the request back unrun: it will be sent again."""
        self.resends += 1
        self._clock, self._started_at, self._status = None, "", "queued"
        self._started.clear()

    def feed(self, message_type: str, content: Mapping[str, Any]) -> None:
        if not self.outputs.fold(message_type, content):
            return
        self._changed.set()
        if self._done.is_set() and self._on_output is not None and (self._sink is None or self._sink.done()):
            self._sink = asyncio.get_running_loop().create_task(self._tell_late())

    def finish(
        self,
        status: Status,
        *,
        error: tuple[str, str, list[str]] | None = None,
        lost_names: Sequence[str] = (),
        advice: str = "",
    ) -> None:
        """The end; later calls change nothing."""
        if self._finished.is_set():
            return
        self._seconds = self.seconds
        if self._clock is not None:
            self._ended_at = utc_now()
        self._status, self._error, self._lost_names = status, error, lost_names
        self._advice = advice or _advice_on(error or self.outputs.error)
        self._finished.set()
        self._started.set()
        self._changed.set()
        if self._sink is None:
            self._done.set()

    def refuse_input(self) -> None:
        """The code asked a person who is not there; its backend interrupts it now."""
        if not self.input_refused:
            self.input_refused, self._advice = True, INPUT_ADVICE
            name, message, traceback = INPUT_REFUSED
            self.feed("error", {"ename": name, "evalue": message, "traceback": traceback})

    def refuse(self, error: AgentError) -> None:
        """It must not run as it is: `wait` raises this."""
        self._refusal = error
        self.finish("aborted", advice=error.message)

    def close(self) -> None:
        """Stop telling the sink, for a backend that shuts down."""
        if self._sink is not None:
            self._sink.cancel()
        self._done.set()
        self.outputs.close()

    # ------------------------------------------------------------------------------------------- the sink

    async def _tell(self) -> None:
        """Pass snapshots on, a slow sink never holding up the kernel's messages; the last one at the end."""
        assert self._on_output is not None
        try:
            while True:
                await self._changed.wait()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._finished.wait(), SINK_INTERVAL)
                ended = self._finished.is_set()
                self._changed.clear()
                if self.began:
                    # What never ran leaves the outputs that its cell has from before.
                    await self._on_output(self.snapshot)
                if ended:
                    return
        except Exception as error:
            # Told by `wait` at the end: the cell itself goes on.
            self._sink_error = error
            await self._finished.wait()
        finally:
            self._done.set()

    async def _tell_late(self) -> None:
        assert self._on_output is not None
        await asyncio.sleep(SINK_INTERVAL)
        self._changed.clear()
        with contextlib.suppress(Exception):
            await self._on_output(self.snapshot)


def verdict_on(reply: Mapping[str, Any], execution: LiveExecution) -> Verdict:
    """The verdict from the content of a kernel's reply, `{}` where that was lost."""
    if execution.scratch is not None:
        return execution.scratch.verdict(reply, execution.outputs.error)
    if execution.input_refused and not execution.interrupted:
        return Verdict("error", INPUT_REFUSED, INPUT_ADVICE)
    status = reply.get("status", "error" if execution.outputs.error else "ok")
    if status == "ok":
        return Verdict("ok")
    if status == "error":
        error = error_of(reply) if reply.get("ename") or reply.get("evalue") else execution.outputs.error
        return Verdict("interrupted" if execution.interrupted else error_status(error), error)
    # bash_kernel says `abort` where the protocol says `aborted`.
    return Verdict("interrupted" if execution.interrupted else "aborted")


def error_status(error: tuple[str, str, list[str]] | None) -> Status:
    """`interrupted` for what an interrupt raises in synchronous and in awaiting code, else `error`."""
    return "interrupted" if error and error[0] in ("KeyboardInterrupt", "CancelledError") else "error"


def _advice_on(error: tuple[str, str, list[str]] | None) -> str:
    if error is None:
        return ""
    refused = error[0] == "StdinNotImplementedError" or "does not support input requests" in error[1]
    return INPUT_ADVICE if refused else ""
