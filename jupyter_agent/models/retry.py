"""The one retry layer: bounded in requests and time, shared by every agent that uses the same model. No I/O.

Exponential pauses with jitter, never below what the server asks for (Retry-After). While the server fails, only one
request at a time is tried: parallel agents wait for it instead of joining a storm (fault f48).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from jupyter_agent.errors import ModelError

T = TypeVar("T")


@dataclass(frozen=True)
class Policy:
    """`requests`: failed requests in a row after which it gives up; `unreachable_requests`: the same where nothing
    answers at all; `base` and `cap`: seconds of the first and the longest pause of our own; `total`: seconds from the
    first failure, pauses included."""

    requests: int = 6
    unreachable_requests: int = 3
    base: float = 1.0
    cap: float = 30.0
    total: float = 120.0


class Retry:
    """State of one model's server as its callers know it. Used on one event loop at a time."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`jitter` returns numbers in [0, 1)."""
        self.policy = policy or Policy()
        self._now = now
        self._sleep = sleep
        self._jitter = jitter
        self._failures = 0
        self._since = 0.0
        self._resume_at = 0.0
        self._last: ModelError | None = None
        self._under_way = 0
        self._landed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        on_retry: Callable[[str, float], None] | None = None,
        before_attempt: Callable[[], None] | None = None,
    ) -> T:
        """The result of the first attempt that succeeds.

        Raises ModelError: a permanent one at once, a retryable one when the bounds are reached; then its message says
        how often it was tried. A call made while the bounds are reached fails without a request until the pause that
        would have followed is over, and is one request then.
        """
        if self._loop is not asyncio.get_running_loop():
            self._loop, self._one_at_a_time = asyncio.get_running_loop(), asyncio.Lock()
            self._under_way, self._landed = 0, asyncio.Event()
        if self._now() > self._resume_at + self.policy.total:
            self._last, self._failures = None, 0  # long ago: this is another incident
        while True:
            if self._last is None:
                error = None
                try:
                    return await self._try(attempt, before_attempt)
                except ModelError as caught:
                    error = caught
                self._raise_if_over(error)
                continue
            async with self._one_at_a_time:
                if self._last is None:
                    continue
                pause = self._resume_at - self._now()
                if pause > 0:
                    self._raise_if_over(self._last)
                    if on_retry is not None:
                        on_retry(self._last.message, pause)
                    await self._sleep(pause)
                if self._under_way and self._failures + self._under_way >= self._bound(self._last):
                    # Those sent before the first refusal may use up what is left: they are heard first.
                    self._landed.clear()
                    await self._landed.wait()
                    continue
                try:
                    return await self._try(attempt, before_attempt)
                except ModelError as caught:
                    error = caught
                self._raise_if_over(error)

    async def _try(self, attempt: Callable[[], Awaitable[T]], before_attempt: Callable[[], None] | None) -> T:
        if before_attempt is not None:
            before_attempt()
        self._under_way += 1
        try:
            result = await attempt()
        except ModelError as error:
            if error.retryable:
                self._failed(error)
            else:
                self._last, self._failures = None, 0
            raise
        finally:
            self._under_way -= 1
            self._landed.set()
        self._last, self._failures = None, 0
        return result

    def _failed(self, error: ModelError) -> None:
        now = self._now()
        if self._last is None:
            self._since = now
        self._last = error
        self._failures += 1
        own = min(self.policy.cap, self.policy.base * 2 ** (self._failures - 1))
        pause = own * (0.5 + self._jitter() / 2)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after * (1 + self._jitter() / 10))
        self._resume_at = max(self._resume_at, now + pause)

    def _bound(self, error: ModelError) -> int:
        return self.policy.unreachable_requests if error.kind == "unreachable" else self.policy.requests

    def _raise_if_over(self, error: ModelError) -> None:
        """Raises the error when it is permanent, or when the bounds leave no further request."""
        if not error.retryable:
            raise error
        policy, bound = self.policy, self._bound(error)
        seconds = self._now() - self._since
        pause = max(0.0, self._resume_at - self._now())
        if self._failures >= bound:
            end = f"Gave up after {self._failures} requests in {seconds:.0f} s; try again in {pause:.0f} s."
        elif seconds + pause > policy.total:
            end = f"It has to be left alone for {pause:.0f} s; try again then, or choose another model."
        else:
            return
        raise ModelError(error.kind, f"{error.message} {end}", retry_after=pause) from error
