"""f35: a kernel that dies while a cell runs is noticed, and the result names the variables that went with it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from jupyter_agent.kernel.client import connect_kernel
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.kernels import run
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

FATAL = "import os, time\nprint('last words', flush=True)\ntime.sleep(0.2)\nos.kill(os.getpid(), 9)"


async def test_f35_death_in_a_cell_is_told_with_what_was_lost(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "precious = 1"), code("b", FATAL), code("c", "after = 1")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "run_cells", cells=["a"])
        started = time.monotonic()
        result = await call(conversation, "run_cells", from_cell="b", timeout=100)
        assert time.monotonic() - started < 20
        assert text_of(result).startswith("error: KernelDied: the kernel ended in cell b")
        assert "precious" in text_of(result)
        assert "last words" in text_of(result)
        assert result.details["not_run"] == ["c"]
        again = await call(conversation, "run_cells", cells=["c"])
        assert again.is_error
        assert "restart" in text_of(again)


async def test_f35_death_behind_a_restarter_is_noticed_and_the_new_kernel_used(tmp_path: Path) -> None:
    """As behind a Jupyter server: its manager restarts the kernel on the same ports."""
    from jupyter_client.ioloop import AsyncIOLoopKernelManager

    manager = AsyncIOLoopKernelManager(kernel_name="python3")
    await manager.start_kernel()
    kernel = await connect_kernel(manager.connection_file)
    try:
        await run(kernel, "precious = 1")
        execution = await kernel.run("import time\ntime.sleep(100)")
        while not execution.began:
            await execution.wait(0.05)
        started = time.monotonic()
        os.kill(manager.provisioner.pid, signal.SIGKILL)
        snapshot = await execution.wait(50)
        assert snapshot.status == "dead"
        assert time.monotonic() - started < 50
        assert "precious" in snapshot.lost_names
        while (await kernel.state()).status == "dead":
            assert time.monotonic() - started < 100
            await execution.wait(0.05)
            await _pause()
        revived = await run(kernel, "'precious' in dir()")
        assert revived.outputs[0]["data"]["text/plain"] == "False"
        assert revived.execution_count == 1
    finally:
        await kernel.shutdown()
        await manager.shutdown_kernel(now=True)


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.05)
