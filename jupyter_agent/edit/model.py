"""The shapes the edit engine passes around. Plain data: no behaviour, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How a block was placed, from the strictest to the most tolerant. The value is what a person reads."""

    EXACT = "exact"
    TRAILING = "trailing blanks"
    INDENTATION = "indentation"
    EDGES = "blank lines at the edges"
    NUMBERS = "line numbers"
    PUNCTUATION = "punctuation"
    ESCAPES = "escapes"
    ELISION = "elided lines"
    PARTIAL = "part of a line"


@dataclass(frozen=True)
class Span:
    """A byte range of the text, `end` exclusive. Of whole lines: without the last line's end."""

    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """The only part of the text in which blocks are looked for: whole lines, as byte offsets and line numbers.

    `end` is the offset after the last line's end; `last_line` is inclusive.
    """

    start: int
    end: int
    first_line: int = 1
    last_line: int | None = None


@dataclass(frozen=True)
class Block:
    """One SEARCH/REPLACE pair as lines without their ends. `replace` is empty for a deletion."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True)
class Located:
    """Every place of a block at the first tier that has one, and the block as that tier reads it.

    `block` differs from what was sent where a tier took something off both sides: blank lines at the edges,
    line numbers, escapes. `tiers` names every tolerance used, `Tier.EXACT` alone when none was.
    """

    block: Block
    spans: tuple[Span, ...]
    tiers: tuple[Tier, ...]


@dataclass(frozen=True)
class Hunk:
    """One replaced region. Lines are 1-based and inclusive; `end_line < start_line` means no line.

    `block` is the 0-based index of the block; `start_line`/`end_line` are lines of the text before the edit,
    `new_start_line`/`new_end_line` of the text after it.
    """

    block: int
    start_line: int
    end_line: int
    new_start_line: int
    new_end_line: int
    tiers: tuple[Tier, ...]
    penalty: int


@dataclass(frozen=True)
class EditResult:
    """The whole text after the edit, what was replaced in file order, and a sentence for each tolerance it took."""

    data: bytes
    hunks: tuple[Hunk, ...]
    warnings: tuple[str, ...]
