"""f38: kernels we started end with us, however we end; kernels that others started live on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from jupyter_agent.kernel import connect_kernel, start_kernel, started_pids

async def main():
    kernels = [await start_kernel("python3"), await start_kernel("bash")]
    kernels.append(await connect_kernel(sys.argv[1]))
    busy = [await kernels[0].run("import time; time.sleep(100)"), await kernels[1].run("sleep 100")]
    while not all(execution.began for execution in busy):
        await asyncio.sleep(0.02)
    print(*started_pids(), flush=True)
    await asyncio.sleep(0 if sys.argv[2] == "exit" else 100)

asyncio.run(main())
"""


def gone(pid: int) -> bool:
    """No such process, or one that only its parent has yet to collect."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("end", ["exit", "SIGTERM", "SIGKILL"])
async def test_f38_no_kernel_of_ours_outlives_us(tmp_path: Path, end: str) -> None:
    from jupyter_client.manager import AsyncKernelManager

    spec = tmp_path / "kernels" / "bash"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "bash_kernel", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Bash", "language": "bash"}))
    theirs = AsyncKernelManager(kernel_name="python3")
    await theirs.start_kernel()
    try:
        program = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", PROGRAM, theirs.connection_file, end],
            env=os.environ | {"JUPYTER_PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        with program:
            assert program.stdout is not None
            pids = [int(word) for word in program.stdout.readline().split()]
            assert len(pids) == 2
            if end != "exit":
                program.send_signal(signal.Signals[end])
            program.wait(30)
        # A program that ends in order waits for its kernels; after a kill they see their parent gone within a second.
        deadline = time.monotonic() + (0 if end == "exit" else 20)
        while not all(gone(pid) for pid in pids):
            assert time.monotonic() < deadline, f"still there after {end}: {[pid for pid in pids if not gone(pid)]}"
            time.sleep(0.05)  # noqa: ASYNC251
        assert await theirs.is_alive()
    finally:
        await theirs.shutdown_kernel(now=True)
