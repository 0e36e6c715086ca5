"""Lines that match a pattern, and files by name: through ripgrep, or through a worker of our own where there is none.

Runs one process with a deadline and bounded results; changes nothing. Both engines print the same JSON.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

from jupyter_agent.errors import BadArguments
from jupyter_agent.text import child_environment
from jupyter_agent.tools import search_worker

SECONDS: Final = 10.0
"""Wall time of one search (fault f44)."""
KEPT: Final = 2_000
"""Hits kept in memory; of more, only the number is known."""
COUNTED: Final = 20_000
FILES: Final = 500_000
WIDTH: Final = 300
"""Characters of a line shown, around the first match in it."""
EXCLUDED: Final = ("!.git", "!node_modules", "!__pycache__", "!.ipynb_checkpoints")
_LONGEST: Final = 8 << 20


@dataclass(frozen=True)
class Hit:
    """A line: `path` as the engine printed it, `line` from 1. `match` is False for a line of context."""

    path: str
    line: int
    text: str
    match: bool = True


@dataclass
class Found:
    """`total` counts matches beyond those kept; `complete` is False after a deadline or too many."""

    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    complete: bool = True
    timed_out: bool = False
    literal: bool = False


@functools.cache
def program() -> str | None:
    """ripgrep on PATH, else the one of the wheel beside this Python."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    return shutil.which("rg") or (beside if os.access(beside, os.X_OK) else None)


async def search(
    root: str,
    pattern: str,
    paths: Sequence[str],
    *,
    globs: Sequence[str] = (),
    context: int = 0,
    keep: Callable[[str], bool],
    ignore_file: str | None = None,
) -> Found:
    """Matching lines beneath `paths` (relative to `root`), of files for which `keep(path)` is true.

    A pattern that is no regular expression is searched literally, and `literal` says so.
    """

    def arguments(literal: bool) -> list[str]:
        if program() is None:
            return _worker("search", pattern, literal, paths=paths, globs=globs, context=context)
        options = ["--json", "--no-config", "--no-messages", "--max-filesize=100M", f"--context={context}"]
        options += [f"--glob={glob}" for glob in (*globs, *EXCLUDED)]
        options += [f"--ignore-file={ignore_file}"] if ignore_file else []
        return [program() or "", *options, *_pattern(pattern, literal), "--", *paths]

    return await _search(arguments, root, keep, None)


async def search_text(text: bytes, pattern: str) -> Found:
    """Matching lines of a text; their path is of no meaning."""

    def arguments(literal: bool) -> list[str]:
        if program() is None:
            return _worker("stdin", pattern, literal)
        return [program() or "", "--json", "--no-config", "--text", *_pattern(pattern, literal), "--", "-"]

    return await _search(arguments, os.getcwd(), lambda _path: True, text)


async def list_files(root: str, paths: Sequence[str], globs: Sequence[str] = ()) -> tuple[list[str], bool]:
    """(files beneath `paths`, whether these are all): at most 500,000, in ten seconds."""
    if program() is None:
        arguments = _worker("files", "", True, paths=paths, globs=globs)
    else:
        arguments = [program() or "", "--files", "--null", "--no-config", "--no-messages"]
        arguments += [f"--glob={glob}" for glob in (*globs, *EXCLUDED)]
        arguments += ["--", *paths]
    names: list[str] = []
    engine = _Engine(arguments, root, None)

    def read() -> None:
        rest = b""
        for chunk in engine.chunks():
            *whole, rest = (rest + chunk).split(b"\0")
            names.extend(os.fsdecode(name).removeprefix("./") for name in whole)
            if len(names) >= FILES:
                engine.stop()
                return

    await engine.run(read)
    return names[:FILES], not engine.timed_out and len(names) < FILES


def _pattern(pattern: str, literal: bool) -> list[str]:
    options = ["--fixed-strings"] if literal else []
    return [*options, *(["--multiline"] if "\n" in pattern or "\\n" in pattern else []), f"--regexp={pattern}"]


def _worker(
    mode: str, pattern: str, literal: bool, *, paths: Sequence[str] = (), globs: Sequence[str] = (), context: int = 0
) -> list[str]:
    wanted = [glob for glob in globs if not glob.startswith("!")]
    excluded = [glob[1:] for glob in (*globs, *EXCLUDED) if glob.startswith("!")]
    request = {"mode": mode, "pattern": pattern, "literal": literal, "paths": list(paths), "context": context}
    request |= {"globs": wanted, "excluded": excluded}
    return [sys.executable, "-I", search_worker.__file__, json.dumps(request)]


async def _search(
    arguments: Callable[[bool], list[str]], root: str, keep: Callable[[str], bool], text: bytes | None
) -> Found:
    found, problem = await _once(arguments(False), root, keep, text)
    if not problem:
        return found
    found, second = await _once(arguments(True), root, keep, text)
    if second:
        raise BadArguments(f"The search failed: {problem}. Try a simpler pattern.")
    found.literal = True
    return found


async def _once(arguments: list[str], root: str, keep: Callable[[str], bool], text: bytes | None) -> tuple[Found, str]:
    engine = _Engine(arguments, root, text)
    found = Found()
    kept_paths: dict[str, bool] = {}

    def read() -> None:
        for event in engine.events():
            hit = _hit(event)
            if hit is None:
                continue
            if hit.path not in kept_paths:
                kept_paths[hit.path] = keep(hit.path)
            if not kept_paths[hit.path]:
                continue
            found.total += hit.match
            if len(found.hits) < KEPT:
                found.hits.append(hit)
            if found.total >= COUNTED:
                found.complete = False
                engine.stop()
                return

    problem = await engine.run(read)
    found.timed_out = engine.timed_out
    found.complete = found.complete and not engine.timed_out
    return found, problem


def _hit(event: dict[str, Any]) -> Hit | None:
    if event.get("type") not in ("match", "context"):
        return None
    data = event["data"]
    raw = _bytes(data["lines"]).rstrip(b"\r\n")
    start = data["submatches"][0]["start"] if data["submatches"] else 0
    path = os.fsdecode(_bytes(data["path"])).removeprefix("./")
    return Hit(path, data["line_number"], _around(raw, start), event["type"] == "match")


def _bytes(value: dict[str, str]) -> bytes:
    return base64.b64decode(value["bytes"]) if "bytes" in value else value["text"].encode("utf-8", "surrogateescape")


def _around(raw: bytes, start: int) -> str:
    """The line, or the part of a long one around byte `start`."""
    text = raw.decode("utf-8", "replace")
    if len(text) <= WIDTH:
        return text
    place = len(raw[:start].decode("utf-8", "replace"))
    first = max(min(place - WIDTH // 3, len(text) - WIDTH), 0)
    before, after = "…" if first else "", "…" if first + WIDTH < len(text) else ""
    return before + text[first : first + WIDTH] + after


class _Engine:
    """One process, read in a thread, ended at the deadline, when enough was read, or when its caller is cancelled."""

    def __init__(self, arguments: Sequence[str], root: str, text: bytes | None) -> None:
        self.timed_out = False
        self._arguments = arguments
        self._root = root
        self._text = text
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    async def run(self, read: Callable[[], None]) -> str:
        """Run to the end with `read` consuming the output; returns what was wrong with the pattern, or `""`."""
        try:
            return await asyncio.to_thread(self._run, read)
        except asyncio.CancelledError:
            self.stop()
            raise

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def chunks(self) -> Iterator[bytes]:
        stream = self._stream()
        while chunk := stream.read(1 << 16):
            yield chunk

    def events(self) -> Iterator[dict[str, Any]]:
        """The JSON lines; one longer than 8 MiB is skipped."""
        stream = self._stream()
        while line := stream.readline(_LONGEST):
            if not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_LONGEST)
                continue
            with suppress(ValueError):
                yield json.loads(line)

    def _stream(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout

    def _run(self, read: Callable[[], None]) -> str:
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
            if self._text is not None:
                given.write(self._text)
                given.seek(0)
            with subprocess.Popen(
                self._arguments,
                cwd=self._root,
                stdin=given if self._text is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=child_environment(os.environ),
            ) as process:
                self._process = process
                if self._stopped:
                    process.kill()
                timer = threading.Timer(SECONDS, self._time_out)
                timer.start()
                try:
                    read()
                finally:
                    timer.cancel()
            errors.seek(0)
            problem = errors.read(4_000).decode("utf-8", "replace").strip()
        # ripgrep: 1 is no match, 2 an error; unreadable files are no error here.
        return problem if process.returncode == 2 and not self._stopped else ""

    def _time_out(self) -> None:
        self.timed_out = True
        self.stop()
