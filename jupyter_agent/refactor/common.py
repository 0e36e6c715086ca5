"""What recipes share: finding the cells they are asked for, and the refusals they have in common. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow_source import PythonSource, to_python
from jupyter_agent.refactor.plan import refused

Params = Mapping[str, str]


def listed(params: Params, *keys: str) -> list[str]:
    """The comma-separated values of the first key that is given."""
    for key in keys:
        if key in params:
            return [part.strip() for part in params[key].split(",") if part.strip()]
    return []


def flag(params: Params, key: str) -> bool:
    """A yes/no parameter. Raises NotebookRefused("recipe") for anything but true and false."""
    value = params.get(key, "false").strip().lower()
    if value in ("true", "yes", "1", "on"):
        return True
    if value in ("false", "no", "0", "off", ""):
        return False
    raise refused(f"{key} is true or false, not {params[key]!r}.")


def find(cells: Sequence[Cell], cell_id: str) -> Cell:
    """Raises NotebookRefused("unknown_cell")."""
    for cell in cells:
        if cell.id == cell_id:
            return cell
    shown = ", ".join(cell.id for cell in cells[:40]) + (", …" if len(cells) > 40 else "")
    raise NotebookRefused("unknown_cell", f"there is no cell {cell_id!r}. The cells are, in order: {shown}.")


def python(cell: Cell, doing: str) -> tuple[PythonSource, ast.Module]:
    """The parsed source of a Python code cell whose positions are exact. Raises NotebookRefused("recipe")."""
    if cell.type != "code":
        raise refused(f"cell {cell.id} is a {cell.type} cell; {doing} takes code cells. Name a code cell.")
    source = to_python(cell.source)
    if source.error is not None:
        where = f" in line {source.error_line}" if source.error_line else ""
        raise refused(f"cell {cell.id} has a syntax error{where} ({source.error}). Repair it before {doing}.")
    if source.tree is None:
        name = source.magics[0].name if source.magics else source.language
        raise refused(f"cell {cell.id} starts with {name}, so it is not Python; {doing} leaves such cells alone.")
    if source.shifted:
        raise refused(f"cell {cell.id} is indented or has pasted prompts. Remove them before {doing}.")
    return source, source.tree


_HISTORY = re.compile(r"^(?:In|Out|_i?h|_oh|_i{1,3}|_i?\d+)$")
_LAST_VALUES = ("_", "__", "___")


def history_reader(cells: Iterable[Cell], *, values: bool = True) -> tuple[str, str] | None:
    """(cell, name) of the first use of IPython's history (`Out[3]`, `_5`, `_`), which depends on which cells run.

    Without `values`, the last values that were shown (`_`) do not count.
    """
    for cell in cells:
        if cell.type != "code":
            continue
        tree = to_python(cell.source).tree
        if tree is None:
            continue
        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in bound:
                continue
            if _HISTORY.match(node.id) or (values and node.id in _LAST_VALUES):
                return cell.id, node.id
    return None


def check_history(cells: Iterable[Cell], doing: str, *, values: bool = True) -> None:
    """Raises NotebookRefused("recipe") where cells refer to others by execution count, or (`values`) to what was shown
    last, which a recipe does not change that moves nothing with a value."""
    found = history_reader(cells, values=values)
    if found is not None:
        cell, name = found
        raise refused(
            f"cell {cell} reads {name}, IPython's history, which {doing} would change. Bind the value to a name first."
        )


def is_silent(value: ast.expr) -> bool:
    """Whether a statement that is only this expression certainly shows nothing when it ends a cell."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, ast.Call):
        function = value.func
        if isinstance(function, ast.Name):
            return function.id in ("print", "display", "setattr", "delattr", "exec")
        if isinstance(function, ast.Attribute):
            on_literal_method = function.attr in ("append", "extend", "insert", "sort", "reverse", "clear")
            return on_literal_method or ast.unparse(function) in ("plt.show", "sys.stdout.flush", "plt.close")
    return False


def markdown_before(cells: Sequence[Cell], index: int) -> int:
    """The index at which a cell inserted for `cells[index]` should stand: before the headings that introduce it."""
    while index > 0 and cells[index - 1].type == "markdown":
        index -= 1
    return index


def taken_ids(cells: Iterable[Cell]) -> set[str]:
    return {cell.id for cell in cells}
