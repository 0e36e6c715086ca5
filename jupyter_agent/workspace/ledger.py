"""The read ledger: which lines of which version of a file the model has seen.

Pure data, kept by path and SHA-256, to and from JSON, so that a conversation takes it along. It is what "read before
write" rests on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Range = tuple[int, int]
"""1-based inclusive lines."""
State = Literal["unread", "changed", "current"]
_LARGEST_DIFF = 4_000


@dataclass(frozen=True)
class Seen:
    """What was seen of one file: its content hash then, its line count, and the sorted, disjoint ranges seen."""

    sha256: str
    lines: int
    ranges: tuple[Range, ...]

    def unseen(self) -> tuple[Range, ...]:
        """The lines that were never shown."""
        gaps: list[Range] = []
        following = 1
        for start, end in self.ranges:
            if start > following:
                gaps.append((following, start - 1))
            following = end + 1
        if following <= self.lines:
            gaps.append((following, self.lines))
        return tuple(gaps)


class Ledger:
    """Entries by path as the caller names it (a real path). Not thread-safe: it lives on the agent's event loop."""

    def __init__(self, entries: Mapping[str, Seen] | None = None) -> None:
        self._entries = dict(entries or {})

    def saw(self, path: str, sha256: str, lines: int, start: int = 1, end: int | None = None) -> None:
        """Record that lines `start`–`end` of the version `sha256` (of `lines` lines in all) were shown."""
        known = self._entries.get(path)
        ranges = known.ranges if known is not None and known.sha256 == sha256 else ()
        end = lines if end is None else min(end, lines)
        added = ((start, end),) if end >= start else ()
        self._entries[path] = Seen(sha256, lines, _merged((*ranges, *added)))

    def wrote(self, path: str, before: str, after: str, sha256_before: str, sha256: str) -> None:
        """Follow our own write from text `before` to `after`: unchanged lines stay as they were, new ones are seen."""
        known = self._entries.get(path)
        whole = ((1, line_count(before)),) if not sha256_before else ()
        seen = known.ranges if known is not None and known.sha256 == sha256_before else whole
        new_lines = line_count(after)
        ranges = _carried(before.split("\n"), after.split("\n"), seen)
        self._entries[path] = Seen(
            sha256, new_lines, _merged((start, min(end, new_lines)) for start, end in ranges if start <= new_lines)
        )

    def forget(self, path: str) -> None:
        """The file is gone, or went elsewhere."""
        self._entries.pop(path, None)

    def state(self, path: str, sha256: str) -> State:
        """Whether any of this version of the file was seen."""
        known = self._entries.get(path)
        if known is None:
            return "unread"
        return "current" if known.sha256 == sha256 else "changed"

    def unseen(self, path: str) -> tuple[Range, ...]:
        """Line ranges of the version last seen that were never shown; of an unknown file, none are known."""
        known = self._entries.get(path)
        return known.unseen() if known is not None else ()

    def to_json(self) -> dict[str, Any]:
        return {
            path: {"sha256": seen.sha256, "lines": seen.lines, "ranges": [list(r) for r in seen.ranges]}
            for path, seen in self._entries.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ledger:
        """The ledger that `to_json` wrote; an entry of another shape is dropped, which only asks for a new read."""
        entries: dict[str, Seen] = {}
        for path, value in data.items():
            try:
                ranges = _merged((int(start), int(end)) for start, end in value["ranges"])
                entries[path] = Seen(str(value["sha256"]), int(value["lines"]), ranges)
            except (KeyError, TypeError, ValueError):
                continue
        return cls(entries)


def line_count(text: str) -> int:
    r"""Lines of a text; a last line counts with or without its newline."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def describe(ranges: Iterable[Range]) -> str:
    """`1-20, 45` for a sentence."""
    return ", ".join(f"{start}-{end}" if end > start else str(start) for start, end in ranges)


def _merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def _carried(old: list[str], new: list[str], seen: tuple[Range, ...]) -> list[Range]:
    """Ranges of `new` that are seen: copies of seen lines of `old`, and lines that `old` had not."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    copies: list[tuple[int, int, int]] = [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]
    if max(len(middle_old), len(middle_new)) <= _LARGEST_DIFF:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        copies += [(head + at, head + to, count) for at, to, count in matcher.get_matching_blocks()]
    copied = {to + step for _, to, count in copies for step in range(count)}
    # The comparison may miss that a line was only moved: what equals an unseen line does not count as written by us.
    hidden = _texts_outside(old, seen)
    written = (n for n in range(head, head + len(middle_new)) if n not in copied and new[n] not in hidden)
    shifted = [
        (max(start, at + 1) + to - at, min(end, at + count) + to - at)
        for at, to, count in copies
        for start, end in seen
        if count and start <= at + count and end > at
    ]
    return [(number + 1, number + 1) for number in written] + shifted


def _texts_outside(lines: list[str], ranges: tuple[Range, ...]) -> set[str]:
    hidden: set[str] = set()
    following = 0
    for start, end in ranges:
        hidden.update(lines[following : start - 1])
        following = end
    hidden.update(lines[following:])
    # The empty text after the last newline is no line.
    if lines and not lines[-1] and lines.count("") == 1:
        hidden.discard("")
    return hidden
