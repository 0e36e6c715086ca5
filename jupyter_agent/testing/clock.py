"""Time that only counts: what waits in earnest is tested without waiting."""

from __future__ import annotations

import asyncio


class CountedClock:
    """Callable like `time.monotonic`; `sleep` moves it on and returns at once. `slept` lists the pauses, in seconds."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
