"""f9: a full disk costs nothing: the old file is intact, the error says so, and work goes on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.testing.effects import commit
from jupyter_agent.workspace import Workspace

OLD = b"precious\n" * 2000


@pytest.mark.parametrize("call", range(1, 8))
async def test_f09_no_space_at_any_system_call_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """The k-th of the calls that can meet a full disk fails, as the kernel would make it fail."""
    path = tmp_path / "a.txt"
    path.write_bytes(OLD)
    workspace = Workspace(tmp_path)
    effect = workspace.write("a.txt", b"new\n" * 100_000)
    count = 0

    def failing(name: str):  # type: ignore[no-untyped-def]
        real = getattr(os, name)

        def replacement(*args, **kwargs):  # type: ignore[no-untyped-def]
            nonlocal count
            creating = name != "open" or (len(args) > 1 and args[1] & os.O_CREAT)
            count += bool(creating)
            if creating and count == call:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if name == "write":
                return real(args[0], bytes(args[1])[:65_536])
            return real(*args, **kwargs)

        return replacement

    with monkeypatch.context() as patch:
        for name in ("open", "write", "fsync", "replace"):
            patch.setattr(os, name, failing(name))
        with pytest.raises(WorkspaceRefused) as caught:
            await commit(effect)
    assert caught.value.kind == "no_space"
    assert "as it was" in caught.value.message
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["a.txt"]
    await commit(workspace.write("a.txt", b"later\n"))
    assert path.read_bytes() == b"later\n"


WRITER = """
import asyncio, resource, sys
from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.testing.effects import commit
from jupyter_agent.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1])
    limit = int(sys.argv[2])
    effect = workspace.write("a.txt", b"x" * 100_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        await commit(effect)
    except WorkspaceRefused as error:
        print(error.kind, error)

asyncio.run(main())
"""


@pytest.mark.parametrize("limit", [0, 1, 4096, 65_537, 99_999])
def test_f09_a_write_that_the_system_really_cuts_short(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(OLD)
    out = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path), str(limit)], capture_output=True, text=True, check=True
    ).stdout
    assert out.startswith("no_space")
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["a.txt"]
