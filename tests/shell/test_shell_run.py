"""Foreground commands: exit codes, state that seeds the next, masked and spilled output, cancellation."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_agent.errors import ShellError
from jupyter_agent.shell import Shell, keeper, launch
from jupyter_agent.shell.processes import Tracker, start_time
from jupyter_agent.testing.waiting import until


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    work = tmp_path / "work"
    work.mkdir()
    return Shell(work, os.environ, tmp_path / "spill")


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("echo out; echo err >&2", 0, "out\nerr\n"),
        ("exit 3", 3, ""),
        ("false", 1, ""),
        ("true", 0, ""),
        ("kill -TERM $$", 143, ""),
        ("kill -KILL $$", 137, ""),
        ("(exit 7)", 7, ""),
        ("set -e; false; echo not reached", 1, ""),
        ("trap 'echo bye' EXIT; exit 4", 4, "bye\n"),
        ("exec echo replaced", 0, "replaced\n"),
        ("printf '%s\\n' one 'two three' \"$(printf four)\"", 0, "one\ntwo three\nfour\n"),
        ("cat <<'X'\nhere $HOME\nX", 0, "here $HOME\n"),
        ("echo \\\ncontinued", 0, "continued\n"),
        ("# only a comment", 0, ""),
        ("", 0, ""),
        ("echo done > >(cat)", 0, "done\n"),
        ("printf 'no newline'", 0, "no newline"),
        ("printf '\\xff\\n'", 0, "\ufffd\n"),
        ("[[ -t 0 || -t 1 ]] && echo terminal || echo none", 0, "none\n"),
    ],
)
async def test_output_and_exit_code(shell: Shell, command: str, code: int, output: str) -> None:
    result = await shell.run(command)
    assert (result.exit_code, result.output) == (code, output)
    assert not result.timed_out
    assert not result.truncated
    assert result.size == len(result.spill.read_bytes())


async def test_errors_name_the_commands_own_lines(shell: Shell) -> None:
    result = await shell.run("true\nno-such-program\n")
    assert result.exit_code == 127
    assert "line 2: no-such-program: command not found" in result.output
    result = await shell.run("echo 'unfinished")
    assert result.exit_code != 0
    assert "unexpected EOF" in result.output


async def test_folder_and_exported_variables_seed_the_next_command(shell: Shell) -> None:
    first = shell.cwd
    await shell.run("mkdir -p 'sub dir'; cd 'sub dir'; export A='1 2\n3'; unset LANG; B=hidden")
    result = await shell.run('pwd; echo "$A"; echo "${LANG-unset} ${B-unset}"; exit 5')
    assert result.output == f"{first}/sub dir\n1 2\n3\nunset unset\n"
    assert result.cwd == f"{first}/sub dir"
    assert (await shell.run("cd -- .. && false; export C=4; exit 2")).exit_code == 2
    assert (await shell.run("pwd; echo $C")).output == f"{first}\n4\n"


@pytest.mark.parametrize(
    "command",
    [
        "export A=new; PATH=/nowhere",
        "set -e; export A=new; false",
        "export A=new; trap 'true' EXIT",
        "set -u; export A=new",
        "IFS=x; export A=new",
        "export A=new; exec 2>&-; exec 1>&-",
        "export A=new; exit 9",
        "export A=new B='()  { echo; }'",
    ],
)
async def test_state_is_kept_whatever_the_command_does_to_its_shell(shell: Shell, command: str) -> None:
    await shell.run(command)
    assert (await shell.run('echo "$A"')).output == "new\n"


async def test_a_command_that_is_ended_leaves_the_state_as_it_was(shell: Shell) -> None:
    await shell.run("export A=old")
    await shell.run("export A=new; sleep 60", timeout=0.3)
    await shell.run("export A=new; exec true")
    assert (await shell.run('echo "$A"')).output == "old\n"


async def test_a_folder_that_vanished_is_replaced_by_the_first(shell: Shell) -> None:
    first = shell.cwd
    await shell.run("mkdir gone && cd gone && rmdir ../gone")
    assert (await shell.run("pwd")).output == f"{first}\n"


async def test_a_command_longer_than_an_argument_may_be(shell: Shell) -> None:
    text = "x" * 3_000_000
    result = await shell.run(f"wc -c <<'X'\n{text}\nX")
    assert result.output.strip() == "3000001"


async def test_a_nul_is_refused_with_advice(shell: Shell) -> None:
    with pytest.raises(ShellError, match="NUL"):
        await shell.run("echo a\0b")


async def test_without_bash_the_error_says_what_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ShellError, match="bash"):
        await Shell(tmp_path, {"PATH": str(tmp_path)}, tmp_path / "spill").run("true")


async def test_secrets_are_absent_from_the_environment_and_masked_in_output_and_spill(tmp_path: Path) -> None:
    secret = "kJ8-very/secret+value"
    environ = {**os.environ, "SOME_API_KEY": secret}
    shell = Shell(tmp_path, environ, tmp_path / "spill")
    assert secret not in (await shell.run("env")).output
    leak = f"printf '%s' '{secret[:9]}'; sleep 0.1; printf '%s\\n' '{secret[9:]}'; printf %s '{secret}' | base64"
    result = await shell.run(leak + "; head -c 300000 /dev/zero | tr '\\0' x; echo '" + secret + "'")
    assert secret not in result.output
    assert result.output.count("[secret SOME_API_KEY]") == 3
    for path in (tmp_path / "spill").iterdir():
        assert secret.encode() not in path.read_bytes()


async def test_files_of_output_are_private(shell: Shell) -> None:
    result = await shell.run("echo x")
    assert result.spill.stat().st_mode & 0o777 == 0o600
    assert shell.spill_dir.stat().st_mode & 0o777 == 0o700


async def test_progress_is_reported_while_it_runs(shell: Shell) -> None:
    seen: list[str] = []
    arrived = asyncio.Event()

    def on_output(text: str) -> None:
        seen.append(text)
        arrived.set()

    running = asyncio.create_task(shell.run("echo early; sleep 60", on_output=on_output))
    await asyncio.wait_for(arrived.wait(), 30)
    assert seen[0] == "early\n"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cancelled_command_is_ended_before_the_cancellation_passes_on(shell: Shell, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    running = asyncio.create_task(shell.run(f"echo $$ > {pid_file}; sleep 600"))
    await until(lambda: pid_file.exists() and pid_file.read_text().strip())
    pid = int(pid_file.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert start_time(pid) == ""


async def test_a_keeper_killed_from_outside_is_an_error_and_takes_the_command_along(
    shell: Shell, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    running = asyncio.create_task(shell.run(f"sleep 600 & echo $! > {pid_file}; kill -9 $PPID; wait"))
    with pytest.raises(ShellError, match="ended from outside"):
        await running
    # The kernel takes a killed process down when it next has a moment for it.
    await until(lambda: start_time(int(pid_file.read_text())) == "")


async def test_a_prefix_wraps_the_command(shell: Shell) -> None:
    result = await shell.run("echo $WRAPPED", prefix=["env", "WRAPPED=yes"])
    assert result.output == "yes\n"
    with pytest.raises(ShellError, match="no-such-sandbox"):
        await shell.run("true", prefix=["no-such-sandbox"])


async def test_output_beyond_the_cap_keeps_beginning_and_end(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "SPILL_LIMIT", 100_000)
    result = await shell.run("seq 1 200000")
    text = result.spill.read_text()
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n199999\n200000\n")
    assert "bytes were not kept" in text
    assert len(text) < 200_000
    assert result.size == 1_288_895


async def test_state_survives_json_without_secret_looking_variables(shell: Shell, tmp_path: Path) -> None:
    await shell.run("cd /; export A=1 MY_TOKEN=abcdefghijkl; unset LOGNAME")
    data = shell.to_json()
    assert "abcdefghijkl" not in str(data)
    other = Shell(tmp_path, os.environ, tmp_path / "spill")
    other.restore(data)
    assert (await other.run('pwd; echo "$A ${LOGNAME-unset}"')).output == "/\n1 unset\n"
    assert (await shell.run('echo "$MY_TOKEN"')).output == "abcdefghijkl\n"


@pytest.fixture
def children() -> Iterator[list[int]]:
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.waitpid(pid, 0)


def test_systems_without_proc_are_asked_through_ps(monkeypatch: pytest.MonkeyPatch, children: list[int]) -> None:
    """What macOS runs, run here on the same `ps` columns."""
    from jupyter_agent.shell import processes

    monkeypatch.setattr(processes, "_LINUX", False)
    pid = os.posix_spawn("/bin/bash", ["bash", "-c", "sleep 500 & exec sleep 501"], {processes.MARK: "m1"}, setsid=True)
    children.append(pid)
    tracker = Tracker(pid, "m1")
    assert start_time(pid) != ""
    while not any("sleep 500" in name for name in tracker.names()):
        pass
    assert pid in tracker.find()
    assert tracker.kill_all(10)
    assert start_time(pid) == ""


def test_the_keeper_needs_only_the_standard_library() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-I", "-S", keeper.__file__], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert done.stderr == b""
