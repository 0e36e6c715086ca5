"""Reads SEARCH lines that were copied together with the line numbers of a listing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jupyter_agent.edit.model import Block

_SEPARATORS = ("\t", "→", ": ", ":", " | ", " |", "| ", "|", ":\t", "|\t", ") ", ". ", "  ", " ")
_NUMBERED = re.compile(r" *([0-9]{1,9})(.*)", re.DOTALL)


def numbered_readings(block: Block) -> Iterator[tuple[int, Block]]:
    """(first line number, block without numbers) for each separator with which all SEARCH lines are consecutive.

    The caller compares with the real line of that number; a wrong separator does not survive that. REPLACE loses
    its numbers if every line has one of the same listing, in order; with some of them there is no reading.
    """
    for separator in _SEPARATORS:
        numbered = _split(block.search, separator)
        if numbered is None:
            continue
        first, search = numbered
        replace = _numberless_replace(block.replace, separator, first, search)
        if replace is not None:
            yield first, Block(tuple(search), tuple(replace))


def _split(lines: Sequence[str], separator: str) -> tuple[int, list[str]] | None:
    """The first number and the lines without theirs, if every line has one and they are consecutive."""
    numbers = [_number_of(line, separator) for line in lines]
    first = numbers[0]
    if not first or numbers != list(range(first, first + len(lines))):
        return None
    return first, [_content(line, separator) for line in lines]


def _numberless_replace(
    lines: Sequence[str], separator: str, first: int, search: Sequence[str]
) -> Sequence[str] | None:
    """REPLACE without its numbers; as it is when it has none; None when it can be read both ways."""
    plausible = range(first, first + max(len(lines), len(search)))
    numbers = [_number_of(line, separator) for line in lines]
    numbered = [number for number in numbers if number is not None and number in plausible]
    if not numbered:
        return lines
    if len(numbered) != len(lines) or numbered != sorted(set(numbered)):
        return None
    contents = [_content(line, separator) for line in lines]
    content_is_numbered = all(_NUMBERED.match(line) for line in search)
    if content_is_numbered and not all(_NUMBERED.match(line) for line in contents):
        return None
    return contents


def _number_of(line: str, separator: str) -> int | None:
    match = _NUMBERED.fullmatch(line)
    if match is None or (match[2] and not match[2].startswith(separator) and match[2] != separator.rstrip()):
        return None
    return int(match[1])


def _content(line: str, separator: str) -> str:
    return line.lstrip(" ").lstrip("0123456789")[len(separator) :]
