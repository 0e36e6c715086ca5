"""The keeper of one command: a small process of its own that starts it, reads it, ends it and leaves nothing behind.

Run as a script (`python -I -S keeper.py`), standard library only. The request is one JSON line on standard input, whose
end means that the host died; the outcome is one JSON line on standard output. A process of its own, because a subreaper
inside the host would adopt the host's children, and because a deadline must hold while the host's event loop is busy.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from jupyter_agent.shell.processes import Tracker, become_subreaper, die_with_parent
else:
    # Isolated mode leaves the script's folder out of the path.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from processes import Tracker, become_subreaper, die_with_parent

LINGER = 0.2
"""Seconds that children may outlive the command by themselves: `>(tee log)` is still writing when bash exits."""
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
KILL_WAIT = 1.0
"""Seconds to wait for killed processes to vanish (a process in uninterruptible sleep may not)."""
HOST_CHECK = 0.5
"""Seconds between looks at whether the host still is our parent: a fork of it may hold our input open."""
STATE_LIMIT = 1 << 20
CHUNK = 1 << 18
TAIL = 1 << 16


class Keeper:
    """One command from start to end. `request` is described in `jupyter_agent.shell.protocol.request`."""

    def __init__(self, request: dict[str, Any], control: bytes) -> None:
        self.request = request
        self.control = control
        self.listening = True
        self.detached = False
        self.ended_by = ""
        self.exit: int | None = None
        self.state = b""
        self.main = 0
        self.output = -1
        self.state_read = -1
        self.host = os.getppid()
        self.left: list[str] = []
        self.subreaper = False
        self.sink = Sink(request)

    def run(self) -> dict[str, Any]:
        """Start the command and return its outcome once nothing of it is left."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.end("stopped"))
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(ignored, signal.SIG_IGN)
        self.subreaper = become_subreaper()
        started = time.monotonic()
        self.start()
        self.sink.prepare(self.request)
        self.tracker = Tracker(self.main, str(self.request["mark"]))
        self.wake = wake_read
        self.obey()
        self.follow(started)
        self.drain()
        self.sink.close()
        return {
            "exit": self.exit,
            "ended_by": self.ended_by,
            "seconds": time.monotonic() - started,
            "left": self.left,
            "size": self.sink.size,
            "kept": self.sink.kept,
            "error": self.sink.error,
            "state": self.state.decode("utf-8", "surrogateescape"),
        }

    def start(self) -> None:
        self.output, output = os.pipe()
        self.state_read, state = os.pipe()
        script = os.memfd_create("command") if hasattr(os, "memfd_create") else _temporary()
        _write_all(script, self.request["command"].encode("utf-8", "surrogateescape"))
        os.lseek(script, 0, os.SEEK_SET)
        keeper = os.getpid()
        self.main = os.fork()
        if not self.main:
            self.become_command(keeper, {"output": output, "state": state, "script": script})
        for descriptor in (output, state, script):
            os.close(descriptor)
        os.set_blocking(self.output, False)
        os.set_blocking(self.state_read, False)

    def become_command(self, keeper: int, own: dict[str, int]) -> None:
        try:
            os.setsid()
            die_with_parent(keeper)
            for number in (
                signal.SIGINT,
                signal.SIGHUP,
                signal.SIGPIPE,
                signal.SIGTERM,
                signal.SIGCHLD,
                signal.SIGXFSZ,
            ):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(own["output"], 1)
            os.dup2(own["output"], 2)
            os.dup2(own["script"], self.request["script_fd"])
            os.dup2(own["state"], self.request["state_fd"])
            os.chdir(self.request["cwd"])
            arguments = self.request["argv"]
            os.execve(arguments[0], arguments, self.request["environ"])
        except OSError as error:
            os.write(2, f"The command could not be started: {error}\n".encode())
        finally:
            os._exit(127)

    # ------------------------------------------------------------------------------------------------ the loop

    def follow(self, started: float) -> None:
        """Read until nothing of the command is left, or it could not be killed."""
        timeout = self.request["timeout"]
        deadline = started + timeout if timeout is not None else float("inf")
        phase, phase_ends = "running", deadline
        while True:
            now = time.monotonic()
            self.wait_for_events(max(min(phase_ends - now, 0.02 if phase != "running" else HOST_CHECK), 0))
            self.reap()
            gone = self.exit is not None and self.nothing_left()
            now = time.monotonic()
            if phase == "running":
                if os.getppid() != self.host and not self.detached:
                    self.end("host")
                if now >= deadline:
                    self.end("timeout")
                if self.ended_by:
                    phase, phase_ends = "ending", now + GRACE
                    self.tracker.signal(signal.SIGTERM)
                elif self.exit is not None:
                    phase, phase_ends = "lingering", now + LINGER
            if phase == "lingering":
                if gone:
                    return
                if now >= phase_ends:
                    self.left = self.tracker.names()
                    phase, phase_ends = "ending", now + GRACE
                    self.tracker.signal(signal.SIGTERM)
            if phase == "ending":
                if gone:
                    return
                if now >= phase_ends:
                    phase, phase_ends = "killing", now + KILL_WAIT
            if phase == "killing":
                self.tracker.kill_all()
                if self.nothing_left() or now >= phase_ends:
                    return

    def nothing_left(self) -> bool:
        """Whether every process of the command has ended and was collected.

        A subreaper knows from having no children: a look through the process table can miss one that forks meanwhile.
        """
        alone = self.reap()
        return alone if self.subreaper else not self.tracker.alive()

    def wait_for_events(self, seconds: float) -> None:
        sources = [self.wake, self.output, self.state_read, 0 if self.listening else -1]
        ready, _, _ = select.select([source for source in sources if source >= 0], [], [], seconds)
        if self.wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake, 4096)
        if 0 in ready:
            self.listen()
        if self.output in ready:
            self.output = self.take(self.output, self.sink.write)
        if self.state_read in ready:
            self.state_read = self.take(self.state_read, self.take_state)

    def listen(self) -> None:
        """Messages of the host, a line each: `stop`, `detach`. The end of input means that it is gone."""
        data = os.read(0, 4096)
        if not data:
            self.listening = False
            if not self.detached:
                self.end("host")
        self.control += data
        self.obey()

    def obey(self) -> None:
        while b"\n" in self.control:
            line, _, self.control = self.control.partition(b"\n")
            if line == b"stop":
                self.end("stopped")
            elif line == b"detach":
                self.detached = True

    def take(self, descriptor: int, use: Any) -> int:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return descriptor
        if data:
            use(data)
            return descriptor
        os.close(descriptor)
        return -1

    def take_state(self, data: bytes) -> None:
        if len(self.state) < STATE_LIMIT:
            self.state += data

    def reap(self) -> bool:
        """Collect ended children. True: there are none left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if not pid:
                return False
            if pid == self.main:
                self.exit = os.waitstatus_to_exitcode(status)

    def end(self, reason: str) -> None:
        self.ended_by = self.ended_by or reason

    def drain(self) -> None:
        """What is in the pipes already; whoever still holds them open is not waited for (fault f27)."""
        limit = time.monotonic() + 0.2
        while self.output >= 0 and time.monotonic() < limit and select.select([self.output], [], [], 0)[0]:
            self.output = self.take(self.output, self.sink.write)
        while self.state_read >= 0 and select.select([self.state_read], [], [], 0)[0]:
            self.state_read = self.take(self.state_read, self.take_state)


class Sink:
    """The file of the full output, secrets masked, up to a cap; beyond it the tail is kept in memory and added last."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.size = 0
        self.kept = 0
        self.error = ""
        self._limit = int(request["spill_limit"])
        self._tail = b""
        self._file = os.open(request["spill"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._mask: Any = None
        # Bytes that are not UTF-8 pass through as they are.
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode

    def prepare(self, request: dict[str, Any]) -> None:
        """Load what masks secrets: once the command runs, so that it need not wait."""
        if request["secrets"]:
            self._mask = _masker(request["text_module"], request["secrets"])

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self._mask is not None:
            data = self._mask.feed(self._decode(data)).encode("utf-8", "surrogateescape")
        self._keep(data)

    def _keep(self, data: bytes) -> None:
        room = 0 if self.error else max(self._limit - self.kept, 0)
        try:
            self.kept += _write_all(self._file, data[:room])
        except OSError as error:
            # The output that could not be kept is still read, or the command would hang on a full pipe.
            self.error = os.strerror(error.errno or errno.EIO)
            room = 0
        if len(data) > room:
            self._tail = (self._tail + data[room:])[-TAIL:]

    def close(self) -> None:
        if self._mask is not None:
            rest = self._mask.feed(self._decode(b"", True)) + self._mask.finish()
            self._keep(rest.encode("utf-8", "surrogateescape"))
        if self._tail:
            lost = self.size - self.kept - len(self._tail)
            notice = f"\n[… {lost:,} bytes were not kept …]\n".encode() if lost > 0 else b""
            with contextlib.suppress(OSError):
                self.kept += _write_all(self._file, notice + self._tail)
        os.close(self._file)


def _masker(module: str, secrets: dict[str, str]) -> Any:
    """`SecretStream` of text.py, loaded by path: the package itself is not needed here."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("text", module)
    assert spec is not None
    assert spec.loader is not None
    text = module_from_spec(spec)
    spec.loader.exec_module(text)
    return text.Secrets(secrets).stream()


def _write_all(descriptor: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)


def _temporary() -> int:
    import tempfile

    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor


def main() -> None:
    received = b""
    while b"\n" not in received:
        data = os.read(0, CHUNK)
        if not data:
            return
        received += data
    line, _, control = received.partition(b"\n")
    request = json.loads(line)
    outcome = Keeper(request, control).run()
    if request["status"]:
        kept = {key: value for key, value in outcome.items() if key != "state"}
        temporary = f"{request['status']}.new"
        with open(temporary, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(kept, file)
        os.replace(temporary, request["status"])
    with contextlib.suppress(OSError):
        _write_all(1, json.dumps(outcome).encode() + b"\n")


if __name__ == "__main__":
    main()
