"""parameterize and strip-outputs: a papermill parameters cell; outputs and counts taken out. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import Graph, analyse
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor.common import Params, check_history, find, listed, python, taken_ids
from jupyter_agent.refactor.plan import Context, Plan, make_plan, new_cell_id, refused
from jupyter_agent.refactor.spans import first_line, last_line

TAG = "parameters"
"""The tag by which papermill finds the cell whose values it replaces."""


def parameterize(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Give the notebook a cell tagged `parameters`: `cell` is tagged, or the constants `name` move to a new one."""
    if context.language != "python":
        raise refused(f"parameterize knows constants of Python only, and this notebook is in {context.language}.")
    tagged = [cell.id for cell in cells if TAG in cell.tags]
    if tagged:
        raise refused(f"cell {tagged[0]} is tagged {TAG} already. A notebook has one parameters cell.")
    names = listed(params, "name", "names")
    if names:
        return _collected(cells, names)
    if "cell" in params:
        cell = find(cells, params["cell"])
        if not _only_constants(cell):
            raise refused(f"cell {cell.id} does more than bind names to constants, so papermill cannot replace it.")
    else:
        candidates = [each for each in cells if each.type == "code" and _only_constants(each)]
        if len(candidates) != 1:
            found = ", ".join(each.id for each in candidates) or "none"
            raise refused(f"parameterize needs cell=ID or name=NAME[,NAME]; cells of constants only: {found}.")
        cell = candidates[0]
    after = [_tagged(each) if each.id == cell.id else each for each in cells]
    return make_plan(cells, after, notes=[f"cell {cell.id} is tagged {TAG}"])


def _tagged(cell: Cell) -> Cell:
    return replace(cell, metadata={**cell.metadata, "tags": [*cell.tags, TAG]})


def _constant(statement: ast.stmt) -> str | None:
    """The name of `name = literal`, else None."""
    target: ast.expr
    value: ast.expr | None
    if isinstance(statement, ast.AnnAssign):
        target, value = statement.target, statement.value
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    else:
        return None
    if not isinstance(target, ast.Name) or value is None:
        return None
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return target.id


def _only_constants(cell: Cell) -> bool:
    source = to_python(cell.source)
    if cell.type != "code" or source.tree is None or source.magics or source.shifted or not source.tree.body:
        return False
    return all(_constant(statement) for statement in source.tree.body)


def _collected(cells: Sequence[Cell], names: Sequence[str]) -> Plan:
    """Move `name = literal` of each name into a new cell before the first cell that needs one of them."""
    graph = analyse(cells)
    check_history(cells, "moving constants", values=False)
    lifted: dict[str, list[tuple[int, int]]] = {}
    texts: list[str] = []
    for name in names:
        cell_id, statement = _only_binding(graph, name)
        cell = find(cells, cell_id)
        lines = cell.source.split("\n")
        start, end = first_line(statement), last_line(statement)
        texts.append("\n".join(lines[start - 1 : end]))
        lifted.setdefault(cell_id, []).append((start, end))
    if len(lifted) == 1:
        (cell_id,) = lifted
        if _only_constants(find(cells, cell_id)) and len(lifted[cell_id]) == len(_body(find(cells, cell_id))):
            after = [_tagged(each) if each.id == cell_id else each for each in cells]
            return make_plan(cells, after, notes=[f"cell {cell_id} is tagged {TAG}"])
    new = Cell(new_cell_id(taken_ids(cells), *texts, wanted=TAG), 0, "code", "\n".join(texts), {"tags": [TAG]})
    after = []
    place = min(find(cells, cell_id).index for cell_id in lifted)
    for cell in cells:
        if cell.index == place:
            after.append(new)
        if cell.id in lifted:
            source = _lines_without(cell.source, lifted[cell.id])
            if source.strip() or cell.outputs or cell.tags:
                after.append(replace(cell, source=source))
        else:
            after.append(cell)
    return make_plan(cells, after, notes=[f"{', '.join(names)} move to a new cell tagged {TAG}"])


def _body(cell: Cell) -> list[ast.stmt]:
    tree = to_python(cell.source).tree
    return tree.body if tree is not None else []


def _only_binding(graph: Graph, name: str) -> tuple[str, ast.stmt]:
    """The one statement that binds `name`; moving it up must not be seen. Raises NotebookRefused("recipe")."""
    binders = [flow for flow in graph.cells if name in flow.writes | flow.maybe_writes]
    if len(binders) != 1:
        found = ", ".join(flow.id for flow in binders) or "no cell"
        raise refused(f"{name} must be bound in exactly one cell to become a parameter; it is bound in {found}.")
    flow = binders[0]
    source, tree = python(flow.cell, "parameterize")
    statements = [each for each in tree.body if _constant(each) == name]
    binding = [
        n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
    ]
    if len(statements) != 1 or len(binding) != 1 or source.local:
        raise refused(f"cell {flow.id} does not bind {name} by one `{name} = constant`, so it cannot be a parameter.")
    statement = statements[0]
    lines = range(first_line(statement), last_line(statement) + 1)
    shared = [each for each in tree.body if first_line(each) in lines or last_line(each) in lines]
    if any(each is not statement for each in shared):
        raise refused(f"cell {flow.id}: `{name} = …` shares its line with other code. Give it a line of its own.")
    for other in graph.cells[: flow.position + 1]:
        if name in other.undefined | other.maybe_undefined or name in other.deletes:
            raise refused(f"cell {other.id} reads {name} above its binding; which value is meant cannot be told.")
    body_end = tree.body[-1] is statement and len(tree.body) > 1 and isinstance(tree.body[-2], ast.Expr)
    if body_end:
        raise refused(f"without `{name} = …` at its end cell {flow.id} would show a value. Move the line up first.")
    return flow.id, statement


def _lines_without(source: str, ranges: Sequence[tuple[int, int]]) -> str:
    gone = {line for start, end in ranges for line in range(start, end + 1)}
    kept = [line for number, line in enumerate(source.split("\n"), 1) if number not in gone]
    return "\n".join(kept).strip("\n")


def strip_outputs(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Take outputs and execution counts out of all code cells, or of those named in `cells`. Any language."""
    wanted = set(listed(params, "cells", "cell"))
    for cell_id in wanted:
        find(cells, cell_id)
    after: list[Cell] = []
    cleared: list[str] = []
    for cell in cells:
        chosen = cell.type == "code" and (not wanted or cell.id in wanted)
        if chosen and (cell.outputs or cell.execution_count is not None):
            after.append(replace(cell, outputs=(), execution_count=None))
            cleared.append(cell.id)
        else:
            after.append(cell)
    note = (
        f"outputs and execution counts of {len(cleared)} cells are removed" if cleared else "there is nothing to strip"
    )
    return make_plan(cells, after, notes=[note], cleared=cleared)
