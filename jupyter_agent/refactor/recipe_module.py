"""extract-module: definitions move from the notebook into an importable file. Pure."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from jupyter_agent.notebook import flow_known as known
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import CellFlow, Graph, analyse
from jupyter_agent.notebook.flow_names import BUILTINS
from jupyter_agent.notebook.flow_scope import imported_name
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor.common import Params, check_history, find, listed, python
from jupyter_agent.refactor.plan import Context, FileWrite, Plan, make_plan, refused
from jupyter_agent.refactor.recipe_script import script_path
from jupyter_agent.refactor.spans import first_line, last_line

NOTEBOOK_NAMES = frozenset({"get_ipython", "In", "Out", "__name__", "__file__", "_"})
PYTHON_NAMES = frozenset(dir(builtins)) | {"__name__", "__doc__"}


def extract_module(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Move `cells` (functions, classes, constants) into `path`; the first becomes the import of their names.

    Imports that they need are copied into the module. Refused where they need anything else of the notebook, do more
    than define, or where a name has another meaning elsewhere.
    """
    if context.language != "python":
        raise refused(f"extract-module writes Python modules, and this notebook is in {context.language}.")
    ids = listed(params, "cells", "cell")
    if not ids or "path" not in params:
        raise refused("extract-module needs cells=ID[,ID…] and path=NAME.py.")
    path = script_path(params["path"], context)
    module = _module_name(path, cells, context)
    graph = analyse(cells)
    chosen = sorted({find(cells, cell_id).id: find(cells, cell_id) for cell_id in ids}.values(), key=lambda c: c.index)
    beside = _without_definitions(cells, chosen)
    for cell in chosen:
        _check_cell(graph, cell, beside[cell.id])
    defined = _defined(graph, chosen)
    _check_names(graph, chosen, defined, beside)
    imports = _imports_needed(graph, chosen, defined)
    content = _content(context.name, imports, chosen)
    exported = _exported(graph, chosen, defined)
    line = _import_line(module, exported)
    check_history(cells, "moving cells into a module", values=False)
    gone = {cell.id for cell in chosen[1:]}
    after = [replace(c, source=line, outputs=(), execution_count=None) if c.id == chosen[0].id else c
             for c in cells if c.id not in gone]  # fmt: skip
    notes = [f"{path} defines {', '.join(sorted(exported))}", f"cell {chosen[0].id} imports them"]
    groups = [([cell.id for cell in chosen], [chosen[0].id])]
    return make_plan(cells, after, files=[FileWrite(path, content)], notes=notes, groups=groups)


def _module_name(path: str, cells: Sequence[Cell], context: Context) -> str:
    parts = path[: -len(".py")].split("/")
    for part in parts:
        if not part.isidentifier() or keyword.iskeyword(part):
            raise refused(f"{path} cannot be imported: {part!r} is not a name. Use letters, digits and _ in path.")
    top = parts[0]
    if top in sys.stdlib_module_names or top in known.KNOWN_LIBRARIES:
        raise refused(f"a module {top} would hide the library of that name. Choose another path.")
    if f"{top}.py" in context.existing and len(parts) > 1:
        raise refused(f"{top}.py stands beside the notebook and would hide the folder {top}. Choose another path.")
    for cell in cells:
        tree = to_python(cell.source).tree if cell.type == "code" else None
        for node in ast.walk(tree) if tree is not None else ():
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            if any(name.split(".")[0] == top for name in names):
                raise refused(f"cell {cell.id} imports a module {top} already. Choose another path.")
    return ".".join(parts)


def _without_definitions(cells: Sequence[Cell], chosen: Sequence[Cell]) -> Graph:
    """What the chosen cells do beside defining functions and classes, whose decorators, defaults and bases run in the
    module just as they did here."""
    names = {cell.id for cell in chosen}
    rest = []
    for cell in cells:
        tree = to_python(cell.source).tree if cell.id in names else None
        if tree is not None:
            lines = cell.source.split("\n")
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    start, end = first_line(node), last_line(node)
                    lines[start - 1 : end] = [""] * (end - start + 1)
            cell = replace(cell, source="\n".join(lines))
        rest.append(cell)
    return analyse(rest)


def _check_cell(graph: Graph, cell: Cell, beside: CellFlow) -> None:
    source, tree = python(cell, "extract-module")
    flow = graph[cell.id]
    if source.magics:
        magic = source.magics[0]
        raise refused(
            f"cell {cell.id}, line {magic.line}: {magic.name} works in a notebook only. Leave the line out first."
        )
    if cell.outputs:
        raise refused(f"cell {cell.id} has outputs, so it does more than define. Split the definitions off first.")
    if flow.blocked or cell.tags:
        raise refused(f"cell {cell.id} is tagged {', '.join(cell.tags)}. Take the tags off, or leave the cell out.")
    if flow.unknown:
        raise refused(f"cell {cell.id}: {flow.unknown[0].what}, which cannot be followed into a module.")
    effects = [each for each in beside.effects if not each.startswith("import ")]
    if effects or flow.deletes:
        what = effects[0] if effects else f"deletes {sorted(flow.deletes)[0]}"
        raise refused(f"cell {cell.id} does more than define: it {what}. Split the definitions off first.")
    foreign = NOTEBOOK_NAMES & _reads(flow)
    for node in ast.walk(tree):
        if isinstance(node, ast.Await) and not _inside_async(tree, node):
            raise refused(f"cell {cell.id}, line {node.lineno}: a module cannot await at its top level.")
        if isinstance(node, ast.Name) and node.id in foreign:
            raise refused(f"cell {cell.id}, line {node.lineno}: {node.id} means something else in a module.")
        if isinstance(node, ast.Global):
            raise refused(
                f"cell {cell.id}, line {node.lineno}: `global` would set the module's variable, not the notebook's."
            )


def _reads(flow: CellFlow) -> set[str]:
    """Names that the cell and the functions in it read from outside."""
    reads = set(flow.names.reads | flow.names.maybe_reads | flow.names.builtin_reads)
    for each in flow.names.deferred.values():
        reads |= each.reads
    return reads


def _inside_async(tree: ast.Module, wanted: ast.Await) -> bool:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    return any(child is wanted for function in functions for child in ast.walk(function))


def _defined(graph: Graph, chosen: Sequence[Cell]) -> dict[str, str]:
    """Name → cell that defines it, imports of the chosen cells not counted."""
    defined: dict[str, str] = {}
    for cell in chosen:
        flow = graph[cell.id]
        for name in flow.writes | flow.maybe_writes:
            if name in flow.names.imports:
                continue
            if name in defined:
                raise refused(f"cells {defined[name]} and {cell.id} both define {name}. Take one of them out.")
            defined[name] = cell.id
    if not defined:
        raise refused("the cells define nothing that could be imported.")
    return defined


def _check_names(graph: Graph, chosen: Sequence[Cell], defined: dict[str, str], beside: Graph) -> None:
    inside = {cell.id for cell in chosen}
    for flow in graph.cells:
        if flow.id in inside:
            continue
        clash = (flow.writes | flow.maybe_writes | flow.deletes) & defined.keys()
        if clash:
            name = sorted(clash)[0]
            raise refused(f"cell {flow.id} binds {name} too, which would not reach the module. Rename one of them.")
        global_writes = {name for each in flow.names.deferred.values() for name in each.writes} & defined.keys()
        if global_writes:
            raise refused(
                f"a function of cell {flow.id} sets {sorted(global_writes)[0]}, which the module would not see."
            )
        if flow.position < graph[chosen[0].id].position and flow.undefined & defined.keys():
            name = sorted(flow.undefined & defined.keys())[0]
            raise refused(f"cell {flow.id} reads {name} above its definition. Order the cells first.")
    for cell in chosen:
        changed = (beside[cell.id].changes | beside[cell.id].maybe_changes) - defined.keys()
        if changed - graph[cell.id].writes:
            raise refused(
                f"cell {cell.id} changes {sorted(changed)[0]}, which is the notebook's. Leave that out first."
            )


def _imports_needed(graph: Graph, chosen: Sequence[Cell], defined: dict[str, str]) -> list[str]:
    """The import lines, as the notebook has them, for what the chosen code uses but does not import itself."""
    needed: dict[str, str] = {}
    own: set[str] = set()
    for cell in chosen:
        flow = graph[cell.id]
        own |= set(flow.names.imports)
        for name in _reads(flow):
            needed.setdefault(name, cell.id)
    lines: dict[str, None] = {}
    for name, cell_id in sorted(needed.items()):
        if name in defined or name in own:
            continue
        importers = [flow for flow in graph.cells if name in flow.writes | flow.maybe_writes]
        if not importers:
            if name == "display":
                lines["from IPython.display import display"] = None
            elif name not in PYTHON_NAMES:
                stars = _star_imports(graph, graph[cell_id].position)
                if not stars:
                    raise refused(f"cell {cell_id} uses {name}, which no cell defines. Define it first.")
                lines |= dict.fromkeys(stars)
            continue
        lines[_import_text(importers, name, cell_id)] = None
    return sorted(lines, key=lambda line: (line.startswith("from"), line))


def _star_imports(graph: Graph, position: int) -> list[str]:
    """The star imports above, as the notebook has them."""
    found = []
    for flow in graph.cells[: position + 1]:
        tree = to_python(flow.cell.source).tree
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and not node.level:
                found.append(f"from {node.module} import *")
    return found


def _import_text(importers: Sequence[CellFlow], name: str, user: str) -> str:
    targets = {flow.names.imports.get(name) for flow in importers}
    if None in targets or len(targets) > 1:
        where = next((flow.id for flow in importers if name not in flow.names.imports), importers[0].id)
        raise refused(
            f"cell {user} uses {name} of cell {where}, which would not be in the module. Extract that cell too, or "
            f"make {name} a parameter."
        )
    tree = to_python(importers[0].cell.source).tree
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if imported_name(alias) != name:
                continue
            suffix = f" as {alias.asname}" if alias.asname else ""
            if isinstance(node, ast.Import):
                return f"import {alias.name}{suffix}"
            if node.level:
                raise refused(f"cell {importers[0].id} imports {name} relatively, which a module beside it cannot.")
            return f"from {node.module} import {alias.name}{suffix}"
    raise refused(f"the import of {name} in cell {importers[0].id} was not found.")


def _content(notebook: str, imports: Sequence[str], chosen: Sequence[Cell]) -> str:
    future: list[str] = []
    bodies: list[str] = []
    for cell in chosen:
        tree = to_python(cell.source).tree
        lines = cell.source.split("\n")
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                future.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
        bodies.append("\n".join(lines).strip("\n"))
    parts = [f'"""Definitions of {_plain(notebook)}."""']
    if future:
        parts.append("\n".join(dict.fromkeys(future)))
    if imports:
        parts.append("\n".join(imports))
    head = "\n\n".join(parts)
    return head + "\n\n\n" + "\n\n\n".join(body for body in bodies if body) + "\n"


def _plain(text: str) -> str:
    return re.sub(r'["\\\n]', "_", text)


def _exported(graph: Graph, chosen: Sequence[Cell], defined: dict[str, str]) -> list[str]:
    """All that the cells define, and those of their imports that other cells use."""
    inside = {cell.id for cell in chosen}
    names = set(defined)
    for cell in chosen:
        for edge in graph.edges_out_of(cell.id):
            if edge.target not in inside and (edge.name in graph[cell.id].names.imports or edge.name in defined):
                names.add(edge.name)
    if any(each.reads for flow in graph.cells for each in flow.unknown):
        names |= {name for cell in chosen for name in graph[cell.id].names.imports}
    return sorted(names - BUILTINS | (names & defined.keys()))


def _import_line(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= 100:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
