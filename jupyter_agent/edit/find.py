r"""Finds runs of whole lines: exactly, or by a key of each line. Linear: one `bytes.find` over one joined text.

The exact path never looks at single lines. A tolerant search starts from the rarest SEARCH line: if its stripped
text is nowhere, no tolerance can match; if it is in few places, only those are compared; else the keys of all lines
are joined once and searched like a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from jupyter_agent.edit.lines import Text
from jupyter_agent.edit.model import Span, Window

Key = Callable[[bytes], bytes]
Lines = Sequence[bytes]

MAX_PLACES = 10_000
"""Places listed for one ambiguous block: more of them would not make it clearer."""

_BYTES_OF_PLACES = 500_000
"""Places of a long block that overlaps itself are listed until they add up to this, to stay linear."""

_ANCHORS_TRIED = 6
_LINES_COMPARED = 4000
_CHUNK = 1 << 18


def as_is(line: bytes) -> bytes:
    return line


def without_trailing_blanks(line: bytes) -> bytes:
    return line.rstrip(b" \t")


def without_edge_blanks(line: bytes) -> bytes:
    return line.strip(b" \t")


@dataclass(frozen=True)
class _Anchor:
    """The SEARCH line a tolerant search starts from, and how often its stripped content occurs."""

    index: int
    content: bytes
    count: int


@dataclass
class Finder:
    """Searches one window of one text. `every`: all places are wanted, not only proof that there are several."""

    text: Text
    window: Window
    every: bool = False
    _counts: dict[bytes, int] = field(default_factory=dict)
    _joined: dict[Key, bytes] = field(default_factory=dict)

    def exact(self, search: Lines) -> list[Span]:
        """Every place of the lines `search`, in order, overlapping ones counted."""
        eol = self.text.eol
        if eol is None:
            return self.by_key(search, as_is)
        return self._in_joined(self.text.data, eol.join(search), eol, self.window.start, self.window.end)

    def by_key(self, search: Lines, key: Key) -> list[Span]:
        """Every place where the keys of consecutive lines equal those of `search`, overlapping ones counted.

        `key` must not change a line's content between its blanks at the edges: the anchor relies on it.
        """
        anchor = self._anchor(search)
        if anchor is None or anchor.count == 0:
            return []
        keys = [key(line) for line in search]
        if anchor.count * len(keys) <= _LINES_COMPARED:
            return [span for span in self._around(anchor, len(keys)) if self._keys(span, key) == keys]
        return self._in_keys(keys, key)

    def _anchor(self, search: Lines) -> _Anchor | None:
        """The rarest of the longest SEARCH lines, or None if all are blank."""
        contents = {content: index for index, line in enumerate(search) if (content := line.strip(b" \t"))}
        best: _Anchor | None = None
        for content in sorted(contents, key=len, reverse=True)[:_ANCHORS_TRIED]:
            count = self._counts.get(content)
            if count is None:
                count = self.text.data.count(content, self.window.start, self.window.end)
                self._counts[content] = count
            if best is None or count < best.count:
                best = _Anchor(contents[content], content, count)
            if count <= 1:
                break
        return best

    def _around(self, anchor: _Anchor, length: int) -> Iterator[Span]:
        """The span of `length` lines around each line that holds the anchor."""
        text, position = self.text, self.window.start
        while (position := text.data.find(anchor.content, position, self.window.end)) >= 0:
            start, end = text.line_start(position), text.line_end(position)
            for _ in range(anchor.index):
                start = text.line_start(start - 1) if start > 0 else -1
            for _ in range(length - anchor.index - 1):
                end = text.line_end(end + 1) if end + 1 < len(text.data) else len(text.data) + 1
            if start >= self.window.start and end <= self.window.end:
                yield Span(start, text.content_end(max(start, end)))
            position = text.line_end(position)

    def _keys(self, span: Span, key: Key) -> list[bytes]:
        region = self.text.data[span.start : self.text.line_end(span.end)]
        return [key(line.removesuffix(b"\r")) for line in region.split(b"\n")]

    def _in_keys(self, keys: Lines, key: Key) -> list[Span]:
        """Searches the joined keys of all lines, then goes back to the text by line number."""
        if key not in self._joined:
            self._joined[key] = b"".join(_joined_keys(self.text.data, key))
        keyed, window = Text(self._joined[key]), self.window
        start = keyed.offset_of_line(window.first_line) or 0
        end = None if window.last_line is None else keyed.offset_of_line(window.last_line + 1)
        places = self._in_joined(keyed.data, b"\n".join(keys), b"\n", start, len(keyed.data) if end is None else end)
        return self.text.spans_of_lines(keyed.lines_at([place.start for place in places]), len(keys))

    def _in_joined(self, data: bytes, needle: bytes, eol: bytes, start: int, end: int) -> list[Span]:
        """Whole-line places of `needle` in `data[start:end]`; `start` is a line's start, `end` follows a line's end."""
        size, spans = len(needle), list[Span]()
        unterminated = end == len(data) and not data.endswith(b"\n")
        is_all = unterminated and size == len(data)
        if start == 0 and size <= end and data.startswith(needle) and (is_all or data.startswith(eol, size)):
            spans.append(Span(0, size))
        padded = b"\n" + needle + eol
        position = data.find(padded, max(start - 1, 0), end)
        while position >= 0 and self._wants_more(spans, size):
            spans.append(Span(position + 1, position + 1 + size))
            position = data.find(padded, position + 1, end)
        tail = len(data) - size
        if unterminated and tail > start and data.endswith(b"\n" + needle):
            spans.append(Span(tail, len(data)))
        return spans

    def _wants_more(self, spans: Sequence[Span], size: int) -> bool:
        if len(spans) < 2 or (len(spans) < MAX_PLACES and len(spans) * size < _BYTES_OF_PLACES):
            return True
        return self.every and spans[-1].start > spans[-2].end


def _joined_keys(data: bytes, key: Key) -> Iterator[bytes]:
    """The keys of all lines, joined by newlines, in pieces that bound the memory of the split."""
    start = 0
    while start < len(data):
        cut = data.find(b"\n", min(start + _CHUNK, len(data)))
        end = len(data) if cut < 0 else cut + 1
        yield b"\n".join([key(line.removesuffix(b"\r")) for line in data[start:end].split(b"\n")])
        start = end
