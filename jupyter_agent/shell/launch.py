"""Starting a keeper, talking to it, and hearing its report; and reading what it spilled."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import jupyter_agent.text
from jupyter_agent.errors import ShellError
from jupyter_agent.shell import keeper, script
from jupyter_agent.shell.processes import MARK, kill_marked
from jupyter_agent.text import Secrets, child_environment

SPILL_LIMIT: Final = 1 << 30
"""Bytes of output kept of one command; of more, the beginning and the last 64 KiB."""
SHOWN_LIMIT: Final = 1 << 20
"""Bytes of output returned in memory: all, or head and tail."""
_REPORT_LIMIT: Final = 8 << 20
_PROGRESS_SECONDS: Final = 0.25


def request(
    command: str,
    *,
    environ: Mapping[str, str],
    cwd: str,
    mark: str,
    spill: Path,
    timeout: float | None,
    prefix: Sequence[str] = (),
    secrets: Secrets,
    status: str = "",
) -> dict[str, Any]:
    """What a keeper is told. `status` names a file that gets the outcome too, for whoever asks later.

    Raises ShellError where the command cannot be run here.
    """
    if "\0" in command:
        raise ShellError("A command cannot hold a NUL character. Write it as \\0 inside quotes.")
    bash = shutil.which("bash", path=environ.get("PATH")) or shutil.which("bash")
    if bash is None or not hasattr(os, "fork"):
        raise ShellError("Commands need bash on Linux or macOS. Use run_code or the file tools instead.")
    argv = [*prefix, *script.arguments(bash)]
    program = shutil.which(argv[0])
    if program is None:
        raise ShellError(f"{argv[0]} is not there, so the command cannot be started in it.")
    return {
        "command": command,
        "argv": [program, *argv[1:]],
        "environ": {**environ, MARK: mark, "PWD": cwd},
        "cwd": cwd,
        "mark": mark,
        "timeout": timeout,
        "spill": str(spill),
        "spill_limit": SPILL_LIMIT,
        "status": status,
        "script_fd": script.SCRIPT_FD,
        "state_fd": script.STATE_FD,
        "secrets": secrets.values,
        "text_module": jupyter_agent.text.__file__,
    }


def launch(request: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a keeper. Its standard input is its life line: it ends the command when that closes. Raises ShellError."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if request["status"] else subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=child_environment(os.environ),
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise ShellError(f"The command could not be started: {error}. Try again in a while.") from None
    tell(process, json.dumps(request).encode() + b"\n")
    return process


def tell(process: subprocess.Popen[bytes], message: bytes) -> None:
    """Send a keeper a message; one that is gone is not told."""
    assert process.stdin is not None
    view = memoryview(message)
    with suppress(OSError, ValueError):
        while view:
            view = view[process.stdin.write(view) or 0 :]


async def report(
    process: subprocess.Popen[bytes], mark: str, spill: Path, on_output: Callable[[str], None] | None
) -> dict[str, Any]:
    """The keeper's outcome. Raises ShellError, after ending what is left, if the keeper itself was killed."""
    assert process.stdout is not None
    reader = asyncio.StreamReader(limit=_REPORT_LIMIT)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), process.stdout
    )
    reading = asyncio.ensure_future(reader.readline())
    shown = 0
    try:
        while on_output is not None and not reading.done():
            await asyncio.wait([reading], timeout=_PROGRESS_SECONDS)
            size = spill.stat().st_size if spill.exists() else 0
            if size != shown and not reading.done():
                shown = size
                on_output(read_from(str(spill), max(size - 4096, 0))[0].decode("utf-8", "replace"))
        line = await reading
    finally:
        reading.cancel()
        transport.close()
    await gone(process)
    if not line:
        await asyncio.to_thread(kill_marked, mark)
        raise ShellError("The command's keeper process was ended from outside, and the command with it.")
    outcome: dict[str, Any] = json.loads(line)
    return outcome


async def end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Have the keeper end its command, and make sure of it."""
    tell(process, b"stop\n")
    if not await gone(process):
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.to_thread(kill_marked, mark)
        await gone(process)


async def gone(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the keeper's end, as long as ending a command may take."""
    try:
        await asyncio.to_thread(process.wait, keeper.GRACE + keeper.KILL_WAIT + 5)
    except subprocess.TimeoutExpired:
        return False
    hang_up(process)
    return True


def hang_up(process: subprocess.Popen[bytes]) -> None:
    """Close the life line, and what the keeper may have to say."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def exit_code(outcome: Mapping[str, Any]) -> int | None:
    """The exit code, 128 + n for signal n as bash has it; None when we ended the command or know nothing."""
    code = outcome.get("exit")
    if outcome.get("ended_by") or code is None:
        return None
    return int(code) if code >= 0 else 128 - int(code)


def shown(spill: Path) -> tuple[str, bool]:
    """The output for memory: all of a file up to the limit, else its head and tail. True: something is left out."""
    try:
        size = spill.stat().st_size
        with spill.open("rb") as file:
            if size <= SHOWN_LIMIT:
                return file.read().decode("utf-8", "replace"), False
            head = file.read(SHOWN_LIMIT // 2)
            file.seek(size - SHOWN_LIMIT // 2)
            tail = file.read()
    except OSError:
        return "", True
    notice = f"\n[… {size - len(head) - len(tail):,} bytes left out here …]\n"
    return head.decode("utf-8", "replace") + notice + tail.decode("utf-8", "replace"), True


def read_from(path: str, offset: int) -> tuple[bytes, int]:
    """(at most 1 MiB from `offset`, not ending inside a character; the file's size)."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            data = file.read(SHOWN_LIMIT)
    except OSError:
        return b"", 0
    for back in range(1, min(4, len(data) + 1)):
        if data[-back] & 0xC0 == 0xC0:
            length = 2 if data[-back] < 0xE0 else 3 if data[-back] < 0xF0 else 4
            return (data[:-back] if length > back else data), size
        if data[-back] < 0x80:
            break
    return data, size


def read_outcome(path: str) -> dict[str, Any]:
    """The outcome that a keeper left in its status file, `{}` while there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            data: dict[str, Any] = json.load(file)
            return data
    except (OSError, ValueError):
        return {}
