"""Blocks whose SEARCH and REPLACE skip lines with `...`: split into the pieces between the skips. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.edit.indent import indentation, is_blank
from jupyter_agent.edit.lines import Text
from jupyter_agent.edit.model import Block, Span
from jupyter_agent.edit.placeholders import is_elision


def pieces(block: Block) -> list[Block]:
    """The pieces, in order, that must be found one after the other; empty if the block does not elide.

    SEARCH and REPLACE must skip equally often, with the same lines. A piece that SEARCH leaves blank cannot be placed,
    so it must be blank in REPLACE too; such pieces are dropped.
    """
    searches, skipped = _split(block.search)
    replaces, kept = _split(block.replace)
    if not skipped or skipped != kept:
        return []
    found = []
    for search, replace in zip(searches, replaces, strict=True):
        if all(map(is_blank, search)):
            if not all(map(is_blank, replace)):
                return []
        else:
            found.append(Block(search, replace))
    return found


def skip_stays_inside(text: Text, before: Span, after: Span) -> bool:
    """Whether the lines between two pieces belong to what the lines next to them begin or end.

    None of them may stand further left than these two; between an opening line and a deeper one, or a line and the
    closing one, all of them must stand further right than the shallower.
    """
    upper, lower = (indentation(text.lines(span)[at].content) for span, at in ((before, -1), (after, 0)))
    skipped = [line.content for line in text.lines(Span(text.line_end(before.end) + 1, max(after.start - 1, 0)))]
    limit = min(len(upper), len(lower)) + (len(upper) != len(lower))
    return all(is_blank(line) or len(indentation(line)) >= limit for line in skipped)


def _split(lines: Sequence[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    parts: list[list[str]] = [[]]
    skipped = []
    for line in lines:
        if is_elision(line):
            skipped.append(line.strip())
            parts.append([])
        else:
            parts[-1].append(line)
    return [tuple(part) for part in parts], skipped
