"""The ladder of tolerances: the first tier at which a block is found decides, however many places it finds there.

A tier that finds several places is ambiguous; what is below it is never asked. Order: whole lines exactly, then
without trailing blanks, then without indentation; the same without blank lines at SEARCH's edges; by line numbers;
with plain punctuation; un-escaped; last as part of a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jupyter_agent.edit import partial, punctuation
from jupyter_agent.edit.edges import widened, without_blank_edges
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
        """Every place of `block` at the first tier that has one; None if no tier has. A blank reading is no reading."""
        attempts = (
            found for found in self._attempts(block) if found.spans and not all(map(is_blank, found.block.search))
        )
        return next(attempts, None)

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
            yield from self._at_edges(block, self._whole_lines(trimmed))
        yield from self._numbered(trimmed)
        yield from self._punctuated(block)
        if trimmed != block:
            yield from self._at_edges(block, self._punctuated(trimmed))
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

    def _at_edges(self, block: Block, attempts: Iterator[Located]) -> Iterator[Located]:
        """Attempts without SEARCH's blank edges, widened by those that the text has there too."""
        for located in attempts:
            kept, spans = widened(self.text, self.window, block, located.spans)
            yield Located(kept, spans, _with(Tier.EDGES, located.tiers))

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
            firsts = finder.text.lines_at([span.start for span in finder.by_key(search, key)])
            yield Located(block, tuple(self.text.spans_of_lines(firsts, len(search))), tiers)

    def _plain_finder(self) -> Finder:
        if self._plain is None:
            plain = Text(punctuation.plain(self.text.data))
            start = plain.offset_of_line(self.window.first_line) or 0
            last = self.window.last_line
            end = None if last is None else plain.offset_of_line(last + 1)
            window = Window(start, len(plain.data) if end is None else end, self.window.first_line, last)
            self._plain = Finder(plain, window, self.every)
        return self._plain


def _tagged(tier: Tier, attempts: Iterator[Located]) -> Iterator[Located]:
    for located in attempts:
        yield Located(located.block, located.spans, _with(tier, located.tiers))


def _with(tier: Tier, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    return (tier, *(other for other in tiers if other is not Tier.EXACT))
