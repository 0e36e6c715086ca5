"""The search where there is no ripgrep: a program of its own, so that a deadline can end a pattern that never would.

Run as a script with one JSON argument; prints matches in ripgrep's JSON form, or file names. Reads regular files only,
skips hidden, ignored and bulky folders, and follows no links.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

LARGEST = 100 << 20


def main() -> None:
    request = json.loads(sys.argv[1])
    if request["mode"] == "files":
        for path in files(request):
            sys.stdout.write(path + "\0")
        return
    try:
        pattern = re.compile(re.escape(request["pattern"]) if request["literal"] else request["pattern"])
    except (re.error, RecursionError, OverflowError) as error:
        print(f"regex parse error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if request["mode"] == "stdin":
        search("<stdin>", sys.stdin.buffer.read(), pattern, 0)
        return
    for path in files(request):
        data = read(path)
        if data is not None and b"\0" not in data[:8192]:
            search(path, data, pattern, int(request["context"]))


def files(request: dict[str, Any]) -> Iterator[str]:
    """Paths below the wanted ones, as ripgrep would walk them."""
    wanted = _spec(request["globs"]) if request["globs"] else None
    unwanted = _spec(request["excluded"])
    for start in request["paths"]:
        if not os.path.isdir(start):
            yield start
            continue
        for path in _walk(start, []):
            name = path.removeprefix("./")
            if (wanted is None or wanted.match_file(name)) and not unwanted.match_file(name):
                yield path


def _walk(folder: str, ignored: list[tuple[str, Any]]) -> Iterator[str]:
    place = os.path.join(folder, ".gitignore")
    if os.path.isfile(place):
        with open(place, encoding="utf-8", errors="replace") as file:
            ignored = [*ignored, (folder, _spec(file.read().splitlines()))]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        directory = entry.is_dir(follow_symlinks=False)
        if any(spec.match_file(os.path.relpath(entry.path, base) + "/" * directory) for base, spec in ignored):
            continue
        if directory:
            if entry.name not in ("node_modules", "__pycache__"):
                yield from _walk(entry.path, ignored)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _spec(patterns: list[str]) -> Any:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def read(path: str) -> bytes | None:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST else None
    except OSError:
        return None


def search(path: str, data: bytes, pattern: re.Pattern[str], context: int) -> None:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    matches = {number: match for number, line in enumerate(lines) if (match := pattern.search(line))}
    near = {n for number in matches for n in range(max(number - context, 0), min(number + context + 1, len(lines)))}
    for number in sorted(near):
        match = matches.get(number)
        start = len(lines[number][: match.start()].encode()) if match else 0
        event = {
            "type": "match" if match else "context",
            "data": {
                "path": {"text": path},
                "lines": {"text": lines[number] + "\n"},
                "line_number": number + 1,
                "submatches": [{"start": start}] if match else [],
            },
        }
        print(json.dumps(event))


if __name__ == "__main__":
    main()
