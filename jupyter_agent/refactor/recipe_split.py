"""split-cell and merge-cells: the same code in other portions, outputs staying with the code that made them. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.notebook.flow import NEVER_RERUN, SKIP_EXECUTION, analyse
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor.common import Params, check_history, find, is_silent, listed, python, taken_ids
from jupyter_agent.refactor.plan import Context, Plan, make_plan, new_cell_id, refused
from jupyter_agent.refactor.spans import Edit, Span, Text, apply_edits, first_line, last_line

FIRST_ONLY = frozenset({"parameters", "injected-parameters"})
MEANINGFUL = frozenset({"raises-exception", SKIP_EXECUTION, NEVER_RERUN, "parameters", "injected-parameters"})
"""Tags that change how a cell is run."""


def split_cell(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Split one cell before the given lines. The first part keeps the id; each output goes to the part that made it."""
    cell = find(cells, params.get("cell", ""))
    if cell.type == "code" and context.language != "python":
        raise refused(
            f"split-cell knows where statements end in Python only, and this notebook is in {context.language}."
        )
    at = _lines(params.get("at", ""), cell)
    if cell.type == "code":
        check_history(cells, "splitting a cell", values=False)
        parts, notes = _code_parts(cell, at)
    else:
        parts, notes = _cut(cell.source, at), []
    if any(not part.strip() for part in parts):
        raise refused(f"splitting cell {cell.id} there leaves an empty cell. Name lines that have text on both sides.")
    outputs, owner_notes = _attributed(cell, parts)
    made: list[Cell] = []
    taken = taken_ids(cells)
    for number, part in enumerate(parts):
        cell_id = cell.id if number == 0 else new_cell_id(taken, cell.id, part)
        taken.add(cell_id)
        made.append(_part(cell, cell_id, part, number, outputs[number]))
    after = [new for old in cells for new in (made if old.id == cell.id else [old])]
    cleared = [cell.id] if cell.outputs and not any(outputs) else []
    groups = [([cell.id], [each.id for each in made])]
    return make_plan(cells, after, notes=[*notes, *owner_notes], groups=groups, cleared=cleared)


def _lines(text: str, cell: Cell) -> list[int]:
    count = cell.source.count("\n") + 1
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdigit() for part in parts):
        raise refused("split-cell needs at=LINE[,LINE…], the first lines of the new cells, counted from 1.")
    lines = [int(part) for part in parts]
    if lines != sorted(set(lines)) or lines[0] < 2 or lines[-1] > count:
        raise refused(f"cell {cell.id} has {count} lines: give ascending line numbers from 2 to {count}.")
    return lines


def _cut(source: str, at: Sequence[int]) -> list[str]:
    lines = source.split("\n")
    bounds = [0, *(line - 1 for line in at), len(lines)]
    return ["\n".join(lines[start:end]).strip("\n") for start, end in pairwise(bounds)]


def _code_parts(cell: Cell, at: Sequence[int]) -> tuple[list[str], list[str]]:
    meaningful = MEANINGFUL.intersection(cell.tags) - FIRST_ONLY - {SKIP_EXECUTION, NEVER_RERUN}
    if meaningful:
        raise refused(f"cell {cell.id} is tagged {', '.join(meaningful)}: split, its parts would run otherwise.")
    source, tree = python(cell, "split-cell")
    if any(magic.name.startswith("%%") for magic in source.magics):
        raise refused(f"cell {cell.id} begins with {source.magics[0].name}, which covers the whole cell.")
    for line in at:
        inside = [each for each in tree.body if first_line(each) < line <= last_line(each)]
        inside_magic = [each for each in source.magics if each.line < line <= each.end]
        if inside or inside_magic:
            start = first_line(inside[0]) if inside else inside_magic[0].line
            raise refused(f"line {line} of cell {cell.id} is inside the statement that starts in line {start}.")
    text = Text(cell.source)
    edits: list[Edit] = []
    for line in at:
        above = [each for each in tree.body if last_line(each) < line]
        if above and isinstance(above[-1], ast.Expr) and not is_silent(above[-1].value):
            end = text.span(above[-1]).end
            on_same_line = text.source[end : text.source.find("\n", end) if "\n" in text.source[end:] else None]
            if not on_same_line.lstrip().startswith(";") and not _is_magic(source.magics, last_line(above[-1])):
                edits.append(Edit(Span(end, end), ";"))
    notes = ["a `;` keeps a value from being shown that was not shown before"] if edits else []
    return _cut(apply_edits(cell.source, edits), at), notes


def _is_magic(magics: Sequence[Any], line: int) -> bool:
    return any(magic.line <= line <= magic.end for magic in magics)


def _attributed(cell: Cell, parts: Sequence[str]) -> tuple[list[list[Output]], list[str]]:
    """The outputs of each part, where it is certain which part made them; else none are kept, and a note."""
    empty: list[list[Output]] = [[] for _ in parts]
    if not cell.outputs:
        return empty, []
    graph = analyse([Cell(str(i), i, "code", part) for i, part in enumerate(parts)])
    speaking = [i for i, flow in enumerate(graph.cells) if flow.effects or flow.unknown]
    last = len(parts) - 1
    results = [each for each in cell.outputs if each.get("output_type") == "execute_result"]
    others = [each for each in cell.outputs if each.get("output_type") != "execute_result"]
    owners = [i for i in speaking if i != last or graph.cells[i].effects != ("shows a value",)]
    if any(each.get("output_type") == "error" for each in others) or (others and len(owners) != 1):
        return empty, [f"the outputs of cell {cell.id} cannot be told apart by part; run the new cells again"]
    if others:
        empty[owners[0]] += others
    empty[last] += results
    return empty, []


def _part(cell: Cell, cell_id: str, source: str, number: int, outputs: list[Output]) -> Cell:
    kept_count = cell.execution_count if not cell.outputs or outputs else None
    attachments = cell.attachments if number == 0 else {}
    if cell.attachments:
        used = set(re.findall(r"attachment:([^\s)\"'>]+)", source))
        attachments = {name: bundle for name, bundle in cell.attachments.items() if name in used}
        if number == 0:
            attachments = {name: bundle for name, bundle in cell.attachments.items() if name in used or not used}
    metadata = dict(cell.metadata)
    if number:
        metadata.pop("execution", None)
        tags = [tag for tag in cell.tags if tag not in FIRST_ONLY]
        metadata.pop("tags", None)
        metadata |= {"tags": tags} if tags else {}
    if cell.type != "code":
        return Cell(cell_id, 0, cell.type, source, metadata, attachments=attachments)
    return Cell(cell_id, 0, "code", source, metadata, tuple(outputs), kept_count)


def merge_cells(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Merge neighbouring cells into the first of them, joined by a blank line; the outputs are joined too.

    A value that a cell shows by its last line is shown by `display(…)` where that line is in the middle afterwards.
    """
    parts = _neighbours(cells, listed(params, "cells", "cell"))
    first = parts[0]
    notes: list[str] = []
    if first.type == "code":
        _check_code(parts, context)
        shown = [part.id for part in parts[:-1] if _result(part) is not None]
        check_history(cells, "merging cells", values=bool(shown))
        if shown and not _display_is_ipythons(cells):
            raise refused(
                f"cell {shown[0]} shows the value of its last line, which only display(…) could do in the middle of a "
                "cell, and this notebook gives the name display another meaning. Rename that first."
            )
        parts = [_with_percent(_displaying(part) if part is not parts[-1] else part) for part in parts]
        first = parts[0]
        if shown:
            notes.append(f"what {', '.join(shown)} showed by a last line is now shown by display(…)")
    metadata = _joined_metadata(parts)
    attachments: dict[str, Any] = {}
    for part in parts:
        for name, bundle in part.attachments.items():
            if attachments.setdefault(name, bundle) != bundle:
                raise refused(f"two of the cells attach different files as {name!r}. Rename one of them.")
    source = "\n\n".join(part.source.strip("\n") for part in parts if part.source.strip())
    outputs, count = _joined_outputs(parts)
    if outputs is None:
        outputs, count = (), None
        notes.append(f"the outputs of the cells do not belong to one run; run cell {first.id} again")
    merged = replace(
        first, source=source, metadata=metadata, outputs=outputs, execution_count=count, attachments=attachments
    )
    names = {part.id for part in parts}
    after = [merged if cell.id == first.id else cell for cell in cells if cell.id == first.id or cell.id not in names]
    cleared = [first.id] if not outputs and any(part.outputs for part in parts) else []
    return make_plan(cells, after, notes=notes, groups=[([part.id for part in parts], [first.id])], cleared=cleared)


def _neighbours(cells: Sequence[Cell], ids: Sequence[str]) -> list[Cell]:
    if len(set(ids)) < 2:
        raise refused("merge-cells needs cells=ID,ID[,ID…]: at least two cells that follow each other.")
    parts = sorted((find(cells, cell_id) for cell_id in dict.fromkeys(ids)), key=lambda cell: cell.index)
    for above, below in pairwise(parts):
        if below.index != above.index + 1:
            between = cells[above.index + 1].id
            raise refused(f"cell {between} stands between {above.id} and {below.id}. Name it too, or move it first.")
    if len({part.type for part in parts}) > 1:
        raise refused("merge-cells takes cells of one type. Change the type of the others first.")
    return parts


def _check_code(parts: Sequence[Cell], context: Context) -> None:
    if context.language != "python":
        raise refused(f"merge-cells joins code in Python only, and this notebook is in {context.language}.")
    for tag in MEANINGFUL:
        if len({tag in part.tags for part in parts}) > 1 or (tag == "raises-exception" and tag in parts[0].tags):
            raise refused(
                f"only some of the cells are tagged {tag}, which says how a cell is run. Take the tag off first."
            )
    for part in parts:
        source, tree = python(part, "merge-cells") if part.source.strip() else (None, None)
        if source is None or tree is None:
            continue
        if any(magic.name.startswith("%%") for magic in source.magics):
            raise refused(
                f"cell {part.id} begins with {source.magics[0].name}, which would cover the whole merged cell."
            )
        if part is not parts[0] and any(isinstance(s, ast.ImportFrom) and s.module == "__future__" for s in tree.body):
            raise refused(f"cell {part.id} imports from __future__, which must come first. Move it to the top.")
        if part is not parts[-1]:
            _check_middle(part, tree)


def _check_middle(part: Cell, tree: ast.Module) -> None:
    """A cell that will not be the end any more: what it shows by its last line must be known."""
    if any(output.get("output_type") == "error" for output in part.outputs):
        raise refused(f"cell {part.id} ends in an error; what follows would no longer run. Repair it first.")
    last = tree.body[-1] if tree.body else None
    if _result(part) is not None:
        if not isinstance(last, ast.Expr):
            raise refused(f"cell {part.id} stores a value that its last line does not show. Run it again.")
        return
    if not isinstance(last, ast.Expr) or is_silent(last.value) or part.execution_count is not None:
        return
    raise refused(f"cell {part.id} was not run, and its last line may show a value. Run it, or end the line with `;`.")


def _result(part: Cell) -> Output | None:
    """The stored value of the cell's last line."""
    return next((each for each in part.outputs if each.get("output_type") == "execute_result"), None)


def _displaying(part: Cell) -> Cell:
    """The cell with its last expression shown by `display(…)`, where its value is shown now."""
    if _result(part) is None:
        return part
    tree = to_python(part.source).tree
    last = tree.body[-1] if tree is not None else None
    assert isinstance(last, ast.Expr)
    span = Text(part.source).span(last.value)
    expression = part.source[span.start : span.end]
    if not _is_one_argument(expression):
        expression = f"({expression})"
    outputs = [
        {"output_type": "display_data", **{key: each[key] for key in ("data", "metadata") if key in each}}
        if each.get("output_type") == "execute_result"
        else each
        for each in part.outputs
    ]
    return replace(
        part, source=apply_edits(part.source, [Edit(span, f"display({expression})")]), outputs=tuple(outputs)
    )


def _with_percent(part: Cell) -> Cell:
    """The cell with its `%`, if it is a magic that IPython knows without one only as the single line of a cell."""
    line = part.source.strip()
    magics = to_python(part.source).magics
    if "\n" in line or not line or len(magics) != 1 or magics[0].name != f"%{line.split()[0]}":
        return part
    return replace(part, source=f"%{line}")


def _is_one_argument(expression: str) -> bool:
    """Whether the expression stays one in the parentheses of a call; `1, 2` would be two."""
    call = ast.parse(f"f({expression})", mode="eval").body
    return isinstance(call, ast.Call) and len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)


def _display_is_ipythons(cells: Sequence[Cell]) -> bool:
    for cell in cells:
        tree = to_python(cell.source).tree if cell.type == "code" else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "IPython":
                continue
            names = [alias.asname or alias.name for alias in node.names] if isinstance(node, _IMPORTS) else []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [node.name]
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                names = [node.id]
            if "display" in names:
                return False
    return True


_IMPORTS = (ast.Import, ast.ImportFrom)


def _joined_metadata(parts: Sequence[Cell]) -> dict[str, Any]:
    metadata = dict(parts[0].metadata)
    tags = list(dict.fromkeys(tag for part in parts for tag in part.tags))
    if tags:
        metadata["tags"] = tags
    metadata.pop("execution", None)
    return metadata


def _joined_outputs(parts: Sequence[Cell]) -> tuple[tuple[Output, ...] | None, int | None]:
    """All outputs in order with streams run together, and the last count; None where the cells ran out of order."""
    ran = [part.execution_count for part in parts if part.source.strip()]
    counts = [count for count in ran if count is not None]
    if not any(part.outputs for part in parts) and not counts:
        return (), None
    if len(counts) != len(ran) or counts != sorted(set(counts)):
        return None, None
    joined: list[Output] = []
    for output in (output for part in parts for output in part.outputs):
        previous = joined[-1] if joined else None
        streams = previous is not None and output["output_type"] == previous["output_type"] == "stream"
        if previous is not None and streams and previous.get("name") == output.get("name"):
            joined[-1] = {**previous, "text": _text(previous["text"]) + _text(output["text"])}
            continue
        joined.append({**output, "execution_count": counts[-1]} if "execution_count" in output else output)
    return tuple(joined), counts[-1]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)
