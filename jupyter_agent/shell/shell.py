"""Running commands: each in a new process tree, back by its deadline, with nothing of it left behind.

Starts one keeper process per command (keeper.py) and writes outputs under the spill folder; nothing else is touched.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jupyter_agent.errors import ShellError
from jupyter_agent.shell import keeper, launch, script
from jupyter_agent.shell.processes import kill_marked, start_time
from jupyter_agent.text import Secrets, child_environment, looks_secret

BACKGROUND_LIMIT: Final = 16
"""Background commands that may run at once."""


@dataclass(frozen=True)
class ShellResult:
    """How a command ended.

    `exit_code` is None when it was ended by us (`timed_out`); a signal counts 128 + its number, as bash has it.
    `output` is standard output and error as they came, secrets masked, at most 1 MiB (head and tail with a notice);
    `spill` holds all of it, `size` bytes. `left` names processes that outlived the command and were ended.
    """

    exit_code: int | None
    output: str
    spill: Path
    size: int
    truncated: bool
    timed_out: bool
    seconds: float
    cwd: str
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackgroundStatus:
    """A background command as it stands: output from byte `offset` up to `next_offset` of `size`, at most 1 MiB.

    `exit_code` is None while it runs, and when it was stopped or its keeper was lost.
    """

    id: str
    command: str
    running: bool
    exit_code: int | None
    seconds: float
    output: str
    offset: int
    next_offset: int
    size: int
    spill: Path
    note: str = ""


@dataclass
class _Background:
    """`born` with `pid` names the keeper for ever; `process` is there in the host that started it."""

    id: str
    command: str
    pid: int
    born: str
    mark: str
    spill: str
    status: str
    started: float
    seen: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, compare=False, repr=False)

    def running(self) -> bool:
        if os.path.exists(self.status):
            return False
        if self.process is not None:
            return self.process.poll() is None
        return bool(self.born) and start_time(self.pid) == self.born

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "process"}


class Shell:
    """Commands of one conversation. The final folder and exported variables of each seed the next.

    `environ` is the host's environment: children get its allow-listed part, and its secrets are masked in outputs.
    `spill_dir` is made with mode 0700. All methods run on one event loop; a host that ends without `close` takes its
    background commands along, one that was killed too.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        environ: Mapping[str, str],
        spill_dir: str | os.PathLike[str],
        *,
        secrets: Secrets | None = None,
    ) -> None:
        self.cwd = os.path.realpath(cwd)
        self.spill_dir = Path(spill_dir)
        self._first_cwd = self.cwd
        self._base = {**child_environment(environ), **script.NOT_INTERACTIVE}
        self._environ = dict(self._base)
        self._secrets = secrets if secrets is not None else Secrets.from_environment(environ)
        self._background: dict[str, _Background] = {}
        self._count = 0

    async def run(
        self,
        command: str,
        timeout: float = 60.0,
        *,
        prefix: Sequence[str] = (),
        on_output: Callable[[str], None] | None = None,
    ) -> ShellResult:
        """Run to the end, or to `timeout` seconds: then it is ended with everything it started, within a second.

        `prefix` is an argument vector that runs its own arguments, such as a sandbox. `on_output` is called with the
        output so far (its last 4 KiB) a few times a second. Cancelled, the command is ended first. Raises ShellError
        when it cannot be started.
        """
        mark, spill = uuid.uuid4().hex, self._spill_path()
        process = await self._launch(command, mark, spill, timeout, prefix)
        try:
            outcome = await launch.report(process, mark, spill, on_output)
        except asyncio.CancelledError:
            await asyncio.shield(launch.end(process, mark))
            raise
        # What was ended half-way may have reported a state half-way.
        state = None if outcome["ended_by"] else script.parse_state(outcome["state"])
        if state is not None:
            self.cwd, self._environ = state
        output, truncated = launch.shown(spill)
        return ShellResult(
            exit_code=launch.exit_code(outcome),
            output=output,
            spill=spill,
            size=outcome["size"],
            truncated=truncated or bool(outcome["error"]),
            timed_out=outcome["ended_by"] == "timeout",
            seconds=outcome["seconds"],
            cwd=self.cwd,
            left=tuple(outcome["left"]),
        )

    # ------------------------------------------------------------------------------------------ background

    async def start_background(self, command: str, *, prefix: Sequence[str] = ()) -> str:
        """Start a command that runs on, and return its id. It ends with the host, unless `detach` is called before."""
        running = [item.id for item in self._background.values() if item.running()]
        if len(running) >= BACKGROUND_LIMIT:
            raise ShellError(f"{len(running)} background commands are running ({', '.join(running)}). Stop one first.")
        mark, spill = uuid.uuid4().hex, self._spill_path()
        status = str(spill.with_suffix(".json"))
        process = await self._launch(command, mark, spill, None, prefix, status)
        self._count += 1
        item = _Background(
            id=f"bg{self._count}",
            command=command,
            pid=process.pid,
            born=start_time(process.pid),
            mark=mark,
            spill=str(spill),
            status=status,
            started=time.time(),
            process=process,
        )
        self._background[item.id] = item
        return item.id

    async def check(self, id: str, offset: int | None = None) -> BackgroundStatus:
        """The command's state and its output from byte `offset`; None: what came since the last check."""
        item = self._item(id)
        running = item.running()
        outcome = {} if running else launch.read_outcome(item.status)
        if outcome and item.process is not None:
            await launch.gone(item.process)
        start = item.seen if offset is None else max(offset, 0)
        data, size = launch.read_from(item.spill, start)
        item.seen = start + len(data)
        note = ""
        if outcome.get("left"):
            note = f"processes it left behind were ended: {'; '.join(outcome['left'])}"
        elif outcome.get("ended_by"):
            note = "it was stopped"
        elif not running and not outcome:
            note = "it ended together with the program that had started it; its exit code is unknown"
        return BackgroundStatus(
            id=id,
            command=item.command,
            running=running,
            exit_code=launch.exit_code(outcome),
            seconds=outcome.get("seconds", time.time() - item.started),
            output=data.decode("utf-8", "replace"),
            offset=start,
            next_offset=item.seen,
            size=size,
            spill=Path(item.spill),
            note=note,
        )

    async def stop(self, id: str) -> BackgroundStatus:
        """End the command and everything it started, if it runs; then its state."""
        item = self._item(id)
        if item.running():
            if item.process is not None:
                await launch.end(item.process, item.mark)
            else:
                await asyncio.to_thread(_end_foreign, item.pid, item.born, item.mark)
        return await self.check(id)

    @property
    def background(self) -> tuple[str, ...]:
        """Ids of background commands, oldest first, ended ones too."""
        return tuple(self._background)

    def detach(self) -> None:
        """Let background commands outlive this host; `to_json` then tells another one how to find them."""
        for item in self._background.values():
            if item.process is not None and item.running():
                launch.tell(item.process, b"detach\n")
                launch.hang_up(item.process)
                # No longer ours to wait for, which Popen would warn of.
                item.process.returncode = 0
                item.process = None

    async def close(self) -> None:
        """End all background commands of this host."""
        own = [(item.process, item.mark) for item in self._background.values() if item.process is not None]
        await asyncio.gather(*(launch.end(process, mark) for process, mark in own if process.poll() is None))
        for process, _ in own:
            launch.hang_up(process)

    # ----------------------------------------------------------------------------------------- persistence

    def to_json(self) -> dict[str, Any]:
        """Folder, changed variables (no secret-looking ones) and background commands, for another host."""
        changed = {
            name: self._environ.get(name)
            for name in {*self._environ, *self._base}
            if self._environ.get(name) != self._base.get(name) and not looks_secret(name)
        }
        background = [item.to_json() for item in self._background.values()]
        return {"cwd": self.cwd, "environ": changed, "background": background, "count": self._count}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take over what `to_json` of another host described."""
        self.cwd = str(data.get("cwd", self.cwd))
        for name, value in data.get("environ", {}).items():
            if value is None:
                self._environ.pop(name, None)
            else:
                self._environ[name] = value
        self._count = int(data.get("count", 0))
        for entry in data.get("background", ()):
            self._background[entry["id"]] = _Background(**entry)

    # -------------------------------------------------------------------------------------------- internals

    def _spill_path(self) -> Path:
        try:
            self.spill_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ShellError(
                f"{self.spill_dir} cannot be made ({error.strerror}); outputs could not be kept."
            ) from None
        return self.spill_dir / f"command-{uuid.uuid4().hex[:12]}.txt"

    async def _launch(
        self, command: str, mark: str, spill: Path, timeout: float | None, prefix: Sequence[str], status: str = ""
    ) -> subprocess.Popen[bytes]:
        if not os.path.isdir(self.cwd):
            self.cwd = self._first_cwd
        request = launch.request(
            command,
            environ=self._environ,
            cwd=self.cwd,
            mark=mark,
            spill=spill,
            timeout=timeout,
            prefix=prefix,
            secrets=self._secrets,
            status=status,
        )
        launching = asyncio.ensure_future(asyncio.to_thread(launch.launch, request))
        try:
            return await asyncio.shield(launching)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it starts is ended here, where somebody still knows of it.
            with suppress(ShellError):
                await launch.end(await launching, mark)
            raise

    def _item(self, id: str) -> _Background:
        item = self._background.get(id)
        if item is None:
            known = ", ".join(self._background) or "none"
            raise ShellError(f"There is no background command {id!r}. Known: {known}.")
        return item


def _end_foreign(pid: int, born: str, mark: str) -> None:
    """End a command whose keeper another host started. No call of all platforms waits for another's child."""
    limit = time.monotonic() + keeper.GRACE + keeper.KILL_WAIT + 2
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    while start_time(pid) == born and time.monotonic() < limit:
        time.sleep(0.01)
    if start_time(pid) == born:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    kill_marked(mark)
