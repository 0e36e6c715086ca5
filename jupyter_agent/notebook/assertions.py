"""Checks in cells: `assert` statements and calls of functions named `assert…`. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable

from jupyter_agent.notebook.document import Cell

_LINE = re.compile(r"^[ \t]*(assert\b.*)$", re.MULTILINE)


def assertions(source: str) -> list[str]:
    """The checks of a cell as normalised text, messages aside; of code that does not parse, its `assert` lines."""
    if "assert" not in source:
        return []
    from jupyter_agent.notebook.flow_source import to_python

    try:
        tree = ast.parse(to_python(source).text)
    except (SyntaxError, ValueError, RecursionError):
        return [line.strip() for line in _LINE.findall(source)]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found.append(f"assert {ast.unparse(node.test)}")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _name(node.value).startswith("assert"):
            found.append(ast.unparse(node.value))
    return found


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def lost_assertions(before: Iterable[Cell], after: Iterable[Cell]) -> dict[str, str]:
    """Cell id to one of its checks that is in none of the code cells `after`; checks that only moved are not lost."""
    there = Counter(check for cell in after if cell.type == "code" for check in assertions(cell.source))
    lost: dict[str, str] = {}
    for cell in before:
        for check in assertions(cell.source) if cell.type == "code" else ():
            if there[check] > 0:
                there[check] -= 1
            else:
                lost.setdefault(cell.id, check)
    return lost
