"""A `tool` call on a kernel that stays: while a cell runs on, a process takes its outputs into the notebook.

The call works in a fork of this process. Its answer and exit code are there as soon as the call has ended; the fork
ends with the last cell it started, or with the kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from jupyter_agent.errors import AgentError

if TYPE_CHECKING:
    from jupyter_agent.kernel.protocol import Execution

Answered = Callable[[int], None]
"""Called with the exit code once the answer is printed: whoever called the program need not wait any longer."""

Work = Callable[[Answered], Coroutine[Any, Any, int]]


def answered_by_fork(work: Work) -> int:
    """The exit code of `work`, which runs in a fork and may take its time once it has answered.

    Returns in both processes; call it while there are neither threads nor an event loop. Where processes cannot fork,
    the work is waited for to its end.
    """
    if not hasattr(os, "fork"):
        return asyncio.run(work(lambda _code: None))
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        return asyncio.run(work(lambda code: _leave(code, writing)))
    os.close(writing)
    return _wait(child, reading)


def _leave(code: int, writing: int) -> None:
    """Tell the exit code and let go of all that the caller waits for: its pipes and its terminal."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.write(writing, bytes([code]))
    os.close(writing)


def _wait(child: int, reading: int) -> int:
    """The exit code, once the fork has told it or has ended. Signals to this process are passed on."""

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    # Ctrl-C at a terminal reaches the fork by itself.
    handlers = {signal.SIGTERM: forward, signal.SIGINT: signal.SIG_IGN if os.isatty(0) else forward}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        told = os.read(reading, 1)
        if told:
            return told[0]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if code >= 0 else 128 - code
    finally:
        os.close(reading)
        for number, handler in before.items():
            signal.signal(number, handler)


async def until_ended(executions: Iterable[Execution]) -> None:
    """Wait for every execution to end; a kernel that dies ends them all."""
    for execution in executions:
        # Nobody is left to be told; the notebook shows how far it came.
        with contextlib.suppress(AgentError, OSError):
            await execution.wait(None)
