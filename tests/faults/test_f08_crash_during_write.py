"""f8: a program killed while it writes leaves the old file or the new one, never a part of either."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WRITER = """
import asyncio, sys
from jupyter_agent.testing.effects import commit
from jupyter_agent.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1])
    sizes = (3_000_000, 10, 500_000)
    print("ready", flush=True)
    number = 0
    while True:
        body = bytes([65 + number % 26]) * sizes[number % 3]
        await commit(workspace.write("data.bin", b"%d:" % len(body) + body))
        number += 1

asyncio.run(main())
"""


@pytest.mark.parametrize("worker", range(4))
def test_f08_killed_at_random_points_the_file_is_whole(tmp_path: Path, worker: int) -> None:
    randomness = random.Random(worker)
    path = tmp_path / "data.bin"
    path.write_bytes(b"1:Z")
    path.chmod(0o640)
    # Many kills per start would need a fork per kill; five starts here times four workers is twenty points, and each
    # start is killed after a random number of finished writes, in the middle of the next.
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(randomness.random() * 0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        size, _, body = path.read_bytes().partition(b":")
        assert int(size) == len(body)
        assert len(set(body)) == 1
        assert path.stat().st_mode & 0o777 == 0o640
    left = [name for name in os.listdir(tmp_path) if name != "data.bin"]
    assert len(left) <= 1, "each kill left a temporary file behind"


DYING = """
import asyncio, os, signal, sys
from pathlib import Path
from jupyter_agent import atomic
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.tools import all_tools

step = int(sys.argv[2])
seen = 0
armed = False

# Dies at the step-th primitive that touches the file's folder: a write in its middle, the others before they happen.
class Dying:
    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in ("open", "write", "fchmod", "fsync", "replace"):
            return real
        def primitive(*arguments, **more):
            global seen
            seen += armed
            if armed and seen == step:
                if name == "write":
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)
        return primitive

async def main():
    global armed
    root = Path(sys.argv[1])
    async with conversation_on(root / "root", all_tools(), folder=root / "c") as conversation:
        await call(conversation, "read_file", path="a.txt")
        atomic.os = Dying()
        armed = True
        content = "new line\\n" * 100_000
        result = await call(conversation, "write_file", path="a.txt", content=content, percentage_to_change=100)
        assert not result.is_error, result

asyncio.run(main())
"""


@pytest.mark.parametrize("step", range(1, 9))
def test_f08_killed_at_each_step_of_the_write_the_file_is_whole(tmp_path: Path, step: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.txt"
    path.write_bytes(b"old line\n" * 1_000)
    process = subprocess.run([sys.executable, "-c", DYING, str(tmp_path), str(step)], check=False)
    assert process.returncode in (0, -signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL or step > 5
    assert path.read_bytes() in (b"old line\n" * 1_000, b"new line\n" * 100_000)
