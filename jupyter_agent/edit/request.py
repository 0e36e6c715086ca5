"""One call of the engine: places every block in the original text and decides whether its places are the right ones.

Pure. Everything that makes an edit refused, short of the repair of REPLACE itself, is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jupyter_agent.edit import refuse, splice
from jupyter_agent.edit.edges import without_blank_edges
from jupyter_agent.edit.elide import pieces, skip_stays_inside
from jupyter_agent.edit.indent import is_blank
from jupyter_agent.edit.lines import Text, encode
from jupyter_agent.edit.model import Block, EditResult, Located, Span, Tier, Window
from jupyter_agent.edit.placeholders import is_elision, omission_placeholders
from jupyter_agent.edit.tiers import Ladder
from jupyter_agent.errors import EditRefused

_WORD = re.compile(r"[\w.$-]+")


@dataclass(frozen=True)
class Request:
    """The text and what the caller allows. `expected_count` holds for every block."""

    text: Text
    filename: str | None
    expected_count: int
    replace_all: bool

    def apply(self, blocks: Sequence[Block], start_line: int | None, end_line: int | None) -> EditResult:
        """All blocks, or EditRefused for every one that fails."""
        if self.expected_count < 1:
            raise EditRefused("arguments", "expected_count must be 1 or more.")
        window = window_of(self.text, start_line, end_line)
        ladder = Ladder(self.text, window, every=self.replace_all or self.expected_count > 1)
        changes: list[splice.Change] = []
        failures = []
        for number, block in enumerate(blocks):
            try:
                for located in self._placed(block, ladder, blocks[:number]):
                    changes += [splice.change(self.text, number, located, span) for span in located.spans]
            except EditRefused as failure:
                failures.append((number, failure))
        if failures:
            raise refuse.combined(failures, len(blocks))
        return splice.apply(self.text, changes)

    def _placed(self, block: Block, ladder: Ladder, earlier: Sequence[Block]) -> Sequence[Located]:
        """Where the block goes: one Located, or one for each piece between elided lines."""
        self._check(block)
        located = ladder.locate(block)
        if located is not None:
            self._check_places(located, ladder)
            return [located]
        elided = self._elided(block, ladder)
        if not elided:
            raise self._not_found(block, ladder, earlier)
        return elided

    def _check(self, block: Block) -> None:
        """What is refused whatever the text is."""
        if all(map(is_blank, block.search)):
            raise refuse.empty_search()
        if block.search == block.replace:
            raise refuse.no_change()
        omitted = omission_placeholders(block.replace, block.search, self.filename)
        if omitted:
            raise refuse.omission(block.replace, omitted)

    def _check_places(self, located: Located, ladder: Ladder) -> None:
        spans = located.spans
        if not self.replace_all and len(spans) != self.expected_count:
            raise refuse.ambiguous(self.text, spans, located.tiers[-1], self.expected_count)
        if Tier.PARTIAL in located.tiers:
            self._check_part_not_applied(located.block, spans)
            return
        if any(left.end >= right.start for left, right in pairwise(spans)):
            raise refuse.overlapping_places(self.text, spans)
        if self.replace_all and len(located.block.search) == 1 and _WORD.fullmatch(located.block.search[0].strip()):
            everywhere = ladder.parts_of_lines(located.block.search[0].strip())
            if len(everywhere) > len(spans):
                raise refuse.word_and_line(self.text, everywhere)
        for span in spans:
            self._check_not_applied(located.block, span)

    def _check_not_applied(self, block: Block, span: Span) -> None:
        """Refuses an insertion around SEARCH that already stands around its place."""
        at = _inner(block.search, block.replace)
        if at is None:
            return
        before, after = block.replace[:at], block.replace[at + len(block.search) :]
        if not any(character.isalnum() for line in (*before, *after) for character in line):
            return
        first = self.text.line_at(span.start) - len(before)
        there = self.text.span_of_lines(first, len(block.replace)) if first > 0 else None
        if there is None:
            return
        found = [line.content.strip() for line in self.text.lines(there)]
        if found == [line.strip() for line in block.replace]:
            raise refuse.already_applied(refuse.places(self.text, [there])[0])

    def _check_part_not_applied(self, block: Block, spans: Sequence[Span]) -> None:
        """The same for a part of a line: REPLACE wraps SEARCH and stands there already."""
        search, replace = (encode(self.text.main_eol.join(lines)) for lines in (block.search, block.replace))
        at = replace.find(search)
        for span in spans if at >= 0 else ():
            if self.text.data.startswith(replace, max(span.start - at, 0)):
                raise refuse.already_applied(refuse.places(self.text, [span])[0])

    def _elided(self, block: Block, ladder: Ladder) -> list[Located]:
        """The pieces of a block that skips lines with `...`: each unique, in order; empty if it is none,
        or if a skip would reach into other code than it was written for."""
        found: list[Located] = []
        for piece in pieces(block):
            located = ladder.locate_strictly(piece)
            if located is None or (found and located.spans[0].start <= found[-1].spans[0].end):
                return []
            if len(located.spans) != 1:
                raise refuse.ambiguous(self.text, located.spans, located.tiers[-1], 1)
            if found and not skip_stays_inside(self.text, found[-1].spans[0], located.spans[0]):
                return []
            found.append(Located(piece, located.spans, (Tier.ELISION, *located.tiers)))
        return [located for located in found if located.block.search != located.block.replace]

    def _not_found(self, block: Block, ladder: Ladder, earlier: Sequence[Block]) -> EditRefused:
        if not all(map(is_blank, block.replace)):
            applied = ladder.locate_whole_lines(without_blank_edges(Block(block.replace, ())))
            if applied is not None:
                return refuse.already_applied(refuse.places(self.text, applied.spans)[0])
        hints, kind = [], "not_found"
        wanted = "\n".join(block.search)
        if any(wanted in "\n".join(other.replace) for other in earlier):
            hints.append("An earlier block of this call writes it, but blocks are placed in the original: merge them.")
        if any(map(is_elision, block.search)):
            kind = "omission_placeholder"
            hints.append("It has a placeholder for lines left out: SEARCH must be the lines themselves.")
        if ladder.window != window_of(self.text, None, None):
            elsewhere = Ladder(self.text, window_of(self.text, None, None)).locate_whole_lines(block)
            if elsewhere is not None:
                place = refuse.places(self.text, elsewhere.spans)[0]
                hints.append(f"It is at line {place.start}, outside the lines that were given.")
        return refuse.not_found(self.text, block.search, ladder.window, hints, kind)


def window_of(text: Text, start_line: int | None, end_line: int | None) -> Window:
    """The lines `start_line` to `end_line`, inclusive; an end beyond the text means its last line."""
    first = 1 if start_line is None else start_line
    if first < 1 or (end_line is not None and end_line < first):
        raise EditRefused("window", "start_line must be 1 or more and end_line not before it.")
    start = text.offset_of_line(first)
    if start is None or (start >= len(text.data) and first > 1):
        raise EditRefused("window", f"start_line is {first}, but the text has {text.line_count()} lines.")
    end = None if end_line is None else text.offset_of_line(end_line + 1)
    return Window(start, len(text.data) if end is None else end, first, None if end is None else end_line)


def _inner(search: Sequence[str], replace: Sequence[str]) -> int | None:
    """Where the lines of `search` stand in the longer `replace`, or None."""
    if len(replace) <= len(search):
        return None
    joined = "\n" + "\n".join(replace) + "\n"
    at = joined.find("\n" + "\n".join(search) + "\n")
    return None if at < 0 else joined.count("\n", 0, at)
