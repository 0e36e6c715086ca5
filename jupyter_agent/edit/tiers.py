"""The ladder of tolerances: the first tier at which a block is found decides, however many places it finds there.

A tier that finds several places is ambiguous; what is below it is never asked. Order: whole lines exactly, then
without trailing blanks, then without indentation; the same without blank lines at SEARCH's edges; by line numbers;
with plain punctuation; un-escaped; last as part of a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jupyter_agent.edit import partial, punctuation
from jupyter_agent.edit.escapes import unescaped
from jupyter_agent.edit.find import Finder, Key, without_edge_blanks, without_trailing_blanks
from jupyter_agent.edit.indent import is_blank
from jupyter_agent.edit.lines import Text, encode
from jupyter_agent.edit.model import Block, Located, Span, Tier, Window
from jupyter_agent.edit.numbers import numbered_readings


@dataclass
class Ladder:
    """Locates blocks in one window of one text, sharing what one search learns with the next."""

    text: Text
    window: Window
    every: bool = False
    _plain: Finder | None = None
    finder: Finder = field(init=False)

    def __post_init__(self) -> None:
        self.finder = Finder(self.text, self.window, self.every)

    def locate(self, block: Block) -> Located | None:
        """Every place of `block` at the first tier that has one; None if no tier has."""
        return next((located for located in self._attempts(block) if located.spans), None)

    def locate_strictly(self, block: Block) -> Located | None:
        """The same with the two strictest tiers alone."""
        return next((located for located in self._strict(block) if located.spans), None)

    def locate_whole_lines(self, block: Block) -> Located | None:
        """The same with the three strictest tiers alone."""
        return next((located for located in self._whole_lines(block) if located.spans), None)

    def parts_of_lines(self, word: str) -> list[Span]:
        """Every place where `word` stands as a word, alone on its line or not."""
        return partial.find(self.text, Block((word,), ()), self.window, every=True)

    def _attempts(self, block: Block) -> Iterator[Located]:
        trimmed = without_blank_edges(block)
        yield from self._whole_lines(block)
        if trimmed != block:
            yield from (self._at_edges(block, located) for located in self._whole_lines(trimmed))
        yield from self._numbered(trimmed)
        yield from self._punctuated(block)
        if trimmed != block:
            yield from (self._at_edges(block, located) for located in self._punctuated(trimmed))
        for reading in unescaped(block):
            yield from _tagged(Tier.ESCAPES, self._whole_lines(reading))
        yield Located(block, tuple(partial.find(self.text, block, self.window, self.every)), (Tier.PARTIAL,))

    def _strict(self, block: Block) -> Iterator[Located]:
        encoded = [encode(line) for line in block.search]
        yield Located(block, tuple(self.finder.exact(encoded)), (Tier.EXACT,))
        yield self._by_key(block, encoded, without_trailing_blanks, Tier.TRAILING)

    def _whole_lines(self, block: Block) -> Iterator[Located]:
        yield from self._strict(block)
        yield self._by_key(block, [encode(line) for line in block.search], without_edge_blanks, Tier.INDENTATION)

    def _by_key(self, block: Block, search: Sequence[bytes], key: Key, tier: Tier) -> Located:
        return Located(block, tuple(self.finder.by_key(search, key)), (tier,))

    def _at_edges(self, block: Block, located: Located) -> Located:
        """`located` was found without SEARCH's blank edges: takes in again those that the text has around it."""
        wanted = _leading_blanks(block.search), _leading_blanks(block.search[::-1])
        before = [self._blank_lines(span, -1, wanted[0]) for span in located.spans]
        after = [self._blank_lines(span, 1, wanted[1]) for span in located.spans]
        first, last = min(before, default=0), min(after, default=0)
        spans = [self._widened(span, first, last) for span in located.spans]
        kept = _without(block, wanted[0] - first, wanted[1] - last)
        return Located(kept, tuple(spans), _with(Tier.EDGES, located.tiers))

    def _blank_lines(self, span: Span, direction: int, limit: int) -> int:
        """How many blank lines, at most `limit`, the window has right before (-1) or after (1) `span`."""
        text, count = self.text, 0
        start = span.start if direction < 0 else text.line_end(span.end) + 1
        while count < limit:
            if direction < 0:
                start = text.line_start(start - 1) if start > self.window.start else -1
            if start < 0 or start >= min(self.window.end, len(text.data)):
                break
            if text.data[start : text.line_end(start)].strip():
                break
            count += 1
            start = start if direction < 0 else text.line_end(start) + 1
        return count

    def _widened(self, span: Span, before: int, after: int) -> Span:
        start, end = span.start, span.end
        for _ in range(before):
            start = self.text.line_start(start - 1)
        for _ in range(after):
            end = self.text.content_end(self.text.line_end(end) + 1)
        return Span(start, end)

    def _numbered(self, block: Block) -> Iterator[Located]:
        """Readings of SEARCH as numbered lines: each names its own place, so nothing is searched."""
        for first, reading in numbered_readings(block):
            span = self.text.span_of_lines(first, len(reading.search))
            if span is None or span.start < self.window.start or span.end > self.window.end:
                continue
            found = [line.content.rstrip(" \t") for line in self.text.lines(span)]
            if found == [line.rstrip(" \t") for line in reading.search]:
                yield Located(reading, (span,), (Tier.NUMBERS,))

    def _punctuated(self, block: Block) -> Iterator[Located]:
        """The whole-line tiers over plain punctuation on both sides; lines stay lines, so places map by number."""
        encoded = [encode(line) for line in block.search]
        if self.text.data.isascii() and all(line.isascii() for line in encoded):
            return
        search = [punctuation.plain(line) for line in encoded]
        finder = self._plain_finder()
        for key, tiers in (
            (without_trailing_blanks, (Tier.PUNCTUATION,)),
            (without_edge_blanks, (Tier.PUNCTUATION, Tier.INDENTATION)),
        ):
            places = [self._place_in_text(finder.text, span, len(search)) for span in finder.by_key(search, key)]
            yield Located(block, tuple(span for span in places if span is not None), tiers)

    def _plain_finder(self) -> Finder:
        if self._plain is None:
            plain = Text(punctuation.plain(self.text.data))
            start = plain.offset_of_line(self.window.first_line) or 0
            last = self.window.last_line
            end = None if last is None else plain.offset_of_line(last + 1)
            window = Window(start, len(plain.data) if end is None else end, self.window.first_line, last)
            self._plain = Finder(plain, window, self.every)
        return self._plain

    def _place_in_text(self, plain: Text, span: Span, count: int) -> Span | None:
        return self.text.span_of_lines(plain.line_at(span.start), count)


def _tagged(tier: Tier, attempts: Iterator[Located]) -> Iterator[Located]:
    for located in attempts:
        yield Located(located.block, located.spans, _with(tier, located.tiers))


def _with(tier: Tier, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    return (tier, *(other for other in tiers if other is not Tier.EXACT))


def without_blank_edges(block: Block) -> Block:
    """`block` without SEARCH's leading and trailing blank lines, and as many of REPLACE's on the same side."""
    return _without(block, _leading_blanks(block.search), _leading_blanks(block.search[::-1]))


def _without(block: Block, leading: int, trailing: int) -> Block:
    """`block` without so many blank lines at SEARCH's edges, and REPLACE without as many as it has of them."""
    search = block.search[leading : len(block.search) - trailing]
    drop_first = min(leading, _leading_blanks(block.replace))
    drop_last = min(trailing, _leading_blanks(block.replace[drop_first:][::-1]))
    return Block(search, block.replace[drop_first : len(block.replace) - drop_last])


def _leading_blanks(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if not is_blank(line)), len(lines))
