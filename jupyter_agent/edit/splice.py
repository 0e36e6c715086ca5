"""Turns located blocks into changes of bytes, and applies all changes at once. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jupyter_agent.edit import refuse
from jupyter_agent.edit.indent import Unrepairable
from jupyter_agent.edit.lines import Line, Text, decode, encode
from jupyter_agent.edit.model import EditResult, Hunk, Located, Span, Tier
from jupyter_agent.edit.repair import PENALTIES, PENALTY_LIMIT, describe, repair


@dataclass(frozen=True)
class Change:
    """`new` replaces the bytes of `span`: whole lines without the last end, parts of lines, or lines to delete."""

    block: int
    span: Span
    new: bytes
    tiers: tuple[Tier, ...]
    penalty: int
    how: str
    """The tolerances, for the warning; empty for an exact match."""
    deletes: bool = False
    """Whether whole lines go, with the last one's end: an empty `new` may also be a line that became blank."""


def change(text: Text, number: int, located: Located, span: Span) -> Change:
    """What `span` becomes. Raises EditRefused where REPLACE cannot be repaired, or nothing would change."""
    if Tier.PARTIAL in located.tiers:
        made = _part_of_a_line(text, number, located, span)
    elif located.tiers == (Tier.EXACT,) and text.eol is not None:
        made = _exact(text.eol, number, located, span)
    else:
        made = _tolerant(text, number, located, span)
    if made.new == text.data[span.start : span.end] and (made.new or located.block.replace):
        raise refuse.no_change()
    if not located.block.replace and Tier.PARTIAL not in located.tiers:
        return Change(number, text.with_end(span), b"", made.tiers, made.penalty, made.how, deletes=True)
    return made


def _exact(eol: bytes, number: int, located: Located, span: Span) -> Change:
    return Change(number, span, eol.join(map(encode, located.block.replace)), located.tiers, 0, "")


def _part_of_a_line(text: Text, number: int, located: Located, span: Span) -> Change:
    new = encode(text.main_eol.join(located.block.replace))
    return Change(number, span, new, located.tiers, PENALTIES[Tier.PARTIAL], Tier.PARTIAL.value)


def _tolerant(text: Text, number: int, located: Located, span: Span) -> Change:
    region = text.lines(span)
    try:
        repaired = repair(located, region, text.main_eol)
    except Unrepairable as reason:
        raise refuse.unrepairable(text, span, str(reason)) from None
    how = describe(located, region)
    if repaired.penalty > PENALTY_LIMIT:
        raise refuse.too_tolerant(text, span, how, repaired.penalty, PENALTY_LIMIT)
    return Change(number, span, _joined(repaired.lines), located.tiers, repaired.penalty, how)


def _joined(lines: Sequence[Line]) -> bytes:
    return encode("".join(line.content + line.end for line in lines[:-1]) + (lines[-1].content if lines else ""))


def apply(text: Text, changes: Sequence[Change]) -> EditResult:
    """The text with all `changes`, in whatever order they come. Raises EditRefused where two overlap."""
    ordered = sorted(changes, key=lambda change: (change.span.start, change.span.end))
    for left, right in pairwise(ordered):
        if left.span.end > right.span.start or left.span == right.span:
            raise refuse.overlap(text, (left.block, left.span), (right.block, right.span))
    _check_encoding(text, ordered)
    view, position = memoryview(text.data), 0  # a view, because slices would copy the whole text once more
    pieces: list[bytes | memoryview] = []
    for change in ordered:
        pieces += [view[position : change.span.start], change.new]
        position = change.span.end
    pieces.append(view[position:])
    data = _with_its_final_newline(text, b"".join(pieces), ordered[-1])
    if data == text.data:
        raise refuse.no_change()
    return EditResult(data, _hunks(text, ordered), _warnings(ordered))


def _with_its_final_newline(text: Text, data: bytes, last: Change) -> bytes:
    """Takes the newline off that a deleted unterminated last line leaves behind."""
    if last.deletes and last.span.end == len(text.data) and not text.ends_with_newline:
        return data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\r\n") else data.removesuffix(b"\n")
    return data


def _check_encoding(text: Text, changes: Sequence[Change]) -> None:
    """Refuses new characters beyond ASCII in a file whose own are all undecodable: it has another encoding."""
    if all(change.new.isascii() for change in changes) or text.data.isascii():
        return
    if not any(_is_beyond_ascii(character) for change in changes for character in decode(change.new)):
        return
    try:
        text.data.decode()
    except UnicodeDecodeError:
        if not any(map(_is_beyond_ascii, decode(text.data))):
            raise refuse.legacy_encoding() from None


def _is_beyond_ascii(character: str) -> bool:
    """Whether it is a decoded character beyond ASCII, not an undecodable byte."""
    return character > "\x7f" and not "\udc80" <= character <= "\udcff"


def _hunks(text: Text, ordered: Sequence[Change]) -> tuple[Hunk, ...]:
    hunks, known, shift = [], (0, 1), 0
    for change in ordered:
        start, end = change.span.start, change.span.end
        known = (start, text.line_at(start, known))
        unterminated = end == len(text.data) != text.line_start(end)
        removed = text.data.count(b"\n", start, end) + (not change.deletes or unterminated)
        added = 0 if change.deletes else change.new.count(b"\n") + 1
        first = known[1]
        hunk = Hunk(
            change.block,
            first,
            first + removed - 1,
            first + shift,
            first + shift + added - 1,
            change.tiers,
            change.penalty,
        )
        hunks.append(hunk)
        shift += added - removed
    return tuple(hunks)


def _warnings(ordered: Sequence[Change]) -> tuple[str, ...]:
    """One sentence for each block that needed a tolerance."""
    told = {change.block: change for change in reversed(ordered) if change.how}
    return tuple(
        f"Block {number + 1} was placed by tolerating {told[number].how} (penalty {told[number].penalty})."
        for number in sorted(told)
    )
