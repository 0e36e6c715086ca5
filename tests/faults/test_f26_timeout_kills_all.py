"""f26: at the deadline everything a command started is gone, whatever shape it took; the call comes back with it."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_agent.shell import Shell
from jupyter_agent.testing.approvals import yes
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tools import all_tools

# Each command keeps something running that has TOKEN among its arguments.
SHAPES = {
    "sleep": "sleep TOKEN",
    "background child": "sleep TOKEN & wait",
    "forgotten background child": "sleep TOKEN & sleep TOKEN & true",
    "setsid child": "setsid sleep TOKEN & wait",
    "setsid and disown": "setsid sleep TOKEN & disown; sleep TOKEN",
    "double fork": "( ( setsid sleep TOKEN & ) & ) ; sleep TOKEN",
    "no environment": "setsid -f env -i sleep TOKEN; sleep TOKEN",
    "trap TERM": "trap '' TERM; bash -c \"trap '' TERM; while :; do sleep 0.05; done\" TOKEN",
    "ignored INT and HUP": "trap '' INT HUP; nohup sleep TOKEN",
    "yes": "yes TOKEN",
    "pipe held open": "sleep TOKEN | cat",
    "python": "PYTHON -c 'import time; time.sleep(1e6)' TOKEN",
    "python that ignores TERM": "PYTHON -c 'import signal, time; signal.signal(15, signal.SIG_IGN); "
    "time.sleep(1e6)' TOKEN",
    "python daemon": "PYTHON -c 'import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
    "time.sleep(1e6)' TOKEN; sleep TOKEN",
    "nohup": "nohup sleep TOKEN > /dev/null 2>&1 & wait",
    "subshell": "(cd / && sleep TOKEN)",
    "exec": "exec sleep TOKEN",
    "stopped": "sleep TOKEN & kill -STOP $!; wait",
    "forks without end": "f() { bash -c ': TOKEN; sleep 0.05; exec bash -c \"sleep 0.05; :\" TOKEN' TOKEN & }; "
    "while :; do f; sleep 0.01; done",
    "co-process": "coproc sleep TOKEN; wait",
    "timeout of its own": "timeout 100000 sleep TOKEN",
    "xargs": "yes TOKEN | xargs -n1 -P4 sleep",
    "closed output": "exec 1>&- 2>&-; sleep TOKEN",
}


def survivors(token: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if token in command and state != "Z":
            found.append(command)
    return found


@pytest.fixture
def token() -> Iterator[str]:
    # A number that `sleep` takes: years, and nobody else's.
    token = f"9{uuid.uuid4().int % 10**12:012}"
    yield token
    assert survivors(token) == []


@pytest.mark.parametrize("shape", SHAPES)
async def test_f26_back_by_the_deadline_and_nothing_survives(tmp_path: Path, token: str, shape: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    command = SHAPES[shape].replace("PYTHON", sys.executable).replace("TOKEN", token)
    forgotten = shape == "forgotten background child"
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", mode="review", asker=yes) as conversation:
        started = time.monotonic()
        result = await call(conversation, "run_bash", command=command, timeout=60 if forgotten else 1)
        assert time.monotonic() - started < 20
        assert result.details["seconds"] < 11
        assert survivors(token) == []
    if forgotten:
        assert result.details["exit_code"] == 0
        assert any(token in name for name in result.details["left"])
    else:
        assert result.details["timed_out"]
        assert text_of(result).startswith("error: timed out after 1 s")


async def test_f26_what_a_program_prints_when_asked_to_end_is_kept(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    result = await shell.run("trap 'echo cleaned up; exit' TERM; echo working; while :; do sleep 0.02; done", timeout=1)
    assert result.timed_out
    # bash may say in between that the sleep was terminated.
    assert result.output.startswith("working\n")
    assert result.output.endswith("cleaned up\n")
