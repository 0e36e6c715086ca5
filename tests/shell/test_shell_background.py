"""Background commands: started, read by offset, stopped, found again by another host."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_agent.errors import ShellError
from jupyter_agent.shell import BackgroundStatus, Shell
from jupyter_agent.shell import shell as shell_module
from jupyter_agent.shell.processes import start_time
from jupyter_agent.testing.waiting import until as until_true


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    yield shell
    await shell.close()


async def until(shell: Shell, id: str, text: str) -> str:
    """Read on until the output holds `text`."""
    output = ""
    while text not in output:
        status = await shell.check(id)
        output += status.output
        assert status.running or text in output, f"ended without {text!r}: {output!r}"
        await asyncio.sleep(0.01)
    return output


async def ended(shell: Shell, id: str) -> BackgroundStatus:
    status = await shell.check(id, 0)
    while status.running:
        await asyncio.sleep(0.01)
        status = await shell.check(id, 0)
    return status


async def test_start_check_by_offset_and_end(shell: Shell, tmp_path: Path) -> None:
    go = tmp_path / "go"
    id = await shell.start_background(f"echo one; until [ -e {go} ]; do sleep 0.01; done; echo two; exit 3")
    assert await until(shell, id, "one\n") == "one\n"
    status = await shell.check(id)
    assert (status.running, status.exit_code, status.output) == (True, None, "")
    go.touch()
    assert await until(shell, id, "two\n") == "two\n"
    status = await ended(shell, id)
    assert (status.running, status.exit_code, status.output, status.note) == (False, 3, "one\ntwo\n", "")
    assert (await shell.check(id, 4)).output == "two\n"
    assert status.next_offset == status.size == 8


async def test_stop_ends_everything_it_started(shell: Shell, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    id = await shell.start_background(f"setsid sleep 600 & echo $! > {pids}; echo up; sleep 601")
    await until(shell, id, "up")
    status = await shell.stop(id)
    assert not status.running
    assert status.exit_code is None
    assert status.note == "it was stopped"
    assert start_time(int(pids.read_text())) == ""
    assert (await shell.stop(id)).note == "it was stopped"


async def test_an_unknown_id_names_the_known_ones(shell: Shell) -> None:
    id = await shell.start_background("sleep 600")
    with pytest.raises(ShellError, match=id):
        await shell.check("bg99")


async def test_too_many_are_refused(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_module, "BACKGROUND_LIMIT", 1)
    id = await shell.start_background("sleep 600")
    with pytest.raises(ShellError, match="Stop one first"):
        await shell.start_background("sleep 600")
    await shell.stop(id)
    await shell.start_background("sleep 600")


async def test_offsets_do_not_cut_characters(shell: Shell, tmp_path: Path) -> None:
    go = tmp_path / "go"
    id = await shell.start_background(f"printf 'x\\xe6\\xbc'; until [ -e {go} ]; do sleep 0.01; done; printf '\\xa2y'")
    await until(shell, id, "x")
    assert (await shell.check(id)).output == ""
    go.touch()
    assert await until(shell, id, "漢y") == "漢y"


async def test_what_is_printed_shows_while_the_command_runs_although_secrets_are_masked(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {**os.environ, "API_KEY": "sk-0123456789abcdefghijklmnop"}, tmp_path / "spill")
    id = await shell.start_background("echo ready on port 8000; sleep 600")
    assert await until(shell, id, "8000") == "ready on port 8000\n"
    await shell.close()


HOST = """
import asyncio, json, os, sys
from jupyter_agent.shell import Shell

async def main():
    shell = Shell(sys.argv[1], os.environ, sys.argv[1] + "/spill")
    await shell.start_background("echo started; echo $$ > pid; sleep 600")
    if sys.argv[2] == "detach":
        shell.detach()
    print(json.dumps(shell.to_json()))

asyncio.run(main())
"""


def _host(tmp_path: Path, how: str) -> dict[str, object]:
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", HOST, str(tmp_path), how], capture_output=True, text=True, check=True
    )
    assert how == "leave" or not out.stderr
    state: dict[str, object] = json.loads(out.stdout)
    return state


async def test_a_detached_command_outlives_its_host_and_is_found_and_stopped_by_another(
    shell: Shell, tmp_path: Path
) -> None:
    shell.restore(_host(tmp_path, "detach"))
    (id,) = shell.background
    await until(shell, id, "started")
    await until_true(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    assert start_time(pid) != ""
    assert (await shell.check(id)).running
    status = await shell.stop(id)
    assert (status.running, status.note) == (False, "it was stopped")
    assert start_time(pid) == ""


async def test_without_detach_it_ends_with_its_host(shell: Shell, tmp_path: Path) -> None:
    shell.restore(_host(tmp_path, "leave"))
    (id,) = shell.background
    status = await ended(shell, id)
    assert status.exit_code is None
    assert status.note


async def test_closing_lets_go_of_commands_that_had_ended_unnoticed(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    id = await shell.start_background("true")
    process = shell._item(id).process
    assert process is not None
    assert process.stdin is not None
    await until_true(lambda: process.poll() is not None)
    await shell.close()
    assert process.stdin.closed


async def test_a_command_cancelled_while_it_is_started_is_ended(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    for _ in range(5):
        run = asyncio.ensure_future(shell.run("sleep 300; echo never"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    mine = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    left = [int(pid) for pid in Path(mine).read_text().split()]
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left if Path(f"/proc/{pid}/cmdline").exists()]
    assert not [command for command in commands if b"keeper" in command]
    assert all("never" not in path.read_text() for path in (tmp_path / "spill").glob("*.txt"))
