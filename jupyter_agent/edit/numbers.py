"""Reads SEARCH lines that were copied together with the line numbers of a listing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jupyter_agent.edit.model import Block

_SEPARATORS = ("\t", "→", ": ", ":", " | ", "| ", "|", " ", ". ")
_NUMBERED = re.compile(r" *([0-9]{1,9})(.*)", re.DOTALL)


def numbered_readings(block: Block) -> Iterator[tuple[int, Block]]:
    """(first line number, block without numbers) for each separator with which all SEARCH lines are consecutive.

    The caller compares with the real line of that number; a wrong separator does not survive that. REPLACE loses
    its numbers if every line has one and they go on from the same number, else it is taken as it is.
    """
    for separator in _SEPARATORS:
        numbered = _split(block.search, separator)
        if numbered is None:
            return
        first, search = numbered
        if search is None:
            continue
        replace = _numberless_replace(block.replace, separator, first, search)
        if replace is not None:
            yield first, Block(tuple(search), tuple(replace))


def _split(lines: Sequence[str], separator: str) -> tuple[int, list[str] | None] | None:
    """The first number and the lines without theirs; None as lines if `separator` does not fit; None if no numbers."""
    first, contents = 0, []
    for position, line in enumerate(lines):
        match = _NUMBERED.fullmatch(line)
        if match is None:
            return None
        first = first or int(match[1])
        if int(match[1]) != first + position or first == 0:
            return None
        rest = match[2]
        if rest and not rest.startswith(separator) and rest != separator.rstrip():
            return first, None
        contents.append(rest[len(separator) :])
    return first, contents


def _numberless_replace(
    lines: Sequence[str], separator: str, first: int, search: Sequence[str]
) -> Sequence[str] | None:
    """REPLACE without numbers, as it is when it has none, or None when it can be read both ways."""
    numbered = _split(lines, separator) if lines else None
    if numbered is None or numbered[0] != first or numbered[1] is None:
        return lines
    content_is_numbered = all(_NUMBERED.match(line) for line in search)
    if content_is_numbered and not all(_NUMBERED.match(line) for line in numbered[1]):
        return None
    return numbered[1]
