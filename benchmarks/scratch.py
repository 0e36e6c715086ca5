"""Scratch code with 1 GB of data in the kernel: at most 50 ms over running it in place, so a ratio of 1 to that sum."""

from __future__ import annotations

import asyncio

from _harness import Result, apaired

from jupyter_agent.kernel import start_kernel

ALLOWANCE = 0.05
"""Seconds a scratch run may take beyond a run in place."""
DATA = "import numpy as np, pandas as pd\nframe = pd.DataFrame({'a': np.ones(125_000_000)})"
CODE = "frame['a'].iloc[:1000].sum()"


def measure() -> list[Result]:
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    kernel = await start_kernel("python3")

    async def in_place() -> None:
        snapshot = await (await kernel.run(CODE)).wait(60)
        assert snapshot.status == "ok", snapshot.error

    async def allowed() -> None:
        await in_place()
        await asyncio.sleep(ALLOWANCE)

    async def scratch() -> None:
        snapshot = await (await kernel.scratch(CODE, timeout=60)).wait(60)
        assert snapshot.status == "ok", snapshot.error

    try:
        assert (await (await kernel.run(DATA)).wait(60)).status == "ok"
        return [
            await apaired("scratch, 1 GB in memory", "in place + 50 ms", scratch, allowed, limit=1.0, rounds=15),
            await apaired("scratch, 1 GB in memory", "in place", scratch, in_place, rounds=15),
        ]
    finally:
        await kernel.shutdown()
