"""hoist-imports: the unconditional imports of a notebook in one place, each with its own text. Pure."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import CellFlow, Graph, analyse
from jupyter_agent.notebook.flow_names import BUILTINS
from jupyter_agent.notebook.flow_scope import imported_name
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor.common import Params, check_history, find, markdown_before, taken_ids
from jupyter_agent.refactor.plan import Context, Plan, make_plan, new_cell_id, refused
from jupyter_agent.refactor.spans import first_line, last_line

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class _Statement:
    """An import that stands alone on its lines (1-based, inclusive); `text` is theirs, comments included."""

    cell: str
    node: Import
    start: int
    end: int
    text: str

    @property
    def bindings(self) -> dict[str, str]:
        """Name bound → what it is bound to."""
        prefix = ""
        if isinstance(self.node, ast.ImportFrom):
            prefix = "." * self.node.level + (self.node.module or "") + ":"
        return {imported_name(alias): prefix + alias.name for alias in self.node.names}


def hoist_imports(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Move imports of all cells into the first cell that only imports, or into a new one at the top.

    Left where they are, with a note: imports in branches, functions and magics' cells; those whose name has another
    meaning somewhere; those that something above may prepare (`sys.path`, `%pip`, environment variables).
    """
    if context.language != "python":
        raise refused(f"hoist-imports knows Python's imports only, and this notebook is in {context.language}.")
    graph = analyse(cells)
    home = _home(graph)
    notes: list[str] = []
    moving: list[_Statement] = []
    for flow in graph.cells:
        if home is not None and flow.id == home.id:
            continue
        for statement in _imports(flow):
            reason = _reason_to_leave(graph, flow, statement)
            if reason:
                notes.append(f"cell {flow.id}: `{_one_line(statement.text)}` stays, {reason}")
            else:
                moving.append(statement)
    moving, more = _without_revealing(graph, moving)
    notes += more
    if not moving:
        return make_plan(cells, cells, notes=[*notes, "no import can be moved"])
    check_history(cells, "moving imports", values=False)
    return _moved(cells, graph, home, moving, notes)


def _home(graph: Graph) -> CellFlow | None:
    """The first code cell with code in it, if it consists of imports (and line magics) only."""
    for flow in graph.cells:
        if not flow.cell.source.strip():
            continue
        source = to_python(flow.cell.source)
        if source.tree is None or source.shifted or any(m.name.startswith("%%") for m in source.magics):
            return None
        magic_lines = {line for magic in source.magics for line in range(magic.line, magic.end + 1)}
        code = [each for each in source.tree.body if each.lineno not in magic_lines]
        only_imports = bool(code) and all(isinstance(each, ast.Import | ast.ImportFrom) for each in code)
        return flow if only_imports and flow.blocked is None else None
    return None


def _imports(flow: CellFlow) -> list[_Statement]:
    source = to_python(flow.cell.source)
    if source.tree is None or source.shifted or any(magic.name.startswith("%%") for magic in source.magics):
        return []
    lines = flow.cell.source.split("\n")
    occupied: dict[int, int] = {}
    for each in source.tree.body:
        for line in range(first_line(each), last_line(each) + 1):
            occupied[line] = occupied.get(line, 0) + 1
    found: list[_Statement] = []
    for each in source.tree.body:
        if not isinstance(each, ast.Import | ast.ImportFrom):
            continue
        start, end = first_line(each), last_line(each)
        alone = all(occupied[line] == 1 for line in range(start, end + 1)) and not lines[end - 1].rstrip().endswith(";")
        if alone and lines[start - 1] == lines[start - 1].lstrip():
            found.append(_Statement(flow.id, each, start, end, "\n".join(lines[start - 1 : end])))
    return found


def _reason_to_leave(graph: Graph, flow: CellFlow, statement: _Statement) -> str | None:
    node = statement.node
    if isinstance(node, ast.ImportFrom) and (node.module == "__future__" or any(a.name == "*" for a in node.names)):
        return "because its effect is on the code around it"
    if isinstance(node, ast.ImportFrom) and node.level:
        return "because it is relative"
    if flow.failed or "raises-exception" in flow.cell.tags:
        return "because the cell fails"
    if flow.blocked:
        return f"because the cell is tagged {flow.blocked}"
    for name, target in statement.bindings.items():
        for other in graph.cells:
            if name in other.touches - other.changes - other.maybe_changes and not _binds_only(other, name, target):
                return f"because cell {other.id} gives {name} another meaning"
            if other.position < flow.position and (name in other.undefined or name in _builtins(other)):
                return f"because cell {other.id} above reads {name}"
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    if all(module.split(".")[0] in sys.stdlib_module_names for module in modules):
        return None
    barrier = next((other for other in graph.cells[: flow.position] if _prepares(other)), None)
    own = _prepares_above(flow, statement)
    if barrier is not None or own:
        where = f"cell {barrier.id}" if barrier is not None else "code above it in the cell"
        return f"because {where} may prepare it"
    return None


def _builtins(flow: CellFlow) -> frozenset[str]:
    return flow.names.builtin_reads & BUILTINS


def _binds_only(flow: CellFlow, name: str, target: str) -> bool:
    """Whether every binding of `name` in the cell is this very import, at its top level."""
    tree = to_python(flow.cell.source).tree
    if tree is None or name in flow.deletes:
        return False
    imports = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return False
        if isinstance(node, ast.Import | ast.ImportFrom):
            prefix = "." * node.level + (node.module or "") + ":" if isinstance(node, ast.ImportFrom) else ""
            same = [prefix + alias.name for alias in node.names if imported_name(alias) == name]
            if any(each != target for each in same):
                return False
            imports += len(same)
    return imports > 0


_PREPARING = re.compile(
    r"^\s*(?:!|%(?:pip|conda|mamba|uv|cd|env|set_env|run|load_ext|autoreload)\b)|sys\.path|os\.environ|os\.chdir|"
    r"os\.putenv|matplotlib\.use|mpl\.use|sys\.modules|importlib|pip\.main|set_start_method",
    re.M,
)


def _prepares(flow: CellFlow) -> bool:
    """Whether a cell may change what an import finds or does."""
    if any(each.writes for each in flow.unknown) or flow.language != "python":
        return True
    return _PREPARING.search(flow.cell.source) is not None


def _prepares_above(flow: CellFlow, statement: _Statement) -> bool:
    above = "\n".join(flow.cell.source.split("\n")[: statement.start - 1])
    return _PREPARING.search(above) is not None


def _without_revealing(graph: Graph, moving: list[_Statement]) -> tuple[list[_Statement], list[str]]:
    """An import that ends a cell hides the value before it, and one that is all of a cell may have made its output."""
    kept: list[_Statement] = []
    notes: list[str] = []
    for flow in graph.cells:
        own = [each for each in moving if each.cell == flow.id]
        tree = to_python(flow.cell.source).tree
        if not own or tree is None:
            continue
        rest = [each for each in tree.body if not any(each is statement.node for statement in own)]
        rest = [each for each in rest if first_line(each) not in {statement.start for statement in own}]
        ends_otherwise = not isinstance(tree.body[-1], ast.Expr) and bool(rest) and isinstance(rest[-1], ast.Expr)
        if ends_otherwise:
            notes.append(f"cell {flow.id}: its imports stay, because without them it would show a value")
        elif not rest and flow.cell.outputs:
            notes.append(f"cell {flow.id}: its imports stay, because its outputs come from them")
        else:
            kept += own
    return kept, notes


def _moved(
    cells: Sequence[Cell], graph: Graph, home: CellFlow | None, moving: list[_Statement], notes: list[str]
) -> Plan:
    present = set(_keys(home)) if home is not None else set()
    texts: list[str] = []
    for statement in moving:
        keys = {f"{name}={target}" for name, target in statement.bindings.items()}
        if not keys <= present:
            texts.append(statement.text)
            present |= keys
    after: list[Cell] = []
    gone: list[str] = []
    for cell in cells:
        own = [each for each in moving if each.cell == cell.id]
        stripped = replace(cell, source=_without(cell.source, own)) if own else cell
        if own and not stripped.source.strip() and not cell.tags and not cell.outputs:
            gone.append(cell.id)
            continue
        after.append(stripped)
    if home is not None and texts:
        after = [_with_imports(cell, texts) if cell.id == home.id else cell for cell in after]
    elif texts:
        first = find(cells, graph.cells[0].id).index
        place = markdown_before(cells, first) if first and cells[first - 1].type == "markdown" and first > 1 else first
        anchor = next(i for i, cell in enumerate(after) if cell.id == cells[place].id or cell.index >= place)
        new = Cell(new_cell_id(taken_ids(cells), *texts, wanted="imports"), 0, "code", "\n".join(texts))
        after.insert(anchor, new)
    said = f"{len(moving)} imports move to {'cell ' + home.id if home is not None else 'a new cell at the top'}"
    if gone:
        said += f"; cells left empty are deleted ({', '.join(gone)})"
    return make_plan(cells, after, notes=[said, *notes])


def _keys(home: CellFlow) -> list[str]:
    return [f"{name}={target}" for statement in _imports(home) for name, target in statement.bindings.items()]


def _with_imports(cell: Cell, texts: Sequence[str]) -> Cell:
    """Behind the last import of the cell, before what its line magics follow it with."""
    tree = to_python(cell.source).tree
    lines = cell.source.split("\n")
    imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)] if tree else []
    end = last_line(imports[-1]) if imports else len(lines)
    return replace(cell, source="\n".join([*lines[:end], *texts, *lines[end:]]))


def _without(source: str, statements: Sequence[_Statement]) -> str:
    """The source without the statements' lines, and without a doubled blank line where one stood."""
    lines: list[str | None] = list(source.split("\n"))
    for statement in statements:
        lines[statement.start - 1 : statement.end] = [None] * (statement.end - statement.start + 1)
    kept: list[str] = []
    removed = False
    for line in lines:
        if line is None:
            removed = True
            continue
        if removed and not line.strip() and (not kept or not kept[-1].strip()):
            continue
        removed = False
        kept.append(line)
    return "\n".join(kept).rstrip("\n") if statements and lines[-1] is None else "\n".join(kept)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
