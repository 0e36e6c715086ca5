"""Whether two runs of statements are the same code but for names and constants, and how they correspond. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Match:
    """`names[template's name]` is the other's; `constants` pairs the template's constant with the other's where they
    differ, `texts` the same for the text of f-strings."""

    names: dict[str, str] = field(default_factory=dict)
    constants: list[tuple[ast.Constant, ast.Constant]] = field(default_factory=list)
    texts: list[tuple[ast.Constant, ast.Constant]] = field(default_factory=list)


def match(template: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> Match | None:
    """None where the code differs in more than names of variables and values of constants of one type."""
    found = Match()
    if len(template) != len(other):
        return None
    if not all(_same(first, second, found, False) for first, second in zip(template, other, strict=True)):
        return None
    if len(set(found.names.values())) != len(found.names):
        return None
    return found


def _same(first: object, second: object, found: Match, in_text: bool) -> bool:
    if type(first) is not type(second):
        return False
    if isinstance(first, ast.Name) and isinstance(second, ast.Name):
        return found.names.setdefault(first.id, second.id) == second.id
    if isinstance(first, ast.Constant) and isinstance(second, ast.Constant):
        return _same_constant(first, second, found, in_text)
    if isinstance(first, ast.MatchValue | ast.MatchSingleton):
        return ast.dump(first) == ast.dump(second)  # type: ignore[arg-type]
    if isinstance(first, ast.AST):
        inside = in_text or isinstance(first, ast.JoinedStr)
        for name in first._fields:
            if name in ("ctx", "type_comment", "kind"):
                continue
            one, two = getattr(first, name, None), getattr(second, name, None)
            # A field of an f-string is code again.
            if not _same(one, two, found, inside and not isinstance(first, ast.FormattedValue)):
                return False
        return True
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(
            _same(one, two, found, in_text) for one, two in zip(first, second, strict=True)
        )
    return first == second


def _same_constant(first: ast.Constant, second: ast.Constant, found: Match, in_text: bool) -> bool:
    one, two = first.value, second.value
    if type(one) is type(two) and (one == two or one is two) and repr(one) == repr(two):
        return True
    if isinstance(one, str) and isinstance(two, str):
        (found.texts if in_text else found.constants).append((first, second))
        return True
    numbers = (int, float)
    plain = isinstance(one, numbers) and isinstance(two, numbers) and not isinstance(one, bool)
    if plain and not isinstance(two, bool) and not in_text:
        found.constants.append((first, second))
        return True
    return False
