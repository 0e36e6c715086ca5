"""The region of the text that most resembles a SEARCH that was not found: for the refusal's message only. Pure.

Votes, not a sliding window: every line of SEARCH that stands somewhere in the text votes for where the block would
begin; where no line does, its words vote. The cost is a bounded number of `bytes.find` passes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from jupyter_agent.edit.lines import Text, decode, encode
from jupyter_agent.edit.model import Span, Window

_BYTES_SCANNED = 200_000_000
_VOTERS = (4, 24)
_VOTES_EACH = 40
_CANDIDATES = 8
_SMALL = 4096
_COMPARED = 2000
_ALIKE = 0.5
_WORD = re.compile(rb"\w{3,}")


def closest_region(text: Text, search: Sequence[str], window: Window) -> Span | None:
    """The whole lines that resemble `search` most, or None when nothing does."""
    encoded = [encode(line).strip() for line in search]
    size = max(window.end - window.start, 1)
    voters = max(_VOTERS[0], min(_VOTERS[1], _BYTES_SCANNED // size))
    votes = _votes(text, _lines_that_vote(encoded)[:voters], window, whole_lines=True)
    if votes:
        return _span(text, votes.most_common(1)[0][0], len(search))
    from difflib import SequenceMatcher

    votes = _votes(text, _words_that_vote(encoded)[:voters], window, whole_lines=False)
    if not votes and size <= _SMALL:
        votes = Counter(start for start in text.line_starts if window.start <= start < window.end)
    wanted = b"\n".join(encoded)[:_COMPARED].decode("utf-8", "replace")
    best, best_ratio = None, _ALIKE
    for start, _ in votes.most_common(None if size <= _SMALL else _CANDIDATES):
        span = _span(text, start, len(search))
        found = decode(text.data[span.start : min(span.end, span.start + _COMPARED)])
        ratio = SequenceMatcher(None, wanted, found, autojunk=False).ratio()
        if ratio > best_ratio:
            best, best_ratio = span, ratio
    return best


def _lines_that_vote(search: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """(line, number in SEARCH), the most telling first: long ones, each once."""
    lines = {line: number for number, line in enumerate(search) if len(line) > 2}
    return sorted(lines.items(), key=lambda line: -len(line[0]))


def _words_that_vote(search: Sequence[bytes]) -> list[tuple[bytes, int]]:
    words = {word: number for number, line in enumerate(search) for word in _WORD.findall(line)}
    return sorted(words.items(), key=lambda word: -len(word[0]))


def _votes(text: Text, voters: Sequence[tuple[bytes, int]], window: Window, *, whole_lines: bool) -> Counter[int]:
    """How much speaks for a block that starts at each offset: rare voters count more than common ones."""
    votes: Counter[int] = Counter()
    for content, number in voters:
        places = list(_line_starts(text, content, window, whole_lines))
        for start in places:
            votes[_lines_up(text, start, number, window)] += 1000 * len(content) // len(places)
    return votes


def _line_starts(text: Text, content: bytes, window: Window, whole_lines: bool) -> Iterator[int]:
    """The starts of lines that are `content` between their blanks, or that hold it."""
    position, given = window.start, 0
    while given < _VOTES_EACH and (position := text.data.find(content, position, window.end)) >= 0:
        start, end = text.line_start(position), text.line_end(position)
        if not whole_lines or text.data[start:end].strip() == content:
            given += 1
            yield start
        position = end


def _lines_up(text: Text, start: int, count: int, window: Window) -> int:
    for _ in range(count):
        if start <= window.start:
            break
        start = text.line_start(start - 1)
    return start


def _span(text: Text, start: int, count: int) -> Span:
    end = text.line_end(start)
    for _ in range(count - 1):
        if end + 1 >= len(text.data):
            break
        end = text.line_end(end + 1)
    return Span(start, text.content_end(end))
