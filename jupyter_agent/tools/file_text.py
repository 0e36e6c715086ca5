"""A text file as the model reads it: numbered lines, within a budget of tokens, with a way to the rest."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jupyter_agent.edit.languages import language_of_file
from jupyter_agent.errors import BadArguments, WorkspaceRefused
from jupyter_agent.text import estimate_tokens
from jupyter_agent.workspace import FileContent

PAGE: Final = 200
"""Lines shown unless a range is asked for."""
SOURCE_TOKENS: Final = 24_000
OTHER_TOKENS: Final = 8_000
LONGEST_LINE: Final = 2_000
"""Characters of one line; the rest of a longer one is left out and counts as unread."""

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class View:
    """Lines `start` to `end` (1-based, inclusive; `end < start` for an empty file) of `total`.

    `seen` are the ranges shown whole; `notes` say what is not as it seems.
    """

    text: str
    start: int
    end: int
    total: int
    seen: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]


def decode(content: FileContent, name: str) -> tuple[str, str | None]:
    """(the text, its encoding where it is UTF-16). Raises WorkspaceRefused("binary")."""
    encoding = _UTF16.get(content.data[:2])
    if encoding is not None and len(content.data) % 2 == 0:
        try:
            return content.data[2:].decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    if content.binary:
        raise WorkspaceRefused(
            "binary", f"{name} is a binary file of {len(content.data):,} bytes. Look at it with run_bash or run_code."
        )
    return content.text.removeprefix("\ufeff"), None


def lines_of(text: str) -> list[str]:
    r"""Lines without their ends (`\n`, `\r\n`, or `\r` alone where there is no other)."""
    ending = "\r" if "\r" in text and "\n" not in text else "\n"
    lines = text.split(ending)
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def view(lines: Sequence[str], name: str, start: int | None, end: int | None) -> View:
    """The wanted lines, 200 unless `end` is given, as far as the budget of the file's kind goes.

    A negative `start` counts from the end.
    """
    total = len(lines)
    first = max(total + start + 1, 1) if start is not None and start < 0 else max(start or 1, 1)
    last = min(end if end is not None else first + PAGE - 1, total)
    if first > max(total, 1):
        raise WorkspaceRefused("missing", f"{name} has {total:,} lines; there is no line {first:,}.")
    if end is not None and end < first:
        raise BadArguments(f"end_line {end:,} is before line {first:,}, where reading would start.")
    source = language_of_file(name) is not None
    room = SOURCE_TOKENS if source else OTHER_TOKENS
    shown: list[str] = []
    cut: set[int] = set()
    for number in range(first, last + 1):
        line = lines[number - 1]
        if len(line) > LONGEST_LINE:
            cut.add(number)
            line = f"{line[:LONGEST_LINE]} [… {len(line) - LONGEST_LINE:,} more characters …]"
        numbered = f"{number:6}\t{line}"
        room -= estimate_tokens(numbered, "python" if source else "markdown")
        if room < 0 and shown:
            break
        shown.append(numbered)
    reached = first + len(shown) - 1
    text = "\n".join(shown)
    notes = _notes(text, cut)
    # Bytes that are not UTF-8 are lone surrogates here, which no request can carry.
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return View(text, first, reached, total, _ranges(first, reached, cut), notes)


def _notes(text: str, cut: set[int]) -> tuple[str, ...]:
    notes = []
    if cut:
        notes.append(f"line {min(cut)} is longer than {LONGEST_LINE:,} characters" + (" (and others)" * (len(cut) > 1)))
    odd = sum("\udc80" <= character <= "\udcff" for character in text)
    if odd:
        notes.append(f"{odd:,} bytes are not UTF-8 and shown as \ufffd; edits elsewhere keep them")
    return tuple(notes)


def _ranges(first: int, last: int, without: set[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    following = first
    for number in [*sorted(without), last + 1]:
        if number > following:
            ranges.append((following, number - 1))
        following = number + 1
    return tuple(ranges)
