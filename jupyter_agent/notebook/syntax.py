"""Whether a code cell is valid Python as IPython takes it, with line numbers of the cell's own source. Pure."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from jupyter_agent.notebook.flow_source import to_python


@dataclass(frozen=True)
class SyntaxProblem:
    """`line` counts from 1 in the cell, None where the parser does not say."""

    message: str
    line: int | None

    def shown(self, source: str, context: int = 2) -> str:
        """`line N: message` and the numbered lines around."""
        if self.line is None:
            return self.message
        lines = source.split("\n")
        first, last = max(self.line - 1 - context, 0), min(self.line + context, len(lines))
        around = "\n".join(
            f"{'>' if number + 1 == self.line else ' '} {number + 1} {lines[number]}" for number in range(first, last)
        )
        return f"line {self.line}: {self.message}\n{around}"


def check_cell(source: str, language: str = "python") -> SyntaxProblem | None:
    """The first syntax error of a cell; None when there is none or the cell is in a language not known here.

    Magics, `!commands`, `?help` and top-level `await` are fine, as in IPython.
    """
    if language.lower() not in ("python", "python3", "ipython"):
        return None
    parsed = to_python(source)
    if parsed.error is not None:
        return SyntaxProblem(parsed.error, parsed.error_line)
    if parsed.tree is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(parsed.tree, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return SyntaxProblem(error.msg or "invalid syntax", error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxProblem(str(error) or "nested too deeply", None)
    return None
