"""Text on disk as bytes: byte-order mark, line ends, line offsets. Pure, and linear in what it looks at.

Lines are split on `\n` alone. A `\r` right before it belongs to the line's end; every other `\r`, form feed
or U+2028 is content. Bytes that are not UTF-8 are carried as surrogates (`surrogateescape`).
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from jupyter_agent.edit.model import Span

_CHUNK = 1 << 16
_FEW = 4


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Raises UnicodeEncodeError for surrogates that stand for no byte."""
    return text.encode("utf-8", "surrogateescape")


def split_bom(data: bytes) -> tuple[bytes, bytes]:
    """The UTF-8 byte-order mark (or nothing) and the rest."""
    if data.startswith(codecs.BOM_UTF8):
        return codecs.BOM_UTF8, data[len(codecs.BOM_UTF8) :]
    return b"", data


def normalise(text: str) -> str:
    r"""A block's text with `\n` line ends. Its last newline is not part of it, so a final `\r` is half of one."""
    return text.replace("\r\n", "\n").removesuffix("\r")


@dataclass(frozen=True)
class Line:
    """One line of the text: its content and its own end (`\n`, `\r\n`, or nothing at the end of the text)."""

    content: str
    end: str


@dataclass(frozen=True)
class Text:
    """The text that is edited, without byte-order mark."""

    data: bytes

    @cached_property
    def eol(self) -> bytes | None:
        r"""The one line end of the whole text, or None where `\n` and `\r\n` are mixed."""
        if b"\r" not in self.data:
            return b"\n"
        carriage_returns = self.data.count(b"\r\n")
        if carriage_returns == 0:
            return b"\n"
        return b"\r\n" if carriage_returns == self.data.count(b"\n") else None

    @property
    def main_eol(self) -> str:
        """The line end for new lines that have no neighbour to take one from."""
        if self.eol is not None:
            return self.eol.decode()
        return "\r\n" if 2 * self.data.count(b"\r\n") > self.data.count(b"\n") else "\n"

    @property
    def ends_with_newline(self) -> bool:
        return self.data.endswith(b"\n")

    def line_count(self) -> int:
        return self.data.count(b"\n") + (bool(self.data) and not self.ends_with_newline)

    @cached_property
    def line_starts(self) -> array[int]:
        """The offset of every line's start: built only where many places are to be named."""
        lengths = [len(line) + 1 for line in self.data.split(b"\n")]
        return array("Q", accumulate(lengths[:-1], initial=0))

    def line_at(self, offset: int, known: tuple[int, int] = (0, 1)) -> int:
        """The 1-based line of `offset`, counted on from a `known` (offset, line) before it."""
        return known[1] + self.data.count(b"\n", known[0], offset)

    def line_start(self, offset: int) -> int:
        return self.data.rfind(b"\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        r"""The offset of the `\n` that ends the line of `offset`, or the end of the text."""
        found = self.data.find(b"\n", offset)
        return len(self.data) if found < 0 else found

    def content_end(self, offset: int) -> int:
        """The end of the content of the line of `offset`, before its line end."""
        end = self.line_end(offset)
        terminated = end < len(self.data)
        return end - 1 if terminated and end > 0 and self.data[end - 1] == 0x0D else end

    def offset_of_line(self, line: int) -> int | None:
        """Where the 1-based `line` starts; the end of the text for the line after the last; None beyond it."""
        missing, offset = line - 1, 0
        while missing > 0:
            end = min(offset + _CHUNK, len(self.data))
            newlines = self.data.count(b"\n", offset, end)
            if newlines < missing:
                missing -= newlines
                if end == len(self.data):
                    unterminated = missing == 1 and bool(self.data) and not self.ends_with_newline
                    return end if unterminated else None
                offset = end
                continue
            for _ in range(missing):
                offset = self.data.find(b"\n", offset) + 1
            missing = 0
        return offset

    def lines_at(self, offsets: Sequence[int]) -> list[int]:
        """The 1-based lines of rising `offsets`, in one pass."""
        lines, known = [], (0, 1)
        for offset in offsets:
            known = (offset, self.line_at(offset, known))
            lines.append(known[1])
        return lines

    def span_of_lines(self, first: int, count: int) -> Span | None:
        """The span of `count` whole lines from the 1-based `first`, or None where the text is shorter."""
        start, after = self.offset_of_line(first), self.offset_of_line(first + count)
        if start is None or after is None or start >= len(self.data):
            return None
        return Span(start, self.content_end(max(start, after - 1)))

    def spans_of_lines(self, firsts: Sequence[int], count: int) -> list[Span]:
        """The same for many places that exist; a table of all lines is made where they are more than a few."""
        if len(firsts) <= _FEW:
            return [span for first in firsts if (span := self.span_of_lines(first, count)) is not None]
        starts = self.line_starts
        return [Span(starts[first - 1], self.content_end(starts[first + count - 2])) for first in firsts]

    def lines(self, span: Span) -> list[Line]:
        """The whole lines of `span`, each with its own end (the last one's included)."""
        region = self.data[span.start : self._after(span)]
        pieces = region.split(b"\n")
        unterminated = pieces.pop()
        lines = [
            Line(decode(piece[:-1]), "\r\n") if piece.endswith(b"\r") else Line(decode(piece), "\n") for piece in pieces
        ]
        if unterminated or (self._after(span) > span.start and not region.endswith(b"\n")):
            lines.append(Line(decode(unterminated), ""))
        return lines or [Line("", "")]

    def _after(self, span: Span) -> int:
        return min(self.line_end(span.end) + 1, len(self.data))

    def with_end(self, span: Span) -> Span:
        """`span` with the line end of its last line."""
        return Span(span.start, self._after(span))
