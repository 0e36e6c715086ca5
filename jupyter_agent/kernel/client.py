"""The client backend: a kernel in a process of its own, over jupyter_client.

One pump routes messages by parent id. Requests are held back while somebody else's cell runs, so they can be withdrawn
and never stand in the person's queue for long. Touches the kernel only through its `Link`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from jupyter_agent.errors import AgentError, KernelError
from jupyter_agent.kernel import inspection
from jupyter_agent.kernel.advice import lost_variables, name_of, revive
from jupyter_agent.kernel.asking import ask_variables
from jupyter_agent.kernel.channels import Channels, Message
from jupyter_agent.kernel.execution import INTERRUPT_WAIT, LiveExecution, verdict_on
from jupyter_agent.kernel.launch import Link, connect_to, start_own
from jupyter_agent.kernel.others import Others
from jupyter_agent.kernel.protocol import Busy, KernelState, KernelStatus, OnOutput, RunOptions, Status, Variable
from jupyter_agent.kernel.scratch import ScratchRequest, request
from jupyter_agent.kernel.sent import Sender, Sent, Unsure

POLL_INTERVAL = 0.5
"""Seconds between looks at the kernel's process: its death is noticed within two of them (fault f35)."""

FIRST_PROBE = 0.5
"""Seconds in which a kernel of somebody else's answers when it is idle, at the first look at it."""

WAKE_AGAIN = 0.3
"""Seconds after an interrupt at which a kernel that did not react is woken once more: the first may have come early."""

REMEMBERED = 50
"""Ended executions that still take in late output and updates of their displays."""

INTERRUPTS = 10
"""How often code that asks for input is interrupted, `WAKE_AGAIN` apart."""

RESENDS = 3
"""How often a request that somebody else's failing cell swept from the queue is sent again."""


async def start_kernel(
    name: str, *, cwd: Path | None = None, notebook: str | None = None, spill: Path | None = None
) -> ClientKernel:
    """Start a kernel that ends with this program. Raises KernelError (no_kernelspec, start_failed)."""
    return await ClientKernel.open(await start_own(name, cwd=cwd, notebook=notebook), spill=spill)


async def connect_kernel(connection_file: str | Path, *, spill: Path | None = None) -> ClientKernel:
    """A client of a kernel that somebody else started; it is never shut down or restarted by us."""
    return await ClientKernel.open(connect_to(connection_file), spill=spill)


class ClientKernel:
    """The `Kernel` protocol over one `Link`. All methods are called on the loop that opened it."""

    def __init__(self, link: Link, spill: Path | None) -> None:
        self._link = link
        self._spill = spill
        self._queue: deque[LiveExecution] = deque()
        self._current: Sent | None = None
        self._recent: deque[tuple[str, LiveExecution]] = deque(maxlen=REMEMBERED)
        self._others = Others()
        self._names: list[str] = []
        self._dead = False
        self._closed = False
        self._restarts = 0
        self._watcher: asyncio.Task[None] | None = None
        self._lending: asyncio.Task[None] | None = None
        self._interrupting: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, link: Link, *, spill: Path | None = None, timeout: float = 60.0) -> ClientKernel:
        """Connect and wait until the kernel answers, at most `timeout` seconds (start_failed, dead or busy then)."""
        kernel = cls(link, spill)
        try:
            await kernel._connect(timeout)
        except BaseException:
            await kernel.shutdown()
            raise
        return kernel

    async def _connect(self, timeout: float) -> None:
        self._channels = Channels(self._link, self._on_iopub, self._on_reply, self._on_restarted, self._on_input)
        self._info = await self._channels.open(timeout)
        self._others.probe_needed = not self._link.ours
        self._dead = False
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    # ------------------------------------------------------------------------------------------- the protocol

    @property
    def language(self) -> str:
        """Lower case: `python`, `r`, `julia`, `bash`, …"""
        return str(self._info.get("language_info", {}).get("name", "")).lower()

    async def state(self) -> KernelState:
        if self._others.probe_needed and not self._dead:
            await self._probe(wait=FIRST_PROBE)
        status: KernelStatus = "dead" if self._dead else "busy" if self._busy() else "idle"
        busy = None if self._dead else self._busy()
        return KernelState(status, self._link.name, self.language, self._link.ours, busy, self._restarts)

    async def start(self) -> ClientKernel:
        self._check_alive()
        return self

    async def run(
        self,
        code: str,
        *,
        scratch: ScratchRequest | None = None,
        sender: Sender | None = None,
        **options: Unpack[RunOptions],
    ) -> LiveExecution:
        """As the protocol says; `sender` has another client of this kernel send the code when its turn has come."""
        self._check_alive()
        if self._others.probe_needed:
            await self._probe(wait=FIRST_PROBE)
        execution = self._execution(code, **options)
        execution.scratch, execution.sender = scratch, sender
        self._queue.append(execution)
        self._advance()
        return execution

    def _execution(self, code: str, **options: Unpack[RunOptions]) -> LiveExecution:
        return LiveExecution(
            code, spill=self._spill, busy=self._busy, withdraw=self._withdraw, stop=self._stop, **options
        )

    def follow(self, message_id: str, *, cell: str, on_output: OnOutput) -> LiveExecution:
        """Outputs of a run that is not this client's: `message_id` is what they answer. The caller finishes it."""
        self._check_alive()
        execution = self._execution("", cell=cell, on_output=on_output, silent=True)
        execution.begin()
        self._recent.append((message_id, execution))
        return execution

    async def scratch(self, code: str, *, timeout: float, queue_timeout: float = 60.0) -> LiveExecution:
        made = request(self.language, code, timeout)
        return await self.run(code, queue_timeout=queue_timeout, silent=True, scratch=made)

    async def variables(self, names: Sequence[str] | None = None, *, detail: bool = False) -> list[Variable]:
        self._check_alive()
        if self._others.probe_needed:
            await self._probe(wait=FIRST_PROBE)
        request = inspection.request(self.language, names, detail=detail)
        has_subshells = "kernel subshells" in self._info.get("supported_features", ())
        found = await ask_variables(self._channels, request, self._busy(), has_subshells=has_subshells)
        if names is None:
            self._names = [variable.name for variable in found]
        return found

    async def interrupt(self) -> None:
        self._check_alive()
        if self._current is not None:
            self._current.execution.interrupted = True
        await self._send_interrupt()

    async def restart(self) -> None:
        if self._link.restart is None:
            raise KernelError(
                "This kernel was started by another program and can only be restarted there "
                "(in JupyterLab: Kernel > Restart).",
                kind="unsupported",
            )
        await self._stop_watching()
        self._end_all("dead", advice="The kernel was restarted while this ran; its variables are gone.")
        self._channels.close()
        try:
            await self._link.restart()
        except Exception as error:
            self._dead = True
            raise KernelError(f"The kernel could not be restarted: {error}", kind="start_failed") from error
        self._restarts += 1
        self._names = []
        self._others = Others()
        await self._connect(60.0)

    async def shutdown(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._stop_watching()
        self._end_all("dead", advice="The kernel was released while this ran.")
        for _, execution in self._recent:
            execution.close()
        if hasattr(self, "_channels"):
            self._channels.close()
        if self._link.shutdown is not None:
            await self._link.shutdown()

    # ------------------------------------------------------------------------------------------- sending

    def _busy(self) -> Busy | None:
        if self._current is not None and self._current.execution.began:
            execution = self._current.execution
            return Busy(execution.seconds, name_of(execution.cell, execution.code), execution.code, ours=True)
        return self._others.busy()

    def _check_alive(self) -> None:
        if self._closed:
            raise KernelError("This kernel was shut down. Start it again (control_kernel 'start').", kind="dead")
        if self._dead:
            raise KernelError(
                "The kernel died and its variables are gone. " + revive(self._link) + lost_variables(self._names),
                kind="dead",
            )

    def _advance(self) -> None:
        """Send the next request when the kernel is free: a request in its queue could not be withdrawn."""
        if self._current is None and self._queue and not self._dead and self._others.busy() is None:
            execution = self._queue.popleft()
            self._current = Sent(execution)
            if execution.sender is None:
                self._track(self._current, self._send(execution))
            else:
                self._lending = asyncio.get_running_loop().create_task(self._lend(self._current, execution.sender))

    def _track(self, sent: Sent, message_id: str) -> None:
        sent.message_id = message_id
        self._recent.append((message_id, sent.execution))

    async def _lend(self, sent: Sent, sender: Sender) -> None:
        """Have another client send it; what the kernel says of it is then taken as if it were ours."""
        try:
            message_id = await sender(sent.execution)
        except Unsure:
            message_id = await sent.find()
        except AgentError as refused:
            sent.execution.refuse(refused)
            if sent is self._current:
                self._current = None
                self._advance()
            return
        if sent is not self._current:
            return
        if message_id is None:
            self._track(sent, self._send(sent.execution))
            return
        self._track(sent, message_id)
        sent.lent = True
        self._others.forget(message_id)
        early, sent.early = sent.early, []
        for message in early:
            if message["parent_header"].get("msg_id") == message_id:
                self._on_own(sent, message["header"]["msg_type"], message["content"])

    def _send(self, execution: LiveExecution) -> str:
        content = {} if execution.scratch is None else execution.scratch.content()
        content = content or {
            "code": execution.code,
            "silent": execution.silent,
            "store_history": execution.store_history,
            "user_expressions": {} if self.language != "python" else {"names": inspection.NAMES_EXPRESSION},
            "allow_stdin": False,
            # The person's queued cells go on when ours fails (fault n38).
            "stop_on_error": False,
        }
        return self._channels.send(
            "execute_request", content, metadata={"cellId": execution.cell} if execution.cell else {}
        )

    def _withdraw(self, execution: LiveExecution) -> bool:
        if execution not in self._queue:
            return False
        self._queue.remove(execution)
        execution.finish("aborted", advice="Withdrawn before the kernel began with it: it was not run.")
        return True

    async def _stop(self, execution: LiveExecution) -> None:
        """Interrupt the kernel only while this very execution runs: another's is never hit (fault n38)."""
        deadline = time.monotonic() + INTERRUPT_WAIT
        sent = self._current
        while sent is not None and sent is self._current and sent.execution is execution and not sent.answered:
            if execution.began and (sent.echoed or execution.seconds > 0.3):
                execution.interrupted = True
                await self._send_interrupt()
                return
            if time.monotonic() > deadline:
                return
            await asyncio.sleep(0.01)

    async def _send_interrupt(self) -> None:
        if self._link.interrupt is not None:
            await self._link.interrupt()
        else:
            with contextlib.suppress(TimeoutError):
                await self._channels.request("interrupt_request", {}, timeout=1.0, channel="control")
        # ipykernel's loop may sleep in a cell's `await` and see the signal only when a message wakes it.
        self._wake()
        asyncio.get_running_loop().call_later(WAKE_AGAIN, self._wake)

    def _wake(self) -> None:
        if self._current is not None and not self._current.answered:
            self._channels.send("kernel_info_request", {})

    # ------------------------------------------------------------------------------------------- receiving

    def _on_iopub(self, message: Message) -> None:
        kind, content, parent = message["header"]["msg_type"], message["content"], message["parent_header"]
        sent = self._current
        is_foreign = parent.get("session") != self._channels.session_id
        if sent is not None and sent.message_id is None and is_foreign:
            sent.keep_early(message)
        if sent is not None and parent.get("msg_id") == sent.message_id:
            self._on_own(sent, kind, content)
        elif kind in ("status", "execute_input"):
            if is_foreign:
                self._others.observe(kind, content, message)
                self._advance()
        elif kind == "update_display_data":
            self._update_displays(content)
        else:
            for message_id, execution in self._recent:
                if message_id == parent.get("msg_id"):
                    execution.feed(kind, content)

    def _on_own(self, sent: Sent, kind: str, content: dict[str, Any]) -> None:
        if kind == "status":
            if content.get("execution_state") == "busy":
                sent.execution.begin()
            elif content.get("execution_state") == "idle":
                sent.idle()
                self._settle(sent)
        elif kind == "execute_input":
            sent.echoed = True
            sent.execution.execution_count = content.get("execution_count")
        elif kind == "update_display_data":
            self._update_displays(content)
        else:
            sent.execution.feed(kind, content)

    def _update_displays(self, content: dict[str, Any]) -> None:
        """A display belongs to the cell that made it, whichever cell updates it."""
        newest = {execution.cell: execution for _, execution in self._recent}
        for _, execution in self._recent:
            if execution.cell is None or newest[execution.cell] is execution:
                execution.feed("update_display_data", content)

    def _on_reply(self, message: Message) -> None:
        sent = self._current
        if sent is not None and message["parent_header"].get("msg_id") == sent.message_id:
            sent.reply, sent.reply_at = message["content"], time.monotonic()
            self._settle(sent)

    def _on_input(self, message: Message) -> None:
        """A kernel that asks for input although we allow none would wait for ever: the code is interrupted."""
        sent = self._current
        if sent is not None and message["parent_header"].get("msg_id") == sent.message_id:
            sent.execution.refuse_input()
            self._interrupting = asyncio.get_running_loop().create_task(self._interrupt_until_answered(sent))

    async def _interrupt_until_answered(self, sent: Sent) -> None:
        """An interrupt that comes before the kernel begins to wait for its input is lost on it."""
        for _ in range(INTERRUPTS):
            if sent is not self._current or sent.answered:
                return
            await self._send_interrupt()
            await asyncio.sleep(WAKE_AGAIN)

    def _settle(self, sent: Sent, *, lost: bool = False) -> None:
        """End the execution once both its reply and its idle are there, or one of them counts as lost."""
        if sent is not self._current or not (lost or (sent.reply is not None and sent.idle_at is not None)):
            return
        execution, reply = sent.execution, sent.reply or {}
        self._current = None
        verdict = verdict_on(reply, execution)
        swept = verdict.status == "aborted" and reply.get("status") != "ok"
        if swept and not execution.interrupted and not sent.echoed and execution.resends < RESENDS:
            # Swept away by somebody else's failing cell: our code has not run.
            execution.requeue()
            self._queue.appendleft(execution)
        else:
            if isinstance(reply.get("execution_count"), int) and execution.execution_count is None:
                execution.execution_count = reply["execution_count"]
            self._names = inspection.names_in(reply) or self._names
            execution.execution_count = verdict.count or execution.execution_count
            execution.finish(verdict.status, error=verdict.error, advice=verdict.advice)
        self._advance()

    def _on_restarted(self) -> None:
        """Somebody restarted the kernel: what ran is gone, the kernel itself is there again."""
        lost = lost_variables(self._names)
        self._end_all("dead", advice=f"The kernel was restarted by someone else; its variables are gone.{lost}")
        self._others = Others()
        self._names = []
        self._restarts += 1
        self._dead = False

    def _end_all(self, status: Status, *, advice: str) -> None:
        pending = [self._current.execution] if self._current is not None else []
        pending.extend(self._queue)
        self._current = None
        self._queue.clear()
        for execution in pending:
            execution.finish(status, lost_names=self._names, advice=advice)

    # ------------------------------------------------------------------------------------------- watching

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            alive = await self._channels.alive()
            if not alive and not self._dead:
                # What the kernel said last is still on its way through the sockets.
                await asyncio.sleep(0.2)
                self._dead = True
                self._end_all("dead", advice="The kernel died. " + revive(self._link) + lost_variables(self._names))
            elif alive and self._dead:
                self._on_restarted()
            sent = self._current
            if sent is not None and sent.overdue(self._channels.last_iopub):
                self._settle(sent, lost=True)
            if self._others.busy() is not None and not self._dead:
                await self._probe(wait=0.0)
                self._advance()

    async def _probe(self, *, wait: float) -> None:
        """Ask the main shell for a sign of life; while it does not answer, somebody else's code is taken to run."""
        self._others.probe_needed = False
        probe = self._others.start_probe(self._channels)
        if probe is not None and wait:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(probe), wait)
        self._others.judge_probe()

    async def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
            self._watcher = None
        if self._lending is not None:
            self._lending.cancel()
