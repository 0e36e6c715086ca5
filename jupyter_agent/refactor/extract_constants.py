"""Constants in which copies of code differ, as parameters of the function that replaces them. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_agent.refactor.fstrings import fstring_fields
from jupyter_agent.refactor.plan import refused
from jupyter_agent.refactor.spans import Span, Text

if TYPE_CHECKING:
    from jupyter_agent.refactor.extract_block import Block
    from jupyter_agent.refactor.recipe_extract import Occurrence


@dataclass(frozen=True)
class Constant:
    """A parameter for a constant: `values[i]` is its source at occurrence i; `places` are spans of the template's cell
    and what replaces them."""

    name: str
    values: tuple[str, ...]
    places: tuple[tuple[Span, str], ...]


def constants_of(
    occurrences: Sequence[Occurrence], wanted: Sequence[str], taken: set[str]
) -> tuple[list[Constant], list[Occurrence]]:
    """The parameters that make all occurrences calls of one function, and the occurrences for which that works.

    An occurrence whose f-strings differ in text that no other differing constant explains is left out. `wanted` names
    the parameters in order; `taken` are names that they must not have.
    """
    kept = list(occurrences)
    while True:
        template = next(each for each in kept if each.match is None)
        groups = _groups(kept)
        texts, failed = _text_places(kept, groups, template.block)
        if failed is None:
            break
        kept.remove(failed)
    if len(wanted) > len(groups):
        raise refused(
            f"arguments names {len(wanted)} parameters, but only {len(groups)} constants differ between copies."
        )
    text = Text(template.block.cell.source)
    constants: list[Constant] = []
    taken = set(taken)
    for number, (values, nodes) in enumerate(groups.items()):
        name = wanted[number] if number < len(wanted) else _name(nodes, template.block, taken)
        if not name.isidentifier() or name in taken:
            raise refused(f"{name} cannot be a parameter here: it is no free name. Choose another in arguments.")
        taken.add(name)
        places = [(text.span(node), name) for node in nodes]
        places += [(span, "{" + name + "}") for span in texts.get(values, ())]
        constants.append(Constant(name, values, tuple(places)))
    return constants, kept


def _groups(occurrences: Sequence[Occurrence]) -> dict[tuple[str, ...], list[ast.Constant]]:
    """Source of the values, by occurrence → the template's constants that take these values together."""
    nodes: dict[int, ast.Constant] = {}
    values: dict[int, list[str]] = {}
    for number, each in enumerate(occurrences):
        for one, two in each.match.constants if each.match else ():
            nodes[id(one)] = one
            values.setdefault(id(one), [repr(one.value)] * len(occurrences))[number] = repr(two.value)
    groups: dict[tuple[str, ...], list[ast.Constant]] = {}
    for key in sorted(nodes, key=lambda each: (nodes[each].lineno, nodes[each].col_offset)):
        groups.setdefault(tuple(values[key]), []).append(nodes[key])
    return groups


def _text_places(
    occurrences: Sequence[Occurrence], groups: dict[tuple[str, ...], list[ast.Constant]], template: Block
) -> tuple[dict[tuple[str, ...], list[Span]], Occurrence | None]:
    """Where f-string text holds the value of a group; or the occurrence for which that cannot be said."""
    places: dict[tuple[str, ...], list[Span]] = {}
    texts: dict[int, ast.Constant] = {}
    values: dict[int, list[str]] = {}
    culprit: dict[int, Occurrence] = {}
    for number, each in enumerate(occurrences):
        for one, two in each.match.texts if each.match else ():
            texts[id(one)] = one
            values.setdefault(id(one), [str(one.value)] * len(occurrences))[number] = str(two.value)
            culprit[id(one)] = each
    for key, node in texts.items():
        found = _explained(values[key], groups) or _one_word(values[key])
        spans = _spans(template, node, ast.literal_eval(found[template_place(occurrences)])) if found else None
        if found is None or spans is None:
            return places, culprit[key]
        places.setdefault(found, []).append(spans)
    for values_ in places:
        groups.setdefault(values_, [])
    return places, None


def template_place(occurrences: Sequence[Occurrence]) -> int:
    return next(number for number, each in enumerate(occurrences) if each.match is None)


def _explained(texts: Sequence[str], groups: dict[tuple[str, ...], list[ast.Constant]]) -> tuple[str, ...] | None:
    """The group whose string, put into one surrounding text, gives each of `texts`."""
    for values in groups:
        strings = [ast.literal_eval(value) for value in values]
        if not all(
            isinstance(each, str) and each and text.count(each) == 1 for each, text in zip(strings, texts, strict=True)
        ):
            continue
        frames = {tuple(text.split(each)) for each, text in zip(strings, texts, strict=True)}
        if len(frames) == 1:
            return values
    return None


def _one_word(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Sources of the one word in which the texts differ, all else being equal."""
    parts = [re.split(r"(\w+)", text) for text in texts]
    if len({len(each) for each in parts}) > 1:
        return None
    different = [place for place, words in enumerate(zip(*parts, strict=True)) if len(set(words)) > 1]
    if len(different) != 1 or not different[0] % 2:
        return None
    return tuple(repr(each[different[0]]) for each in parts)


def _spans(template: Block, node: ast.Constant, value: str) -> Span | None:
    """The one place of `value` in the text (not the fields) of the f-string that `node` is part of."""
    if any(character in value for character in "{}\\\"'\n"):
        return None
    text = Text(template.cell.source)
    for statement in template.body:
        for each in ast.walk(statement):
            if not isinstance(each, ast.JoinedStr) or not any(part is node for part in each.values):
                continue
            span = text.span(each)
            source = text.at(span)
            literal = source.lstrip("fFrR")
            quote = literal[:3] if literal[:3] in ('"""', "'''") else literal[:1]
            if not source.endswith(quote) or literal[len(quote) : -len(quote)].count(quote):
                return None
            fields = [(f.start, f.start + len(f.text)) for f in fstring_fields(text.source, span)]
            starts = [
                place
                for place in range(span.start, span.end)
                if text.source.startswith(value, place) and not any(a <= place < b for a, b in fields)
            ]
            return Span(starts[0], starts[0] + len(value)) if len(starts) == 1 else None
    return None


def _name(nodes: Sequence[ast.Constant], template: Block, taken: set[str]) -> str:
    """A free name that says what the constant is for, as far as its first place tells."""
    node = nodes[0] if nodes else ast.Constant("")
    base = "value" if not isinstance(node.value, str) else "label"
    for statement in template.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.keyword) and each.value is node and each.arg:
                base = each.arg
            elif isinstance(each, ast.Subscript) and each.slice is node:
                base = "column" if isinstance(node.value, str) else "index"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
