"""Cells that nothing needs, and code that was copied: pure, and careful to claim only what holds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jupyter_agent.notebook.flow import CellFlow, Graph
from jupyter_agent.notebook.flow_scope import SCOPES
from jupyter_agent.notebook.flow_source import to_python


@dataclass(frozen=True, slots=True)
class Dead:
    """A cell whose removal no other cell, output or file would show. `reason` says why, for a person."""

    cell: str
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """Whole statements of a cell: 1-based inclusive lines."""

    cell: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The same code at several places. `exact`: equal but for layout and comments; `renamed`: equal but for the names
    of variables, consistently exchanged."""

    kind: Literal["exact", "renamed"]
    places: tuple[Place, ...]
    statements: int


def dead_cells(graph: Graph) -> tuple[Dead, ...]:
    """Cells without any effect whose names no living cell reads, in document order.

    A cell lives when it shows or prints something, has outputs, calls what may have an effect, imports a library that
    may have one, cannot be followed, or makes something that a living cell needs (also: only perhaps needs, or needs
    from below). When any living cell may read any name, everything that binds a name lives.
    """
    living = {flow.id for flow in graph.cells if _lives(flow)}
    reads_all = any(each.reads for flow in graph.cells if flow.id in living for each in flow.unknown)
    if reads_all:
        living |= {flow.id for flow in graph.cells if flow.touches}
    wanted = {name for flow in graph.cells for name in flow.undefined | flow.maybe_undefined}
    living |= {flow.id for flow in graph.cells if flow.touches & wanted}
    living |= set(graph.dependencies(living))
    found: list[Dead] = []
    for flow in graph.cells:
        if flow.id not in living:
            found.append(Dead(flow.id, _why_dead(flow)))
    return tuple(found)


def _lives(flow: CellFlow) -> bool:
    if not flow.cell.source.strip():
        return bool(flow.cell.outputs)
    return bool(flow.effects or flow.unknown or flow.cell.outputs or flow.deletes or flow.blocked or _may_fail(flow))


def _may_fail(flow: CellFlow) -> bool:
    """A cell with the tag `raises-exception` is there to fail; an `assert` or `raise` is a check of its own."""
    if "raises-exception" in flow.cell.tags:
        return True
    tree = to_python(flow.cell.source).tree
    pending: list[ast.AST] = [tree] if tree is not None else []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assert | ast.Raise | ast.Await):
            return True
        if not isinstance(node, SCOPES):
            pending += ast.iter_child_nodes(node)
    return tree is None


def _why_dead(flow: CellFlow) -> str:
    if not flow.cell.source.strip():
        return "it is empty"
    names = sorted(flow.writes | flow.maybe_writes)
    if not names:
        return "it binds nothing and has no effect"
    listed = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return f"nothing needs {listed}"


def duplicates(graph: Graph, *, minimum: int = 2) -> tuple[Duplicates, ...]:
    """Runs of at least `minimum` statements that stand at several places, the longest first; no place is in two groups.

    Statements that only import are not counted; one statement that spans several lines counts by its lines / 3.
    """
    pieces = [piece for flow in graph.cells for piece in _runs(flow, minimum)]
    groups: dict[str, list[tuple[Place, str, int]]] = {}
    for place, renamed, exact, count in pieces:
        groups.setdefault(renamed, []).append((place, exact, count))
    ordered = sorted((each for each in groups.values() if len(each) > 1), key=lambda each: (-each[0][2], -len(each)))
    taken: dict[str, set[int]] = {}
    found: list[Duplicates] = []
    for group in ordered:
        free: list[tuple[Place, str]] = []
        for place, exact, _ in group:
            lines = set(range(place.start, place.end + 1))
            if not lines & taken.get(place.cell, set()) and not _overlaps(place, [each for each, _ in free]):
                free.append((place, exact))
        if len(free) < 2:
            continue
        for place, _ in free:
            taken.setdefault(place.cell, set()).update(range(place.start, place.end + 1))
        same = len({exact for _, exact in free}) == 1
        found.append(Duplicates("exact" if same else "renamed", tuple(place for place, _ in free), group[0][2]))
    return tuple(found)


def _overlaps(place: Place, others: Sequence[Place]) -> bool:
    return any(place.cell == o.cell and place.start <= o.end and o.start <= place.end for o in others)


def _runs(flow: CellFlow, minimum: int) -> list[tuple[Place, str, str, int]]:
    """Every run of consecutive module-level statements: its place, its form with names numbered, its own form."""
    tree = to_python(flow.cell.source).tree
    if tree is None:
        return []
    found: list[tuple[Place, str, str, int]] = []
    body = tree.body
    for start in range(len(body)):
        weight = 0
        for end in range(start, min(start + 12, len(body))):
            if isinstance(body[end], ast.Import | ast.ImportFrom):
                break
            weight += max(1, ((body[end].end_lineno or body[end].lineno) - body[end].lineno + 1) // 3)
            if weight < minimum:
                continue
            run = body[start : end + 1]
            place = Place(flow.id, run[0].lineno, run[-1].end_lineno or run[-1].lineno)
            found.append((place, renamed_form(run), "\n".join(ast.dump(each) for each in run), weight))
    return found


def renamed_form(statements: Sequence[ast.stmt]) -> str:
    """The statements with each name replaced by its rank of first occurrence: equal for code equal up to names."""
    numbers: dict[str, str] = {}

    def form(node: object) -> str:
        if isinstance(node, ast.Name):
            return numbers.setdefault(node.id, f"§{len(numbers)}")
        if isinstance(node, ast.AST):
            parts = [form(getattr(node, name, None)) for name in node._fields if name not in ("ctx", "type_comment")]
            return f"{type(node).__name__}({','.join(parts)})"
        if isinstance(node, list):
            return f"[{','.join(form(each) for each in node)}]"
        return repr(node)

    return form(list(statements))
