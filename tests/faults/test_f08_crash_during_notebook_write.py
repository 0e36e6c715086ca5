"""f8: a program killed while it writes a notebook leaves the old notebook or the new one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_agent.testing.samples import sample, write_notebook

WRITER = """
import asyncio, os, signal, sys
from pathlib import Path
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.tools.cells import edit_cells

path, step = Path(sys.argv[1]), int(sys.argv[2])
inode = lambda: os.stat(path).st_ino
first = inode()
# Dies at the `step`-th primitive that touches the folder of the notebook: before it, and for writes in the middle.
names = ("write", "fsync", "replace", "fchmod", "open")
seen = 0
def dying(name, real):
    def primitive(*arguments, **more):
        global seen
        if armed:
            seen += 1
            if seen == step:
                if name == "write":
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)
    return primitive
armed = False

async def main():
    global armed
    async with conversation_on(path.parent, {"edit_cells": edit_cells}, folder=Path(sys.argv[3])) as conversation:
        import jupyter_agent.atomic as atomic
        real = atomic.os
        class Dying:
            def __getattr__(self, name):
                value = getattr(real, name)
                return dying(name, value) if name in names else value
        atomic.os = Dying()
        armed = True
        ops = [{"op": "insert", "type": "code", "source": "x = 1\\n" * 1000}]
        result = await call(conversation, "edit_cells", path=path.name, ops=ops)
        armed = False
        assert not result.is_error, result
asyncio.run(main())
print("finished")
"""


@pytest.mark.parametrize("step", range(1, 10))
def test_f08_killed_at_each_step_the_notebook_is_whole(tmp_path: Path, step: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = write_notebook(root / "a.ipynb", sample())
    path.chmod(0o640)
    old = path.read_bytes()
    process = subprocess.run(
        [sys.executable, "-c", WRITER, str(path), str(step), str(tmp_path / "conversation")],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    new = path.read_bytes()
    if new != old:
        assert len(json.loads(new)["cells"]) == 5
    if step <= 4:
        assert process.returncode == -signal.SIGKILL
        assert new == old
    assert path.stat().st_mode & 0o777 == 0o640
