"""f27: whoever holds the output pipe open after the deadline is not waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_agent.shell import Shell

HOLDER = """
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
connection, _ = server.accept()
kept = socket.recv_fds(connection, 1, 1)
connection.sendall(b"x")
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of another's, which no killing of ours may touch: it takes a descriptor and keeps it."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "s")])
    yield process
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.mark.usefixtures("holder")
@pytest.mark.parametrize("then", ["true", "sleep 600"])
async def test_f27_an_outside_process_that_holds_the_pipe_is_not_waited_for(tmp_path: Path, then: str) -> None:
    place = tmp_path / "s"
    hand_over = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{place}'); "
        "socket.send_fds(s, [b'x'], [1]); s.recv(1)"
    )
    command = f'until [ -S {place} ]; do sleep 0.02; done; {sys.executable} -c "{hand_over}"; echo handed over; {then}'
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    result = await shell.run(command, timeout=15 if then != "true" else 60)
    assert result.seconds < 40
    assert result.output.startswith("handed over\n")
    assert result.timed_out == (then != "true")


@pytest.mark.parametrize(
    "escape",
    [
        "setsid -f sleep 300",
        "env -i setsid -f sleep 300",
        "(setsid bash -c 'sleep 300 & disown' &)",
        "nohup setsid sleep 300 &",
        "exec 9>&1; sleep 300 >&9 2>&9 &",
    ],
)
async def test_f27_a_child_that_escapes_with_the_pipe(tmp_path: Path, escape: str) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    result = await shell.run(f"{escape}\necho done", timeout=60)
    assert result.output == "done\n"
    assert result.exit_code == 0
    assert result.seconds < 20
    assert any("sleep 300" in name for name in result.left)
