"""The interrupt button and Ctrl-C while the agent works: a stop of its turn, not the death of the cell around it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def stops_on_interrupt(at_once: Callable[[], object], stop: Callable[[], object]) -> Iterator[None]:
    """While open, SIGINT calls `at_once` between two instructions of whatever runs, which may only set a flag, and then
    `stop` on the running loop, which it wakes: asleep it would see the signal late.

    ipykernel's own handler would cancel the cell's coroutine, and in a terminal the signal would leave the loop with
    the turn still on it. Elsewhere than on the main thread (a subshell) nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: Any) -> None:
        at_once()
        loop.call_soon_threadsafe(stop)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def raises_on_interrupt() -> Iterator[None]:
    """While open, SIGINT raises KeyboardInterrupt here: for code that blocks the loop, like `input()`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
