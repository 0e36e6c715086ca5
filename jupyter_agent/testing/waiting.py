"""Waiting for a condition in tests: as long as it takes, but not for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], object], what: str = "the condition", seconds: float = 30.0) -> None:
    """Return as soon as `condition()` is true; raises AssertionError naming `what` after `seconds`."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"{what} did not come true within {seconds:g} s")
        await asyncio.sleep(0.01)
