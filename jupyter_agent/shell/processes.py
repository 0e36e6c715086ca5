"""Finding and ending every process of a command, by kinship, group and an environment mark.

Standard library only: the keeper runs it without the package. Reads /proc (Linux) or asks `ps`; signals processes that
belong to the command and no others.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

MARK = "JUPYTER_AGENT_COMMAND"
"""Environment variable that every process of a command inherits; its value is the command's own."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"


def become_subreaper() -> bool:
    """Have orphaned descendants reparented to this process (Linux): even `setsid -f` without environment stays ours."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends (Linux). Only safe where the parent has a single thread: the signal is sent when
    the thread that forked us ends."""
    if _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> bool:
    if not _LINUX:
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


class Tracker:
    """The processes of one command, whose first process is `leader` (of a session of its own), asked by the keeper."""

    def __init__(self, leader: int, mark: str) -> None:
        self._leader = leader
        self._mark = f"{MARK}={mark}".encode()
        self._keeper = os.getpid()

    def alive(self) -> bool:
        return bool(self.find())

    def find(self) -> list[int]:
        """Process ids of the command that still run (zombies do not): descendants, its session, its mark."""
        table = _table()
        members = set(self._descendants(table))
        members |= {pid for pid, (_, session, _) in table.items() if session == self._leader}
        members |= _marked(self._mark, table)
        members.discard(self._keeper)
        return [pid for pid in members if pid in table and table[pid][2] != "Z"]

    def names(self) -> list[str]:
        """What still runs, for a person: command lines, shortened."""
        return [name for pid in self.find()[:10] if (name := _command_line(pid))]

    def signal(self, number: int) -> None:
        """Send a signal to everything that is left, as if at one moment.

        All are stopped first and woken when each has the signal waiting: else a shell whose `sleep` ends before its own
        turn comes goes on with the command after it.
        """
        pids = self.find()
        for step in (signal.SIGSTOP, number, signal.SIGCONT):
            for pid in pids:
                _send(pid, step)

    def kill_all(self, seconds: float = 0.2) -> bool:
        """SIGKILL until nothing is found (a process may fork while it is looked for). False: some are left."""
        limit = time.monotonic() + seconds
        while pids := self.find():
            # Stopped first, so that what forks in a loop cannot outrun the killing.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    _send(pid, number)
            if time.monotonic() > limit:
                return False
            time.sleep(0.002)
        return True

    def _descendants(self, table: dict[int, tuple[int, int, str]]) -> Iterable[int]:
        children: dict[int, list[int]] = {}
        for pid, (parent, _, _) in table.items():
            children.setdefault(parent, []).append(pid)
        pending = [self._leader, *children.get(self._keeper, ())]
        seen: set[int] = set()
        while pending:
            pid = pending.pop()
            if pid not in seen:
                seen.add(pid)
                pending.extend(children.get(pid, ()))
        return seen


def kill_marked(mark: str, seconds: float = 1.0) -> None:
    """Kill everything that carries a command's mark: what is done when its keeper itself was killed."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        table = _table()
        pids = [pid for pid in _marked(f"{MARK}={mark}".encode(), table) if pid != os.getpid() and table[pid][2] != "Z"]
        if not pids:
            return
        for pid in pids:
            _send(pid, signal.SIGKILL)
        time.sleep(0.002)


def start_time(pid: int) -> str:
    """When a process started, as its system says it: with the id it names one process for ever. `""`: no such one."""
    if _LINUX:
        with suppress(OSError, IndexError):
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            return "" if fields[0] == b"Z" else fields[19].decode()
        return ""
    import subprocess

    found = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = found.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()


def _send(pid: int, number: int) -> None:
    if pid > 1:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _table() -> dict[int, tuple[int, int, str]]:
    """Process id to (parent, session or group, state letter)."""
    if not _LINUX:
        return {pid: row[:3] for pid, row in _ps().items()}
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name in parentheses may itself hold spaces and parentheses.
                    fields = file.read().rpartition(b")")[2].split()
                table[int(name)] = (int(fields[1]), int(fields[3]), fields[0].decode())
    return table


def _marked(mark: bytes, table: dict[int, tuple[int, int, str]]) -> set[int]:
    if not _LINUX:
        text = mark.decode()
        return {pid for pid, row in _ps().items() if text in row[3]}
    found = set()
    for pid in table:
        # Other users' processes cannot be read, and are not ours.
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if mark in file.read():
                found.add(pid)
    return found


def _ps() -> dict[int, tuple[int, int, str, str]]:
    """The process table of systems without /proc: parent, group, state, command line with environment."""
    # Imported here: every command waits for this module, and only these systems need it.
    import subprocess

    options = ["-axEww"] if sys.platform == "darwin" else ["axeww"]
    columns = "pid=,ppid=,pgid=,stat=,command="
    with subprocess.Popen(["ps", *options, "-o", columns], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ps:
        listing = ps.communicate()[0]
    table = {}
    for line in listing.decode("utf-8", "replace").splitlines():
        parts = line.split(None, 4)
        # The listing holds `ps` itself, a child of ours that is gone by now.
        if len(parts) >= 4 and parts[0].isdigit() and int(parts[0]) != ps.pid:
            table[int(parts[0])] = (int(parts[1]), int(parts[2]), parts[3][:1], parts[4] if len(parts) > 4 else "")
    return table


def _command_line(pid: int) -> str:
    if not _LINUX:
        return _ps().get(pid, (0, 0, "", ""))[3].split(f" {MARK}=")[0][:120]
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()[:120]
    return ""
