"""Small notebooks for the tests of recipes, and a plain executor that shows what IPython would show of them."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jupyter_agent.notebook.document import Cell, CellType, Output
from jupyter_agent.notebook.transaction import apply
from jupyter_agent.refactor.plan import Context, Plan
from jupyter_agent.refactor.registry import plan


def code(cell_id: str, source: str, **more: Any) -> Cell:
    return Cell(cell_id, 0, "code", source.strip("\n"), **more)


def text(cell_id: str, source: str, cell_type: CellType = "markdown", **more: Any) -> Cell:
    return Cell(cell_id, 0, cell_type, source, **more)


def stream(value: str) -> Output:
    return {"output_type": "stream", "name": "stdout", "text": value}


def result(value: str, count: int = 1) -> Output:
    return {
        "output_type": "execute_result",
        "data": {"text/plain": value},
        "metadata": {},
        "execution_count": count,
    }


def notebook(*cells: Cell | str) -> list[Cell]:
    """Cells in order; a string is a code cell with the id a, b, c, … by its place."""
    made: list[Cell] = []
    for index, cell in enumerate(cells):
        if isinstance(cell, str):
            cell = code("abcdefghijklmnopqrstuvwxyz"[index], cell)
        made.append(
            Cell(
                cell.id,
                index,
                cell.type,
                cell.source,
                cell.metadata,
                cell.outputs,
                cell.execution_count,
                cell.attachments,
            )
        )
    return made


def refactor(recipe: str, cells: Sequence[Cell], context: Context | None = None, /, **params: str) -> Plan:
    """The plan, after checking that its operations lead to its cells and that untouched cells stayed as they were."""
    made = plan(recipe, cells, params, context)
    assert [cell.index for cell in made.after] == list(range(len(made.after)))
    if made.operations:
        after = apply(cells, made.operations).after
        assert [_state(cell) for cell in after] == [_state(cell) for cell in made.after]
    else:
        assert [_state(cell) for cell in cells] == [_state(cell) for cell in made.after]
    return made


def _state(cell: Cell) -> tuple[Any, ...]:
    return (
        cell.id,
        cell.type,
        cell.source,
        dict(cell.metadata),
        list(cell.outputs),
        cell.execution_count,
        dict(cell.attachments),
    )


def sources(made: Plan) -> dict[str, str]:
    return {cell.id: cell.source for cell in made.after}


def new_sources(made: Plan, before: Sequence[Cell]) -> list[str]:
    known = {cell.id for cell in before}
    return [cell.source for cell in made.after if cell.id not in known]


def run(cells: Sequence[Cell], files: Mapping[str, bytes] | None = None) -> dict[str, list[Output]]:
    """Outputs by cell id of a run from the top in one namespace; an error ends that cell and is its last output."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown: dict[str, list[Output]] = {}
    with _modules(files or {}):
        for cell in cells:
            if cell.type == "code":
                shown[cell.id] = _run_cell(cell.source, namespace)
    return shown


def _run_cell(source: str, namespace: dict[str, Any]) -> list[Output]:
    printed = io.StringIO()
    outputs: list[Output] = []

    def flush() -> None:
        if printed.getvalue():
            outputs.append(stream(printed.getvalue()))
        printed.seek(0)
        printed.truncate()

    def display(value: Any) -> None:
        flush()
        outputs.append({"output_type": "display_data", "data": {"text/plain": _plain(value)}, "metadata": {}})

    namespace.setdefault("display", lambda value: namespace["__display__"](value))
    namespace["__display__"] = display
    value: Any = None
    error: str | None = None
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(tree, "cell", "exec"), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
        except Exception as raised:
            error = type(raised).__name__
    flush()
    if error is not None:
        outputs.append({"output_type": "error", "ename": error, "evalue": "", "traceback": []})
    elif value is not None and not source.rstrip().endswith(";"):
        outputs.append(result(_plain(value)))
    return outputs


def _plain(value: Any) -> str:
    return repr(value if isinstance(value, str | int | float | list | tuple | dict | bool) else type(value).__name__)


@contextlib.contextmanager
def _modules(files: Mapping[str, bytes]) -> Iterator[None]:
    names: list[str] = []
    for path, content in files.items():
        name = path.removesuffix(".py")
        module = types.ModuleType(name)
        exec(compile(content.decode(), path, "exec"), module.__dict__)
        sys.modules[name] = module
        names.append(name)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def flat(outputs: Mapping[str, Sequence[Output]]) -> list[Any]:
    """All outputs in order, with the streams of neighbouring cells run together; a result is a display."""
    found: list[Any] = []
    for output in (each for cell in outputs.values() for each in cell):
        if output["output_type"] == "stream" and found and isinstance(found[-1], str):
            found[-1] += output["text"]
        elif output["output_type"] == "stream":
            found.append(output["text"])
        else:
            found.append(output.get("data") or output.get("ename"))
    return found
