"""extract-function: statements become a function, and every copy of them a call. Pure."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import Graph, analyse
from jupyter_agent.notebook.flow_names import BUILTINS
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor import extract_block as blocks
from jupyter_agent.refactor.common import Params, find, listed, markdown_before, python, taken_ids
from jupyter_agent.refactor.extract_block import Block
from jupyter_agent.refactor.extract_constants import Constant, constants_of
from jupyter_agent.refactor.extract_match import Match, match
from jupyter_agent.refactor.names import all_identifiers
from jupyter_agent.refactor.plan import Context, Plan, make_plan, new_cell_id, refused
from jupyter_agent.refactor.recipe_split import merge_cells
from jupyter_agent.refactor.spans import Edit, Span, Text, apply_edits, first_line, indent_unit, indented, last_line


@dataclass(frozen=True)
class Occurrence:
    """A place where the template's code stands; `match` is None for the template itself."""

    block: Block
    match: Match | None

    def own(self, name: str) -> str:
        """The template's `name` as it is called here."""
        return name if self.match is None else self.match.names.get(name, name)


def extract_function(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Make the code of `cell` (or its `lines`, or neighbouring `cells`) a function `name`, before its first use.

    Parameters are the variables it reads, results those that something else needs. All copies of the code, also under
    other variable names and with other constants, become calls; constants that differ become parameters (named by
    `arguments` in the order of first use, if given). Imports, functions, classes and CONSTANTS stay what they are.
    """
    if context.language != "python":
        raise refused(
            f"extract-function follows the data flow of Python only, and this notebook is in {context.language}."
        )
    name = _function_name(cells, params)
    base, groups, cell_id = _base(cells, params, context)
    graph = analyse(base)
    template = _template(graph, base, cell_id, params)
    parameters = _parameters(graph, template)
    blocks.check_functions(graph, template)
    occurrences, notes = _occurrences(graph, template, parameters)
    results = _results(graph, occurrences)
    parameters += [each for each in results if each not in parameters and each not in template.names.writes]
    occurrences, results, more = _placeable(graph, occurrences, parameters, results)
    blocks.check_escaping(template, results, parameters)
    wanted = listed(params, "arguments")
    constants, occurrences = constants_of(occurrences, wanted, _used_names(graph, template) | {name})
    definition = _definition(name, base, template, parameters, results, constants)
    after = _rewritten(base, name, definition, occurrences, parameters, results, constants, template)
    signature = f"{name}({', '.join([*parameters, *(each.name for each in constants)])})"
    said = f"{signature} replaces the code at {len(occurrences)} "
    said += "place" + ("s: " if len(occurrences) > 1 else ": ")
    said += ", ".join(f"{each.block.cell.id} lines {each.block.start}–{each.block.end}" for each in occurrences)
    lost = sorted(template.bound - set(results))
    if lost:
        notes.append(f"{', '.join(lost)} are now variables of the function; nothing else in the notebook reads them")
    return make_plan(cells, after, notes=[said, *notes, *more], groups=groups)


def _function_name(cells: Sequence[Cell], params: Params) -> str:
    name = params.get("name", "")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise refused(f"extract-function needs name=NAME, a name for the function; {name!r} is none.")
    if name in BUILTINS:
        raise refused(f"{name} is a builtin of Python or IPython. Choose another name.")
    for cell in cells:
        tree = to_python(cell.source).tree if cell.type == "code" else None
        if tree is not None and name in all_identifiers(tree):
            raise refused(f"cell {cell.id} already uses the name {name}. Choose another one.")
    return name


def _base(
    cells: Sequence[Cell], params: Params, context: Context
) -> tuple[tuple[Cell, ...], tuple[tuple[tuple[str, ...], tuple[str, ...]], ...], str]:
    """The cells to work on, and the id of the one whose code is extracted: several neighbours are merged first."""
    ids = list(dict.fromkeys(listed(params, "cells", "cell")))
    if not ids:
        raise refused("extract-function needs cell=ID (or cells=ID,ID…), the cell whose code becomes the function.")
    chosen = sorted((find(cells, cell_id) for cell_id in ids), key=lambda cell: cell.index)
    trees = [python(cell, "extract-function")[1] for cell in chosen]
    if len(chosen) == 1 or all(match(trees[0].body, tree.body) is not None for tree in trees[1:]):
        return tuple(cells), (), chosen[0].id
    merged = merge_cells(cells, {"cells": ",".join(ids)}, context)
    base = tuple(replace(cell, index=index) for index, cell in enumerate(merged.after))
    return base, merged.groups, chosen[0].id


def _template(graph: Graph, cells: Sequence[Cell], cell_id: str, params: Params) -> Block:
    cell = find(cells, cell_id)
    source, tree = python(cell, "extract-function")
    body = list(tree.body)
    if "lines" in params:
        body = _in_lines(cell, tree, params["lines"])
    else:
        while body and isinstance(body[0], ast.Import | ast.ImportFrom):
            body.pop(0)
        first_magic = {magic.line for magic in source.magics if not magic.name.startswith("%%")}
        while body and isinstance(body[0], ast.Pass) and first_line(body[0]) in first_magic:
            body.pop(0)
        if body and blocks.shows_value(cell, tree, body[-1]):
            body.pop()
    if not body:
        raise refused(f"cell {cell.id} has no statements that could become a function.")
    if blocks.shows_value(cell, tree, body[-1]):
        raise refused(f"line {last_line(body[-1])} of cell {cell.id} shows its value. Leave it out of the lines.")
    return blocks.make_block(graph[cell_id], source, tree, body)


def _in_lines(cell: Cell, tree: ast.Module, text: str) -> list[ast.stmt]:
    match_ = re.fullmatch(r"\s*(\d+)\s*(?:[-–]\s*(\d+))?\s*", text)
    if match_ is None:
        raise refused(f"lines={text!r}: give the first and last line, for example lines=2-5.")
    start, end = int(match_[1]), int(match_[2] or match_[1])
    body = [each for each in tree.body if start <= first_line(each) and last_line(each) <= end]
    cut = [each for each in tree.body if first_line(each) <= end and last_line(each) >= start and each not in body]
    if cut:
        raise refused(
            f"lines {start}–{end} of cell {cell.id} cut through the statement in lines {first_line(cut[0])}–"
            f"{last_line(cut[0])}. Name whole statements."
        )
    return body


def _parameters(graph: Graph, template: Block) -> list[str]:
    inner = {name for name in template.bound - template.names.reads if not blocks.bound_before(graph, template, name)}
    return [name for name in template.reads if name not in inner and not blocks.stays_global(graph, name, template)]


def _occurrences(graph: Graph, template: Block, parameters: Sequence[str]) -> tuple[list[Occurrence], list[str]]:
    """The template and every copy that does not overlap another, in document order; notes on copies left alone."""
    found = [Occurrence(template, None)]
    notes: list[str] = []
    variables = template.bound | set(parameters) | _inner_names(template)
    for flow in graph.cells:
        source = to_python(flow.cell.source)
        if source.tree is None or source.shifted or source.error:
            continue
        for place in range(len(source.tree.body) - len(template.body) + 1):
            body = source.tree.body[place : place + len(template.body)]
            matched = match(template.body, body)
            if matched is None or _overlaps(found, flow.id, first_line(body[0]), last_line(body[-1])):
                continue
            if any(one != two and one not in variables for one, two in matched.names.items()):
                continue
            try:
                block = blocks.make_block(flow, source, source.tree, body)
                if blocks.shows_value(flow.cell, source.tree, body[-1]):
                    raise refused("its last line shows a value")
                blocks.check_functions(graph, block)
            except NotebookRefused as reason:
                notes.append(f"the copy in cell {flow.id} stays: {reason.message}")
                continue
            found.append(Occurrence(block, matched))
    return sorted(found, key=lambda each: (each.block.flow.position, each.block.start)), notes


def _inner_names(block: Block) -> set[str]:
    """Names bound in inner scopes of the block: free to differ between copies."""
    return {
        node.id
        for statement in block.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _overlaps(found: Sequence[Occurrence], cell: str, start: int, end: int) -> bool:
    return any(o.block.cell.id == cell and o.block.start <= end and start <= o.block.end for o in found)


def _results(graph: Graph, occurrences: Sequence[Occurrence]) -> list[str]:
    """The template's names of all variables that are needed after some occurrence, in the order they are bound."""
    needed: set[str] = set()
    template = next(each.block for each in occurrences if each.match is None)
    for each in occurrences:
        wanted = blocks.needed_later(graph, each.block)
        needed |= {name for name in template.bound if each.own(name) in wanted}
    order: dict[str, int] = {}
    for statement in template.body:
        for node in ast.walk(statement):
            name = getattr(node, "id", None) or getattr(node, "name", None)
            if isinstance(name, str):
                order.setdefault(name, len(order))
    return sorted(needed, key=lambda name: (order.get(name, len(order)), name))


def _placeable(
    graph: Graph, occurrences: list[Occurrence], parameters: Sequence[str], results: Sequence[str]
) -> tuple[list[Occurrence], list[str], list[str]]:
    """Occurrences at which every argument certainly has a value; the template must be among them."""
    kept: list[Occurrence] = []
    notes: list[str] = []
    for each in occurrences:
        missing = [n for n in parameters if not blocks.certainly_bound_before(graph, each.block, each.own(n))]
        if not missing:
            kept.append(each)
        elif each.match is None:
            raise refused(
                f"{missing[0]} may have no value when cell {each.block.cell.id} begins, so it cannot be passed to a "
                "function. Bind it above, or in every branch."
            )
        else:
            notes.append(f"the copy in cell {each.block.cell.id} stays: {each.own(missing[0])} may have no value there")
    return kept, list(results), notes


def _used_names(graph: Graph, template: Block) -> set[str]:
    used: set[str] = set()
    for statement in template.body:
        used |= all_identifiers(statement)
    for flow in graph.cells:
        used |= flow.writes | flow.maybe_writes
    return used


def _definition(
    name: str,
    cells: Sequence[Cell],
    template: Block,
    parameters: Sequence[str],
    results: Sequence[str],
    constants: Sequence[Constant],
) -> str:
    text = Text(template.cell.source)
    start = text.starts[template.start - 1]
    edits = [
        Edit(Span(span.start - start, span.end - start), replacement)
        for constant in constants
        for span, replacement in constant.places
    ]
    body = apply_edits(template.text, edits)
    unit = indent_unit([cell.source for cell in cells if cell.type == "code"])
    head = "async def" if blocks.is_async(template.body) else "def"
    lines = [f"{head} {name}({', '.join([*parameters, *(each.name for each in constants)])}):", indented(body, unit)]
    if results:
        lines.append(f"{unit}return {', '.join(results)}")
    return "\n".join(lines)


def _rewritten(
    cells: Sequence[Cell],
    name: str,
    definition: str,
    occurrences: Sequence[Occurrence],
    parameters: Sequence[str],
    results: Sequence[str],
    constants: Sequence[Constant],
    template: Block,
) -> list[Cell]:
    awaited = "await " if blocks.is_async(template.body) else ""
    calls: dict[str, list[tuple[int, int, str]]] = {}
    for number, each in enumerate(occurrences):
        arguments = [each.own(parameter) for parameter in parameters]
        arguments += [constant.values[number] for constant in constants]
        call = f"{awaited}{name}({', '.join(arguments)})"
        if results:
            call = f"{', '.join(each.own(result) for result in results)} = {call}"
        calls.setdefault(each.block.cell.id, []).append((each.block.start, each.block.end, call))
    new = Cell(new_cell_id(taken_ids(cells), definition, wanted=name), 0, "code", definition)
    place = markdown_before(cells, occurrences[0].block.cell.index)
    after: list[Cell] = []
    for index, cell in enumerate(cells):
        if index == place:
            after.append(new)
        after.append(_with_calls(cell, calls[cell.id]) if cell.id in calls else cell)
    return after


def _with_calls(cell: Cell, calls: Sequence[tuple[int, int, str]]) -> Cell:
    lines = cell.source.split("\n")
    for start, end, call in sorted(calls, reverse=True):
        lines[start - 1 : end] = [call]
    return replace(cell, source="\n".join(lines))
