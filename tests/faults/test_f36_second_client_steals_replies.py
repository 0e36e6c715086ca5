"""f36: two clients of one kernel each get their own replies, and no one else's outputs."""

from __future__ import annotations

from jupyter_agent.kernel.client import connect_kernel, start_kernel
from jupyter_agent.testing.kernels import run, text_of


async def test_f36_a_hundred_alternating_runs(tmp_path: object) -> None:
    first = await start_kernel("python3")
    second = None
    try:
        second = await connect_kernel(str(first._link.client().connection_file))
        for number in range(50):
            assert text_of(await run(first, f"print('first', {number})")) == f"first {number}\n"
            assert text_of(await run(second, f"print('second', {number})")) == f"second {number}\n"
    finally:
        if second is not None:
            await second.shutdown()
        await first.shutdown()
