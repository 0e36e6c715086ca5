"""Two event loops: the server's own, and the agent's on a thread, so that neither ever waits for the other's work.

Touches one thread, started when first needed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class AgentLoop:
    """The agent's event loop on a daemon thread. `run` is called from other threads, `stop` once at the end."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="jupyter-agent", daemon=True).start()
            return self._loop

    @property
    def started(self) -> bool:
        return self._loop is not None

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine there; its future belongs to no loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and await its result here."""
        return await asyncio.wrap_future(self.start(work))

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


class ServerLoop:
    """The server's loop as the agent's thread sees it: whatever belongs to the server is touched only through `run`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call `function` on the server's loop and await its coroutine there; the result is awaited here."""

        async def work() -> T:
            return await function()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    def call(self, function: Callable[[], object]) -> None:
        """Call `function` on the server's loop soon; nothing happens when the server is ending."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)
