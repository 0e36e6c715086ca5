"""f28: when the host ends, however it ends, nothing that its commands started is left after two seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_agent.shell.processes import start_time

HOST = """
import asyncio, os, signal, sys
from jupyter_agent.shell import Shell

# Whoever started the tests with nohup had it ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

async def main():
    folder, how = sys.argv[1:]
    shell = Shell(folder, os.environ, folder + "/spill")
    command = (
        "trap '' TERM HUP; for n in 1 2; do sleep 600 & echo $!; done >> pids; "
        "setsid bash -c 'echo $$ >> pids; exec env -i sleep 600' & setsid -f bash -c 'echo $$ >> pids; sleep 600'; "
        "echo $$ >> pids; echo $PPID >> pids; wait; sleep 600"
    )
    if "background" in how:
        await shell.start_background(command)
        if "fork" in how:
            # A fork that knows nothing of us holds the keeper's life line open.
            if os.fork() == 0:
                import time
                time.sleep(float(os.environ["HOLD"]))
                os._exit(0)
        await asyncio.sleep(600)
    elif "thread" in how:
        import threading
        threading.Thread(target=lambda: asyncio.run(shell.run(command, 600)), daemon=True).start()
        await asyncio.sleep(600)
    else:
        await shell.run(command, 600)

asyncio.run(main())
"""


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "pids"
    place.touch()
    yield place
    for pid in place.read_text().split():
        assert start_time(int(pid)) == ""


@pytest.mark.parametrize("how", ["foreground", "background", "thread", "background fork"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_f28_nothing_outlives_the_host(tmp_path: Path, pids: Path, how: str, number: signal.Signals) -> None:
    environ = {**os.environ, "HOLD": "20"}
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path), how], env=environ)
    _wait(lambda: len(pids.read_text().split()) == 6, 60)
    members = [int(pid) for pid in pids.read_text().split()]
    assert all(start_time(pid) for pid in members)
    host.send_signal(number)
    host.wait()
    _wait(lambda: not any(start_time(pid) for pid in members), 15)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_f28_nor_the_command_line(tmp_path: Path, pids: Path, number: signal.Signals) -> None:
    command = f"trap '' TERM; (setsid sleep 600 & echo $!; echo $$; echo $PPID) >> {pids}; sleep 600"
    call = json.dumps({"command": command, "timeout": 600})
    arguments = ["tool", "run_bash", call, "--root", str(tmp_path), "--allow", "run_bash"]
    host = subprocess.Popen([sys.executable, "-m", "jupyter_agent", *arguments], stdout=subprocess.DEVNULL)
    _wait(lambda: len(pids.read_text().split()) == 3, 60)
    members = [int(pid) for pid in pids.read_text().split()]
    host.send_signal(number)
    _wait(lambda: not any(start_time(pid) for pid in members), 30)
    host.wait(30)


def _wait(condition, seconds: float) -> None:  # type: ignore[no-untyped-def]
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "still waiting"
        time.sleep(0.02)
