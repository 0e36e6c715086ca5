"""Carries an indentation difference between SEARCH and the text over to REPLACE, or says that it cannot.

The difference is derived as a map from SEARCH's indentation to the text's: the same prefix added to every line, the
same prefix removed, another step (tabs for spaces, 2 for 4), or a first line that lost its own. A map is used only
if it keeps what is deeper deeper: two SEARCH levels never fall together. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jupyter_agent.edit.align import align

_OPENERS = (":", "{", "(", "[", ",", "=>", "->", " do", " then", "begin")
_BLANKS = " \t"
_STEPS = (2, 4, 8)
"""The numbers of spaces by which people indent."""
_TRIPLE_QUOTE = re.compile(r'"""|\'\'\'')


class Unrepairable(Exception):
    """No safe map exists; the text says why, for the refusal."""


@dataclass(frozen=True)
class Pair:
    """The indentation of one non-blank line in SEARCH and in the text."""

    search: str
    text: str


Map = Callable[[int, str], str]
"""(number among the non-blank REPLACE lines, its indentation) -> its indentation in the text."""


def indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def is_blank(line: str) -> bool:
    return not line.strip(_BLANKS)


def reindent(search: Sequence[str], text: Sequence[str], replace: Sequence[str]) -> list[str]:
    """`replace` as it must stand where `text` stands; `search` and `text` differ in blanks at the edges only.

    Blank lines come out empty. Raises Unrepairable.
    """
    in_strings = _fixed_lines(search, text)
    pairs = [
        Pair(indentation(wanted), indentation(found))
        for number, (wanted, found) in enumerate(zip(search, text, strict=True))
        if not is_blank(wanted) and number not in in_strings
    ]
    fixed = _string_lines(replace) if in_strings else frozenset()
    filled = [line for number, line in enumerate(replace) if not is_blank(line) and number not in fixed]
    if not filled or all(pair.search == pair.text for pair in pairs) or _speaks_for_the_text(search, text, replace):
        return list(replace)
    mapped = _derive(pairs, filled)
    fresh = iter([mapped(number, indentation(line)) for number, line in enumerate(filled)])
    return [
        line if number in fixed else "" if is_blank(line) else next(fresh) + line.lstrip(_BLANKS)
        for number, line in enumerate(replace)
    ]


def _string_lines(lines: Sequence[str]) -> frozenset[int]:
    """The lines that begin inside a triple-quoted string opened in `lines`: their indentation is content."""
    inside, quote = set(), ""
    for number, line in enumerate(lines):
        if quote:
            inside.add(number)
        for mark in _TRIPLE_QUOTE.findall(line):
            if not quote:
                quote = mark
            elif mark == quote:
                quote = ""
    return frozenset(inside)


def _fixed_lines(search: Sequence[str], text: Sequence[str]) -> frozenset[int]:
    """SEARCH's lines inside strings, if SEARCH gives them as they are in the text while other lines moved."""
    inside = _string_lines(search)
    moved = any(indentation(search[number]) != indentation(text[number]) for number in inside)
    return frozenset() if moved else inside


def _speaks_for_the_text(search: Sequence[str], text: Sequence[str], replace: Sequence[str]) -> bool:
    """Whether REPLACE is already indented like the text, although SEARCH is not.

    Decided by the lines SEARCH and REPLACE have in common. Raises Unrepairable where they do not tell and REPLACE is
    deeper than SEARCH as the text is, or its lowest level is the text's own: it may mean that level, or one that is
    moved by the same difference.
    """
    own, theirs, new = (
        [indentation(line) for line in lines if not is_blank(line)] for lines in (search, text, replace)
    )
    own_base, base, lowest = (min(levels, key=len) for levels in (own, theirs, new))
    deeper = any(
        len(wanted) < min(len(found), len(level))
        for wanted, found, level in ((own[0], theirs[0], new[0]), (own_base, base, lowest))
    )
    level_with_text = own_base not in (base, lowest) and base != "" and lowest.startswith(base)
    if not deeper and not level_with_text:
        return False
    common = [
        (indentation(search[old]), indentation(text[old]), indentation(replace[new]))
        for new, old in enumerate(align([line.strip() for line in search], [line.strip() for line in replace]))
        if old is not None and not is_blank(replace[new])
    ]
    differing = [(wanted, found, level) for wanted, found, level in common if wanted != found]
    if differing and all(level == found for _, found, level in differing):
        return True
    if differing and all(level == wanted for wanted, _, level in differing):
        return False
    if deeper or (not differing and lowest == base):
        raise Unrepairable("REPLACE is indented like the file and SEARCH is not, so its level is not certain")
    return False


def _derive(pairs: Sequence[Pair], replace: Sequence[str]) -> Map:
    """The first map that explains every pair, in the order prefix added, removed, first line bare, step changed."""
    levels = {pair.search: pair.text for pair in pairs}
    bare_first = _first_line_bare(pairs, replace)
    if bare_first is not None:
        return bare_first
    _check_levels(pairs, levels)
    own = [indentation(line) for line in replace]
    if not _kinds_conflict(levels, set(own)):
        for derive in (_prefix_added, _prefix_removed):
            mapped = derive(levels)
            if mapped is not None:
                _check_one_reading(levels, own)
                return mapped
    if levels.keys() >= set(own):
        return lambda number, level: levels[level]
    return _step_changed(levels, [pair.search for pair in pairs], own)


def _check_levels(pairs: Sequence[Pair], levels: dict[str, str]) -> None:
    for pair in pairs:
        if levels[pair.search] != pair.text:
            raise Unrepairable("lines that are equally indented in SEARCH are not in the file")
    ordered = sorted(levels.items(), key=lambda level: len(level[0]))
    for (_, upper), (_, lower) in pairwise(ordered):
        if len(upper) >= len(lower):
            raise Unrepairable("SEARCH nests its lines in another way than the file does")


def _check_one_reading(levels: dict[str, str], own: Sequence[str]) -> None:
    """One level alone may have moved by a prefix or changed its step (2 for 4): below it the two readings differ."""
    (base, text_base), *others = levels.items()
    if others or not base or not text_base or all(len(level) >= len(base) for level in own):
        return
    for unit in _STEPS:
        depth, rest = divmod(len(base), unit)
        if rest == 0 and len(text_base) in (depth * step for step in _STEPS) and "\t" not in base + text_base:
            raise Unrepairable("a line of REPLACE is less indented than all of SEARCH, so its level is not certain")


def _kinds_conflict(levels: dict[str, str], replace: set[str]) -> bool:
    """Whether the text is indented by tabs alone and the block has spaces, or the other way round."""
    in_text, in_block = set("".join(levels.values())), set("".join([*levels, *replace]))
    return len(in_text) == 1 and bool(in_block - in_text)


def _prefix_added(levels: dict[str, str]) -> Map | None:
    added = {text.removesuffix(search) for search, text in levels.items() if text.endswith(search)}
    if len(added) != 1 or any(not text.endswith(search) for search, text in levels.items()):
        return None
    prefix = added.pop()
    return lambda number, own: prefix + own


def _prefix_removed(levels: dict[str, str]) -> Map | None:
    removed = {search.removesuffix(text) for search, text in levels.items() if search.endswith(text)}
    if len(removed) != 1 or any(not search.endswith(text) for search, text in levels.items()):
        return None
    prefix = removed.pop()

    def mapped(number: int, own: str) -> str:
        if not own.startswith(prefix):
            raise Unrepairable("a line of REPLACE has less indentation than must be taken off")
        return own.removeprefix(prefix)

    return mapped


def _first_line_bare(pairs: Sequence[Pair], replace: Sequence[str]) -> Map | None:
    """SEARCH and REPLACE lost the indentation of their first line only; all other lines are as in the text."""
    lost = pairs[0].text
    own = [indentation(line) for line in replace]
    if pairs[0].search or not lost or own[0]:
        return None
    if any(pair.search != pair.text or not pair.search for pair in pairs[1:]):
        return None
    if len(pairs) == 1:
        if len(replace) < 2 or not all(own[1:]):
            return None
        opens, level_with_text = replace[0].rstrip().endswith(_OPENERS), own[1] == lost
        if opens and (level_with_text or any(not level.startswith(lost) for level in own[1:])):
            return None
        if not opens and not level_with_text:
            raise Unrepairable("SEARCH lost its indentation, and REPLACE's lines can be read at two levels")
    elif any(not level for level in own[1:]):
        raise Unrepairable("SEARCH lost the indentation of its first line, and so did several lines of REPLACE")
    return lambda number, level: lost if number == 0 else level


def _step_changed(levels: dict[str, str], search: Sequence[str], replace: Sequence[str]) -> Map:
    """The text counts its levels in another unit: each SEARCH level is as deep in units of its own."""
    base, text_base = min(levels.items(), key=lambda level: len(level[0]))
    kind, text_kind = _kind([*levels, *replace]), _kind(list(levels.values()))
    unit, text_unit = _units(levels, [*search, *replace], kind, text_kind)

    def mapped(number: int, own: str) -> str:
        if own in levels:
            return levels[own]
        steps, rest = divmod(len(own) - len(base), unit)
        size = len(text_base) + steps * text_unit
        if size < 0 or (rest and not (text_kind == "\t" and steps >= 0)):
            raise Unrepairable("a line of REPLACE stands at a level that has no counterpart in the file")
        return text_kind * size + " " * rest

    _check_order(replace, [mapped(number, own) for number, own in enumerate(replace)])
    return mapped


def _kind(levels: Sequence[str]) -> str:
    kinds = set("".join(levels))
    if len(kinds) > 1:
        raise Unrepairable("tabs and spaces are mixed in its indentation")
    return kinds.pop() if kinds else " "


def _units(levels: dict[str, str], block_levels: Sequence[str], kind: str, text_kind: str) -> tuple[int, int]:
    """How many characters make one level: in the block, in the text."""
    ordered = sorted(levels.items(), key=lambda level: len(level[0]))
    (base, text_base), others = ordered[0], ordered[1:]
    if others:
        unit, text_unit = len(others[0][0]) - len(base), len(others[0][1]) - len(text_base)
        steps = [divmod(len(search) - len(base), unit) for search, _ in others]
        depths = [len(text_base) + count * text_unit for count, _ in steps]
        if any(rest for _, rest in steps) or depths != [len(text) for _, text in others]:
            raise Unrepairable("SEARCH and the file differ in indentation from line to line")
        return unit, text_unit
    proportion = len(base) / len(text_base) if base and text_base else 0
    if text_kind == "\t":
        unit = 1 if kind == "\t" else _first_increase(block_levels) or int(proportion) or 1
        one_reading = unit == proportion and not any(
            len(base) % step == 0 and len(base) // step < len(text_base) for step in _STEPS[:2] if kind != "\t"
        )
        if not one_reading and any(len(level) < len(base) for level in block_levels):
            raise Unrepairable("a line of REPLACE is less indented than all of SEARCH, so its level is not certain")
        return unit, 1
    if kind == "\t" and proportion and len(text_base) % len(base) == 0:
        return 1, len(text_base) // len(base)
    raise Unrepairable("it cannot be told how deep one level of the file is")


def _first_increase(levels: Sequence[str]) -> int:
    for upper, lower in pairwise(levels):
        if len(lower) > len(upper):
            return len(lower) - len(upper)
    return 0


def _check_order(own: Sequence[str], mapped: Sequence[str]) -> None:
    """Every line must stay deeper than, level with or shallower than the line before it."""
    depths = [(len(level), len(new)) for level, new in zip(own, mapped, strict=True)]
    for (upper, new_upper), (lower, new_lower) in pairwise(depths):
        if (lower > upper, lower < upper) != (new_lower > new_upper, new_lower < new_upper):
            raise Unrepairable("REPLACE would be nested in another way than it was written")
