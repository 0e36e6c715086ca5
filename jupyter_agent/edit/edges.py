"""Blank lines at the edges of SEARCH that the text may or may not have. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.edit.indent import is_blank
from jupyter_agent.edit.lines import Text
from jupyter_agent.edit.model import Block, Span, Window

_BLANKS = b" \t\r\n"


def without_blank_edges(block: Block) -> Block:
    """`block` without SEARCH's leading and trailing blank lines, and as many of REPLACE's on the same side."""
    return _without(block, _leading(block.search), _leading(block.search[::-1]))


def widened(text: Text, window: Window, block: Block, spans: Sequence[Span]) -> tuple[Block, tuple[Span, ...]]:
    """Takes in again, around `spans` of `block` without blank edges, the blank lines that SEARCH and the text share.

    With several spans: as many as all of them have. Only the others are left out of the block.
    """
    leading, trailing = _leading(block.search), _leading(block.search[::-1])
    starts = [_blank_lines_before(text, window, span.start, leading) for span in spans]
    ends = [_blank_lines_after(text, window, span.end, trailing) for span in spans]
    before, after = min(map(len, starts), default=0), min(map(len, ends), default=0)
    wide = tuple(
        Span([span.start, *above][before], [span.end, *below][after])
        for span, above, below in zip(spans, starts, ends, strict=True)
    )
    return _without(block, leading - before, trailing - after), wide


def _blank_lines_before(text: Text, window: Window, start: int, limit: int) -> list[int]:
    """Where the blank lines right above `start` begin, nearest first, at most `limit`."""
    found: list[int] = []
    while len(found) < limit and start > window.start:
        above = text.line_start(start - 1)
        if text.data[above:start].strip(_BLANKS):
            break
        found.append(above)
        start = above
    return found


def _blank_lines_after(text: Text, window: Window, end: int, limit: int) -> list[int]:
    """Where the content of the blank lines right below `end` ends, nearest first, at most `limit`."""
    found: list[int] = []
    start = text.line_end(end) + 1
    while len(found) < limit and start < window.end:
        below = text.line_end(start)
        if text.data[start:below].strip(_BLANKS):
            break
        found.append(text.content_end(start))
        start = below + 1
    return found


def _without(block: Block, leading: int, trailing: int) -> Block:
    """`block` without so many blank lines at SEARCH's edges, and REPLACE without as many as it has of them."""
    search = block.search[leading : len(block.search) - trailing]
    drop_first = min(leading, _leading(block.replace))
    drop_last = min(trailing, _leading(block.replace[drop_first:][::-1]))
    return Block(search, block.replace[drop_first : len(block.replace) - drop_last])


def _leading(lines: Sequence[str]) -> int:
    """How many blank lines come first."""
    return next((number for number, line in enumerate(lines) if not is_blank(line)), len(lines))
