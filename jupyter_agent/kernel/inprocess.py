"""The magic's backend: code runs in this process, on the main thread, in the person's namespace, awaits included.

Runs are tasks of the loop that the magic's own cell runs on. Outputs appear in the magic's cell and are captured as
well. Touches the shell it is given; no IPython is imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.capture import captured, inside
from jupyter_agent.kernel.describe import describe
from jupyter_agent.kernel.execution import LiveExecution, error_status
from jupyter_agent.kernel.protocol import Busy, KernelState, RunOptions, Variable
from jupyter_agent.kernel.scratch import request, scratch_here

TICK = 0.1
"""Seconds between wake-ups of the loop: asleep it does not see an interrupt (14 s of a 15 s sleep were measured)."""

INTERRUPT_PASSES = 0.05
"""Seconds in which an interrupt seen by us has reached everyone else who listens."""


class InProcessKernel:
    """The `Kernel` protocol inside the live kernel. All methods are called on the shell's main thread and loop.

    While synchronous code runs, nothing else of this program does: a wait returns when the code is done or gives way.
    `on_interrupt` is called when the person interrupts while code of ours runs. Without `show_tracebacks` the caller
    shows the person what failed.
    """

    def __init__(
        self,
        shell: Any,
        *,
        spill: Path | None = None,
        on_interrupt: Callable[[], None] | None = None,
        show_tracebacks: bool = True,
    ) -> None:
        self._shell = shell
        self._spill = spill
        self._show_tracebacks = show_tracebacks
        self.on_interrupt = on_interrupt
        self._queue: list[LiveExecution] = []
        self._current: LiveExecution | None = None
        self._user: asyncio.Task[Any] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._ended: list[LiveExecution] = []
        self._counts = _Counts(shell)
        self._deadline = _Deadline()

    @property
    def language(self) -> str:
        return "python"

    async def state(self) -> KernelState:
        busy = self._busy()
        name = "python3"
        return KernelState("busy" if busy else "idle", name, self.language, ours=False, busy=busy)

    async def start(self) -> InProcessKernel:
        return self

    async def run(
        self, code: str, *, parent: dict[str, Any] | None = None, **options: Unpack[RunOptions]
    ) -> LiveExecution:
        """As the protocol says. The run's messages answer `parent`, if given, instead of the request that the magic's
        cell is: then they show where a bridge routes them, and not in the magic's cell."""
        execution = self._execution(code, limit=self._limit, **options)
        execution.parent = parent
        return self._enqueue(execution)

    async def scratch(self, code: str, *, timeout: float, queue_timeout: float = 60.0) -> LiveExecution:
        execution = self._execution(code, queue_timeout=queue_timeout, store_history=False, silent=True)
        execution.scratch = request(self.language, code, timeout)
        return self._enqueue(execution)

    def _execution(
        self,
        code: str,
        limit: Callable[[LiveExecution, float], None] | None = None,
        **options: Unpack[RunOptions],
    ) -> LiveExecution:
        return LiveExecution(
            code,
            spill=self._spill,
            busy=self._busy,
            withdraw=self._withdraw,
            stop=self._stop,
            limit=limit,
            **options,
        )

    def _enqueue(self, execution: LiveExecution) -> LiveExecution:
        self._queue.append(execution)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())
        return execution

    async def variables(self, names: Sequence[str] | None = None, *, detail: bool = False) -> list[Variable]:
        namespace = self._shell.user_ns
        if names is None:
            hidden = self._shell.user_ns_hidden
            namespace = {name: value for name, value in namespace.items() if name not in hidden}
        return [Variable(**entry) for entry in describe(namespace, names, detail)]

    async def interrupt(self) -> None:
        if self._current is not None:
            await self._stop(self._current)

    async def restart(self) -> None:
        raise KernelError(
            "This kernel runs the agent itself and cannot restart from inside. Ask the person to restart it "
            "(Kernel > Restart); the conversation goes on afterwards.",
            kind="unsupported",
        )

    async def shutdown(self) -> None:
        """Let go of the shell: nothing of ours runs on."""
        for execution in list(self._queue):
            self._withdraw(execution)
        if self._current is not None:
            await self._current.interrupt()
        for execution in self._ended:
            execution.close()
        self._ended.clear()

    # ------------------------------------------------------------------------------------------- running

    def _busy(self) -> Busy | None:
        execution = self._current
        if execution is None:
            return None
        what = f"cell {execution.cell}" if execution.cell else "code of the agent"
        return Busy(execution.seconds, what, execution.code, ours=True)

    def _withdraw(self, execution: LiveExecution) -> bool:
        if execution not in self._queue:
            return False
        self._queue.remove(execution)
        execution.finish("aborted", advice="Withdrawn before its turn came: it was not run.")
        return True

    async def _stop(self, execution: LiveExecution) -> None:
        """Only code that awaits lets us get here: its await ends with CancelledError."""
        if execution is self._current and execution.scratch is not None:
            execution.interrupted = True
        elif execution is self._current and self._user is not None:
            execution.interrupted = True
            self._user.cancel()

    def _limit(self, execution: LiveExecution, seconds: float) -> None:
        """Interrupt the execution `seconds` from now if it runs by then, also when it never gives way."""
        if hasattr(signal, "pthread_kill") and threading.current_thread() is threading.main_thread():
            self._deadline.begin(seconds)

    async def _work(self) -> None:
        while self._queue:
            execution = self._queue.pop(0)
            self._current = execution
            try:
                await (self._execute(execution) if execution.scratch is None else self._execute_copy(execution))
            finally:
                self._current, self._user = None, None
                self._ended = [*self._ended[-50:], execution]
            # Code without awaits never gave way: let waits and sinks see the end before the next one begins.
            await asyncio.sleep(0)

    async def _execute_copy(self, execution: LiveExecution) -> None:
        assert execution.scratch is not None
        execution.begin()
        outputs, seconds = execution.outputs, execution.scratch.seconds
        try:
            with self._interruptible(execution):
                verdict = await scratch_here(
                    self._shell,
                    execution.code,
                    seconds,
                    feed=execution.feed,
                    stopped=lambda: execution.interrupted,
                    shown=lambda: outputs.error,
                )
        except BaseException:
            execution.finish("interrupted")
            raise
        execution.execution_count = verdict.count
        execution.finish(verdict.status, error=verdict.error, advice=verdict.advice)

    async def _execute(self, execution: LiveExecution) -> None:
        shell = self._shell
        execution.begin()
        hook_result = shell.displayhook.exec_result
        result = None
        with self._counts.turn(execution), self._parent(execution) as routed, self._interruptible(execution):
            context = contextvars.copy_context()
            context.run(inside.set, True)
            displays = not routed and hasattr(shell, "kernel")
            told = {"show_tracebacks": self._show_tracebacks, "results_as_displays": displays}
            with captured(shell, self._feeder(execution), **told):
                loop = asyncio.get_running_loop()
                self._user = loop.create_task(self._run_cell(execution), context=context)
                ticker = loop.create_task(_tick())
                try:
                    result = await self._user
                except asyncio.CancelledError:
                    if not execution.interrupted:
                        # Not the code was cancelled but we, with the magic's cell: the code goes with us.
                        self._user.cancel()
                        execution.finish("interrupted")
                        raise
                finally:
                    ticker.cancel()
                    shell.displayhook.exec_result = hook_result
        # What other threads printed is on its way through the loop; after the person's interrupt so is the one that
        # ipykernel passes to the magic's cell, which shall not begin something new in between.
        await asyncio.sleep(INTERRUPT_PASSES if execution.interrupted and not self._deadline.fired else 0)
        self._finish(execution, result)

    def _finish(self, execution: LiveExecution, result: Any) -> None:
        error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
        if result is not None and error is None and not execution.outputs.error:
            execution.finish("ok")
            return
        described = execution.outputs.error or (type(error).__name__, str(error), [])
        execution.finish("interrupted" if execution.interrupted else error_status(described), error=described)

    async def _run_cell(self, execution: LiveExecution) -> Any:
        """As ipykernel runs a cell. KeyboardInterrupt must not leave the task: it would end the kernel's loop."""
        shell = self._shell
        transformed, failed = execution.code, None
        try:
            transformed = shell.transform_cell(execution.code)
        except Exception:
            failed = sys.exc_info()
        result = None
        try:
            result = await shell.run_cell_async(
                execution.code,
                store_history=execution.store_history,
                silent=execution.silent,
                transformed_cell=transformed,
                preprocessing_exc_tuple=failed,
                cell_id=execution.cell,
            )
        except KeyboardInterrupt:
            execution.interrupted = True
        finally:
            try:
                shell.events.trigger("post_execute")
                if not execution.silent and result is not None:
                    with self._counts.own_event():
                        shell.events.trigger("post_run_cell", result)
            except KeyboardInterrupt:
                execution.interrupted = True
        return result

    def _feeder(self, execution: LiveExecution) -> Callable[[str, dict[str, Any]], None]:
        loop, thread = asyncio.get_running_loop(), threading.get_ident()

        def feed(kind: str, content: dict[str, Any]) -> None:
            if kind == "update_display_data":
                for ended in self._ended:
                    ended.feed(kind, content)
            if threading.get_ident() == thread:
                execution.feed(kind, content)
            else:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(execution.feed, kind, content)

        return feed

    @contextlib.contextmanager
    def _parent(self, execution: LiveExecution) -> Iterator[bool]:
        """Give this run's messages the parent it was given (true); what waits is flushed."""
        message = execution.parent
        if message is None or not hasattr(self._shell, "set_parent"):
            yield False
            return
        before = self._shell.get_parent()
        _flush()
        self._shell.set_parent(message)
        try:
            yield True
        finally:
            _flush()
            self._shell.set_parent(before)

    # ------------------------------------------------------------------------------------------- interrupts

    @contextlib.contextmanager
    def _interruptible(self, execution: LiveExecution) -> Iterator[None]:
        """An interrupt reaches our code at once, and also whoever listened before (ipykernel, the magic).

        A signal of our own deadline is for the code alone. Elsewhere than on the main thread nothing is changed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        before = signal.getsignal(signal.SIGINT)

        def on_signal(number: int, frame: Any) -> None:
            execution.interrupted = True
            if not self._deadline.fired:
                if self.on_interrupt is not None:
                    loop.call_soon_threadsafe(self.on_interrupt)
                if callable(before) and before is not signal.default_int_handler:
                    before(number, frame)
            user = self._user
            if user is not None and asyncio.current_task(loop) is user:
                raise KeyboardInterrupt
            if user is not None:
                loop.call_soon_threadsafe(user.cancel)

        signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            self._deadline.end()
            if signal.getsignal(signal.SIGINT) is on_signal:
                signal.signal(signal.SIGINT, before)


class _Counts:
    """Execution counts as if each run were a cell after the magic's own, whose count stays its own to the end."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._next = 0
        self._nested = self._own = False

    @contextlib.contextmanager
    def turn(self, execution: LiveExecution) -> Iterator[None]:
        """Number one run. Inside the magic's cell the shell's own counter is put back after it, and set to the next
        free number once that cell has answered."""
        shell = self._shell
        nested = bool(shell.display_trap.is_active)
        before = shell.execution_count
        if nested and not self._nested:
            self._nested, self._next = True, max(before, self._entered())
            shell.events.register("post_run_cell", self._outer_ended)
        number = self._next if nested else before
        shell.execution_count = number
        execution.execution_count = number if not execution.silent else None
        try:
            yield
        finally:
            # IPython counts when it begins, or (before 9.16) when it ends; either way this is one further.
            self._next = shell.execution_count
            if nested and self._nested:
                shell.execution_count = before

    @contextlib.contextmanager
    def own_event(self) -> Iterator[None]:
        """For telling the end of a run of ours from that of the magic's cell."""
        self._own = True
        try:
            yield
        finally:
            self._own = False

    def _entered(self) -> int:
        history = self._shell.history_manager
        return len(history.input_hist_parsed) if history is not None else 0

    def _outer_ended(self, result: Any) -> None:
        """The magic's cell is over (our own runs end with the same event). Its reply still needs its own count."""
        if self._own:
            return
        self._shell.events.unregister("post_run_cell", self._outer_ended)
        self._nested = False
        following = max(self._next, self._shell.execution_count)

        def go_on() -> None:
            self._shell.execution_count = following

        try:
            asyncio.get_running_loop().call_soon(go_on)
        except RuntimeError:
            go_on()


class _Deadline:
    """Interrupts code that blocks the loop: a timer thread signals the main thread while the run is still on."""

    def __init__(self) -> None:
        self.fired = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def begin(self, seconds: float) -> None:
        self.end()
        self.fired = False
        main = threading.main_thread().ident

        def fire() -> None:
            with self._lock:
                if self._timer is timer and main is not None:
                    self.fired = True
                    signal.pthread_kill(main, signal.SIGINT)

        timer = threading.Timer(seconds, fire)
        timer.daemon = True
        self._timer = timer
        timer.start()

    def end(self) -> None:
        """No signal after this."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


async def _tick() -> None:
    while True:  # noqa: ASYNC110 - waking up is the purpose
        await asyncio.sleep(TICK)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
