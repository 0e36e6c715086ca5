"""A run of statements as the body of a function: what it needs and gives, and whether it may move. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_agent.notebook import flow_scope as scope
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import CellFlow, Graph
from jupyter_agent.notebook.flow_cell import scan
from jupyter_agent.notebook.flow_names import Names
from jupyter_agent.notebook.flow_source import PythonSource, to_python
from jupyter_agent.refactor.common import is_silent
from jupyter_agent.refactor.plan import refused
from jupyter_agent.refactor.spans import first_line, last_line


@dataclass(frozen=True)
class Block:
    """Whole lines `start`–`end` (1-based, inclusive) of a cell that hold the top-level statements `body`."""

    flow: CellFlow
    tree: ast.Module
    body: tuple[ast.stmt, ...]
    start: int
    end: int
    names: Names
    rest: Names

    @property
    def cell(self) -> Cell:
        return self.flow.cell

    @property
    def text(self) -> str:
        return "\n".join(self.cell.source.split("\n")[self.start - 1 : self.end])

    @property
    def bound(self) -> frozenset[str]:
        return self.names.writes | self.names.maybe_writes

    @property
    def reads(self) -> list[str]:
        """Names it needs from outside, in the order of their first use."""
        wanted = self.names.reads | self.names.maybe_reads
        return sorted(wanted, key=lambda name: (self.names.lines.get(name, 0), self._column(name), name))

    def _column(self, name: str) -> int:
        places = [
            (node.lineno, node.col_offset)
            for statement in self.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id == name
        ]
        return min(places, default=(0, 0))[1]


def make_block(flow: CellFlow, source: PythonSource, tree: ast.Module, body: Sequence[ast.stmt]) -> Block:
    """Raises NotebookRefused("recipe") where the statements cannot be the body of a function."""
    start, end = first_line(body[0]), last_line(body[-1])
    inside = {id(each) for each in body}
    for each in tree.body:
        if id(each) not in inside and first_line(each) <= end and last_line(each) >= start:
            raise refused(
                f"cell {flow.id}: line {first_line(each)} holds other statements too. Give them lines of their own."
            )
    for magic in source.magics:
        if magic.name.startswith("%%") or start <= magic.line <= end:
            raise refused(
                f"cell {flow.id}, line {magic.line}: {magic.name} does not work in a function in the same way."
            )
    lines = flow.cell.source.split("\n")
    names = scan(to_python("\n".join(lines[start - 1 : end])))
    rest = scan(to_python("\n".join(["", *source.text.split("\n")[end:]])))
    _check_statements(flow, body, names)
    return Block(flow, tree, tuple(body), start, end, names, rest)


def _check_statements(flow: CellFlow, body: Sequence[ast.stmt], names: Names) -> None:
    if names.unknown:
        unknown = names.unknown[0]
        raise refused(f"cell {flow.id}: {unknown.what}, which cannot be followed into a function.")
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Global) and node in body:
                raise refused(f"cell {flow.id}, line {node.lineno}: a `global` statement cannot move into a function.")
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                raise refused(f"cell {flow.id}, line {node.lineno}: an import from __future__ must stay at the top.")
    outer = names.deletes - names.writes - names.maybe_writes
    if outer & names.reads:
        name = sorted(outer & names.reads)[0]
        raise refused(f"cell {flow.id} deletes {name}, a variable of the notebook, which a function cannot do for it.")
    if flow.blocked or "raises-exception" in flow.cell.tags or "parameters" in flow.cell.tags:
        raise refused(f"cell {flow.id} is tagged {', '.join(flow.cell.tags)}. Take the tag off first.")


def is_async(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements await something themselves."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            return True
        if isinstance(node, ast.comprehension) and node.is_async:
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return False


def shows_value(cell: Cell, tree: ast.Module, statement: ast.stmt) -> bool:
    """Whether the statement ends the cell and IPython may show its value."""
    if statement is not tree.body[-1] or not isinstance(statement, ast.Expr) or is_silent(statement.value):
        return False
    line = cell.source.split("\n")[last_line(statement) - 1]
    behind = line.encode()[statement.end_col_offset or 0 :].decode(errors="replace").split("#")[0]
    return not behind.strip().startswith(";")


def needed_later(graph: Graph, block: Block) -> frozenset[str]:
    """Names that the block binds and that something outside it may read."""
    if any(each.reads for flow in graph.cells for each in flow.unknown):
        return block.bound
    needed = set(block.rest.reads | block.rest.maybe_reads | block.rest.builtin_reads)
    needed |= {edge.name for edge in graph.edges_out_of(block.cell.id)}
    for flow in graph.cells:
        needed |= flow.undefined | flow.maybe_undefined
        if flow.id != block.cell.id:
            # A function that reads the name may be called from code that is not in the notebook yet.
            needed |= {name for each in flow.names.deferred.values() for name in each.reads | each.writes}
    for body in block.rest.deferred.values():
        needed |= body.reads
    return block.bound & needed


def check_functions(graph: Graph, block: Block) -> None:
    """Functions that reach the block's variables through the notebook's namespace would not find them in a function."""
    run = block.names.reads | block.names.maybe_reads | block.names.deferred.keys()
    inner = block.names.deferred
    inside: set[str] = set()
    pending = [name for name in run if name not in inner]
    functions = {name: each for flow in graph.cells for name, each in flow.names.deferred.items()}
    carried = {name: others for flow in graph.cells for name, others in flow.names.carries.items()}
    while pending:
        name = pending.pop()
        if name in inside:
            continue
        inside.add(name)
        pending += carried.get(name, ())
        if name in functions and name not in inner:
            each = functions[name]
            shared = (each.reads | each.writes) & block.bound
            written = each.writes & (block.names.reads | block.names.maybe_reads)
            if shared | written:
                variable = sorted(shared | written)[0]
                raise refused(
                    f"cell {block.cell.id} calls {name}, which uses the notebook's {variable} directly; in a function "
                    f"of its own the block's {variable} would be another variable. Give {name} a parameter first."
                )
            pending += each.reads
    for name, each in inner.items():
        if each.writes & (block.bound | block.names.reads):
            raise refused(f"cell {block.cell.id}: {name} declares a variable of the block global. Take that out first.")


def check_escaping(block: Block, returned: Sequence[str], parameters: Sequence[str]) -> None:
    """A function that leaves the block must not depend on variables that stay in it."""
    for name in returned:
        each = block.names.deferred.get(name)
        if each is not None and each.reads & (block.bound | set(parameters)):
            variable = sorted(each.reads & (block.bound | set(parameters)))[0]
            raise refused(
                f"cell {block.cell.id} defines {name}, which is used elsewhere and reads {variable}; inside a function "
                "it would keep the value of that call. Leave the definition out of the extracted lines."
            )


def stays_global(graph: Graph, name: str, block: Block) -> bool:
    """Whether a name is a fixed part of the notebook (import, function, class, CONSTANT) rather than data."""
    if name in block.bound:
        return False
    binders = [flow for flow in graph.cells if name in flow.writes | flow.maybe_writes]
    if not binders:
        # Only a star import, %run or the like above can have bound it.
        return any(each.writes for flow in graph.cells[: block.flow.position + 1] for each in flow.unknown)
    if any(name in flow.deletes for flow in graph.cells):
        return False
    fixed = all(name in flow.names.imports or _is_definition(flow, name) for flow in binders)
    constant = len(binders) == 1 and name.isupper() and name in binders[0].writes
    return fixed or constant


def _is_definition(flow: CellFlow, name: str) -> bool:
    tree = to_python(flow.cell.source).tree
    if tree is None:
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = any(isinstance(each, kinds) and each.name == name for each in tree.body)
    others = [each for each in tree.body if not isinstance(each, kinds)]
    return defined and name not in scope.block_bindings(others).names


def certainly_bound_before(graph: Graph, block: Block, name: str) -> bool:
    """Whether the variable has a value when the block begins, in a run from the top."""
    position = block.flow.position
    before = scan(to_python("\n".join(block.cell.source.split("\n")[: block.start - 1])))
    if name in before.writes:
        return True
    return any(name in flow.writes for flow in graph.cells[:position])


def bound_before(graph: Graph, block: Block, name: str) -> bool:
    """Whether the variable may have a value when the block begins."""
    before = scan(to_python("\n".join(block.cell.source.split("\n")[: block.start - 1])))
    if name in before.writes | before.maybe_writes:
        return True
    above = graph.cells[: block.flow.position]
    return any(name in flow.touches or any(each.writes for each in flow.unknown) for flow in above)
