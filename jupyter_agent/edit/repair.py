"""Turns REPLACE into what must stand in the text, repairing it the way the match was tolerant. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_agent.edit.align import align, replaced_pairs
from jupyter_agent.edit.indent import indentation, is_blank, reindent
from jupyter_agent.edit.lines import Line
from jupyter_agent.edit.model import Located, Tier
from jupyter_agent.edit.punctuation import plain_text, typed_for_plain

PENALTIES = {
    Tier.EXACT: 0,
    Tier.TRAILING: 1,
    Tier.EDGES: 5,
    Tier.NUMBERS: 5,
    Tier.PARTIAL: 5,
    Tier.INDENTATION: 10,
    Tier.ELISION: 10,
    Tier.ESCAPES: 30,
    Tier.PUNCTUATION: 5,
}
"""Per block, however long it is; for `PUNCTUATION` per line that differs, because each was guessed on its own."""

PENALTY_LIMIT = 100
"""A block with more is refused. A block moved by one indentation costs 10, whatever its length."""

_BLANKS = " \t"


@dataclass(frozen=True)
class Repaired:
    lines: tuple[Line, ...]
    penalty: int


def repair(located: Located, region: Sequence[Line], main_eol: str) -> Repaired:
    """The lines that replace `region`, with their ends. Raises indent.Unrepairable.

    Lines that SEARCH and REPLACE have in common keep the text's own bytes and end. The last line always keeps the
    end of the region's last line, so that a text without a final newline stays without.
    """
    search, replace = located.block.search, located.block.replace
    found = [line.content for line in region]
    kept = align(search, replace)
    fresh = list(replace)
    if found != list(search):
        fresh = _without_typed_punctuation(search, found, fresh)
        plain_search = _without_typed_punctuation(search, found, search)
        fresh = _without_spurious_trailing_blanks(plain_search, found, fresh)
        fresh = reindent(plain_search, _plain_indentation(found), fresh)
    contents = [content if old is None else found[old] for content, old in zip(fresh, kept, strict=True)]
    ends = _ends(region, kept, main_eol)
    lines = tuple(Line(content, end) for content, end in zip(contents, ends, strict=True))
    return Repaired(lines, penalty(located, found))


def penalty(located: Located, found: Sequence[str]) -> int:
    total = sum(PENALTIES[tier] for tier in located.tiers if tier is not Tier.PUNCTUATION)
    if Tier.PUNCTUATION in located.tiers:
        pairs = zip(located.block.search, found, strict=True)
        total += PENALTIES[Tier.PUNCTUATION] * sum(
            wanted.strip(_BLANKS) != line.strip(_BLANKS) for wanted, line in pairs
        )
    return total


def _without_typed_punctuation(search: Sequence[str], found: Sequence[str], lines: Sequence[str]) -> list[str]:
    table = typed_for_plain(search, found)
    return [line.translate(table) for line in lines] if table else list(lines)


def _plain_indentation(lines: Sequence[str]) -> list[str]:
    """The lines with typographic blanks before their content as spaces: a level is then what it looks like."""
    if all(map(str.isascii, lines)):
        return list(lines)
    return [plain_text(line[: len(line) - len(line.lstrip())]) + line.lstrip() for line in lines]


def _trailing(line: str) -> str:
    return line[len(line.rstrip(_BLANKS)) :]


def _without_spurious_trailing_blanks(search: Sequence[str], found: Sequence[str], lines: list[str]) -> list[str]:
    """Takes off REPLACE the trailing blanks that SEARCH has and the text does not; blank lines lose theirs."""
    spurious = {
        _trailing(wanted)
        for wanted, line in zip(search, found, strict=True)
        if _trailing(wanted) and not _trailing(line) and not is_blank(wanted)
    }
    if not spurious:
        return lines
    return [line.rstrip(_BLANKS) if is_blank(line) or _trailing(line) in spurious else line for line in lines]


def _ends(region: Sequence[Line], kept: Sequence[int | None], main_eol: str) -> list[str]:
    """A line end for each new line: its own, that of the line it replaces, or that of the line before it."""
    source = {new: old for old, new in replaced_pairs(kept, len(region))}
    source |= {new: old for new, old in enumerate(kept) if old is not None}
    ends, previous = [], region[0].end or main_eol
    for number in range(len(kept)):
        previous = (region[source[number]].end if number in source else previous) or main_eol
        ends.append(previous)
    if ends:
        ends[-1] = region[-1].end
    return ends


def describe(located: Located, region: Sequence[Line]) -> str:
    """What the tolerance was, for the warning; empty when there was none."""
    parts = [tier.value for tier in located.tiers if tier is not Tier.EXACT]
    for wanted, line in zip(located.block.search, region, strict=True):
        own, found = indentation(wanted), indentation(line.content)
        if Tier.INDENTATION in located.tiers and own != found:
            return " and ".join(parts) + f" (SEARCH has {_name(own)}, the text {_name(found)})"
    return " and ".join(parts)


def _name(indent: str) -> str:
    counts = ((indent.count("\t"), "tab"), (indent.count(" "), "space"))
    return " and ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in counts if count) or "none"
