"""The syntax check of changed cells: by grammar, or by the kernel where it is R's and runs.

Only errors that a cell did not have before count; a language that cannot be checked is not called right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_agent.edit.syntax import SyntaxProblem, can_check_cell, check_cell, problem_at
from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.protocol import Kernel
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.tool import ToolContext

PARSED_WITHIN = 5.0
"""Seconds for R to parse a cell; it takes milliseconds."""

_R_PARSE = 'cat(tryCatch({{ parse(text = {text}, keep.source = FALSE); "" }}, error = conditionMessage))'
_R_ERROR = re.compile(r"<text>:(?P<line>\d+):\d+: (?P<message>[^\n]*)")


@dataclass
class CellSyntax:
    """`problems`: new errors by cell id. `checked`: whether all changed code could be looked at."""

    problems: dict[str, str] = field(default_factory=dict)
    checked: bool = True


async def check_cells(
    ctx: ToolContext, notebook: Notebook, changed: Sequence[Cell], old: Mapping[str, Cell], language: str
) -> CellSyntax:
    """Check the code cells among `changed` whose source is not what it was in `old`."""
    found = CellSyntax()
    for cell in changed:
        was = old.get(cell.id)
        before = was.source if was is not None and was.type == "code" else None
        if cell.type != "code" or cell.source == before:
            continue
        if language.lower() == "r":
            problems = await _check_r(await ctx.kernel(notebook), before, cell.source)
        elif can_check_cell(cell.source, language):
            problems = check_cell(before, cell.source, to_python=_to_python, language=language)
        else:
            problems = None
        if problems:
            found.problems[cell.id] = "\n".join(str(problem) for problem in problems)
        found.checked = found.checked and problems is not None
    return found


async def _check_r(kernel: Kernel, before: str | None, after: str) -> list[SyntaxProblem] | None:
    """What R's own parser says; it runs nothing of the cell. None where no R kernel is free to be asked."""
    if (await kernel.state()).status != "idle":
        return None
    try:
        found = await _r_problem(kernel, after)
        old = await _r_problem(kernel, before) if found is not None and before is not None else None
    except KernelError:
        return None
    # The same message at an equal line is the old error, wherever that line is now.
    is_old = found is not None and old is not None and _known_by(found) == _known_by(old)
    return [] if found is None or is_old else [found]


def _known_by(problem: SyntaxProblem) -> tuple[str, str]:
    marked = next((line for line in problem.context.split("\n") if line.startswith(">")), "")
    return problem.message, marked.partition("\t")[2].strip()


async def _r_problem(kernel: Kernel, source: str) -> SyntaxProblem | None:
    """Where R's parser stops, None where it does not. Raises KernelError when R does not answer."""
    code = _R_PARSE.format(text=json.dumps(source, ensure_ascii=False))
    execution = await kernel.run(code, store_history=False, queue_timeout=PARSED_WITHIN)
    snapshot = await execution.wait(PARSED_WITHIN)
    if snapshot.status != "ok":
        raise KernelError("R did not parse the cell.", kind="timeout")
    error = "".join(str(output.get("text", "")) for output in snapshot.outputs).strip()
    place = _R_ERROR.search(error)
    line, message = (int(place["line"]), place["message"]) if place else (1, error.partition("\n")[0])
    return problem_at(source, line, message) if error else None


def _to_python(source: str) -> str:
    from jupyter_agent.notebook.flow_source import to_python

    return to_python(source).text
