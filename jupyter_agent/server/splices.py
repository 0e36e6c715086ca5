"""The smallest replacements that turn one text into another, so that cursors outside of them do not move. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

SEARCHED = 4000
"""Differing lines up to which the places that did not change in between are looked for."""


@dataclass(frozen=True)
class Splice:
    """`start` and `end` are offsets in UTF-8 bytes into the text before any splice was made."""

    start: int
    end: int
    text: str


def splices(before: str, after: str) -> list[Splice]:
    """In descending order of their place: applied one after the other, no offset needs adjusting."""
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    place, found = _size(old[:head]), []
    for start, end, lines in _hunks(middle_old, middle_new):
        replaced = "".join(middle_old[start:end])
        trimmed = _trimmed(place + _size(middle_old[:start]), replaced, "".join(lines))
        if trimmed.start < trimmed.end or trimmed.text:
            found.append(trimmed)
    return found[::-1]


def _hunks(old: list[str], new: list[str]) -> list[tuple[int, int, list[str]]]:
    if len(old) + len(new) > SEARCHED:
        return [(0, len(old), new)]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(a, b, new[c:d]) for tag, a, b, c, d in opcodes if tag != "equal"]


def _trimmed(place: int, old: str, new: str) -> Splice:
    """Without what both sides share at their ends; characters are kept whole."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    start = place + len(old[:head].encode())
    replaced = old[head : len(old) - tail]
    return Splice(start, start + len(replaced.encode()), new[head : len(new) - tail])


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _size(lines: list[str]) -> int:
    return len("".join(lines).encode())


def _common(one: list[str] | str, other: list[str] | str) -> int:
    """How many items both begin with."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
