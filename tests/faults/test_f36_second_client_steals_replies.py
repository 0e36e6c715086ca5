"""f36: two clients of one kernel each get their own replies, and no one else's outputs."""

from __future__ import annotations

from dataclasses import replace

from jupyter_agent.kernel.client import ClientKernel
from jupyter_agent.kernel.launch import start_own
from jupyter_agent.testing.kernels import run, text_of


async def test_f36_a_hundred_alternating_runs() -> None:
    link = await start_own("python3")
    first = await ClientKernel.open(link)
    second = await ClientKernel.open(replace(link, shutdown=None))
    try:
        for number in range(50):
            assert text_of(await run(first, f"print('first', {number})")) == f"first {number}\n"
            assert text_of(await run(second, f"print('second', {number})")) == f"second {number}\n"
    finally:
        await second.shutdown()
        await first.shutdown()
