"""Running a cell through the client backend: at most 1.15 × raw jupyter_client, paired on two kernels of one spec."""

from __future__ import annotations

import asyncio
from typing import Any

from _harness import Result, apaired

from jupyter_agent.kernel.client import ClientKernel
from jupyter_agent.kernel.launch import start_own

CELLS = {
    "trivial cell": "print(1)",
    "1,000 outputs": "import sys\nfor n in range(1_000):\n    print(n)\n    sys.stdout.flush()",
    "1 MB of HTML": "from IPython.display import HTML\nHTML('x' * 1_000_000)",
}
REPEATS = {"trivial cell": 20}
"""Runs in one timing: a single trivial one is at the clock's and the scheduler's mercy."""


def measure() -> list[Result]:
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    # A kernel each: on a shared one every client would also have to read what the other's cells say.
    kernel = await ClientKernel.open(await start_own("python3"))
    link = await start_own("python3")
    raw = link.client()
    raw.start_channels(stdin=False, hb=False)
    await raw.wait_for_ready(timeout=60)
    results = []
    try:
        for name, code in CELLS.items():
            repeats = REPEATS.get(name, 1)

            async def ours(code: str = code, repeats: int = repeats) -> None:
                for _ in range(repeats):
                    snapshot = await (await kernel.run(code)).wait(60)
                    assert snapshot.status == "ok"

            async def baseline(code: str = code, repeats: int = repeats) -> None:
                for _ in range(repeats):
                    outputs: list[dict[str, Any]] = []
                    reply = await raw.execute_interactive(code, allow_stdin=False, output_hook=outputs.append)
                    assert reply["content"]["status"] == "ok"

            results.append(await apaired(f"run: {name}", "execute_interactive", ours, baseline, limit=1.15))
    finally:
        raw.stop_channels()
        await kernel.shutdown()
        assert link.shutdown is not None
        await link.shutdown()
    return results
