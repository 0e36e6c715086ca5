"""The syntax check after a write: errors that were not there before, with the lines around them. Pure.

Python is also compiled, because its tree-sitter grammar takes more than Python does; TOML goes through `tomllib`.
A problem is old if the text before had the same message at an equal line, wherever that line stood.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from jupyter_agent.edit import trees
from jupyter_agent.edit.languages import language_of_cell, language_of_file, parser_of

MAX_PROBLEMS = 5
COMPILED = 100_000
"""Bytes up to which Python is compiled whole; above, only the statements that changed are."""

_CONTEXT_LINES = 2
_LINE_WIDTH = 200
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")

_SQL_PARAMETER = re.compile(rb"\{\{[^{}\n]*\}\}|\{\w+\}|(?<![:\w]):[A-Za-z_]\w*|%\(\w+\)s|\$\{?[A-Za-z_]\w*\}?")
_SQL_DIALECTS = (
    *("PRAGMA", "ATTACH", "DETACH", "DESCRIBE", "SUMMARIZE", "INSTALL", "LOAD", "COPY", "EXPORT", "IMPORT", "PIVOT"),
    *("UNPIVOT", "CALL", "SHOW", "EXPLAIN", "USE", "VACUUM", "ANALYZE", "FROM"),
)
"""Statements that the grammar does not know and that SQLite, DuckDB or a warehouse does."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

_Error = tuple[int, str]
"""(0-based line, message)"""

ToPython = Callable[[str], str]
"""Makes Python of a cell's IPython syntax, line for line."""


@dataclass(frozen=True)
class SyntaxProblem:
    """`line` is 1-based; `context` is that line, marked, with its neighbours, numbered."""

    line: int
    message: str
    context: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}\n{self.context}"


def check_syntax(before: bytes | None, after: bytes, filename: str) -> list[SyntaxProblem]:
    """The errors of `after` that `before` (None for a new file) does not have, at most five.

    Empty where the language is not known by the file's suffix or its grammar is not installed.
    """
    language = language_of_file(filename)
    return [] if language is None else _new_problems(before, after, language)


def check_cell(
    before: str | None, after: str, *, to_python: ToPython, language: str = "ipython"
) -> list[SyntaxProblem]:
    """The same for a cell of a notebook, whose `%%magic` may give its body another language.

    `language` is the kernel's; `to_python` must keep the number of lines.
    """
    python_kernel = language.lower() in ("ipython", "python", "python3")
    body_language, skipped = language_of_cell(after) if python_kernel else (language.lower(), 0)
    if body_language is None:
        return []
    old = None if before is None or (python_kernel and language_of_cell(before)[0] != body_language) else before
    if body_language == "ipython":
        problems = _new_ipython_problems(old, after, to_python)
    else:
        problems = _new_problems(_body(old, skipped), _body(after, skipped) or b"", body_language)
    return [
        SyntaxProblem(problem.line + skipped, problem.message, _context(after.split("\n"), problem.line + skipped))
        for problem in problems
    ]


def can_check_cell(source: str, language: str = "ipython") -> bool:
    """Whether `check_cell` knows the cell's language, and its grammar is there."""
    python_kernel = language.lower() in ("ipython", "python", "python3")
    body_language = language_of_cell(source)[0] if python_kernel else language.lower()
    known = body_language in ("ipython", "python", "toml")
    return known or (body_language is not None and parser_of(body_language) is not None)


def problem_at(source: str, line: int, message: str) -> SyntaxProblem:
    """A problem that somebody else found, at a 1-based line, with that line's neighbours."""
    lines = source.split("\n")
    return SyntaxProblem(line, message, _context(lines, min(line, len(lines))))


def _body(source: str | None, skipped: int) -> bytes | None:
    return None if source is None else "\n".join(source.split("\n")[skipped:]).encode("utf-8", "replace")


def _new_problems(before: bytes | None, after: bytes, language: str) -> list[SyntaxProblem]:
    found = _errors(after, language, before)
    if not found:
        return []
    old = [] if before is None else _errors(before, language, after)
    if language == "python" and old:
        # Python's compiler stops at its first error, which may be the old one.
        found = found + trees.errors(after, language, before)
        old = old + trees.errors(before or b"", language)
    return _not_in(found, after, old, before or b"")


def _new_ipython_problems(before: str | None, after: str, to_python: ToPython) -> list[SyntaxProblem]:
    found = _compiled(to_python(after), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not found:
        return []
    old = [] if before is None else _compiled(to_python(before), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return _not_in(found, after.encode("utf-8", "replace"), old, (before or "").encode("utf-8", "replace"))


def _errors(data: bytes, language: str, other: bytes | None) -> list[_Error]:
    """What is wrong in `data`; of large Python, only what is wrong where it differs from `other`."""
    if language == "toml":
        return _toml_errors(data)
    if language == "sql":
        return _sql_errors(data)
    if language != "python":
        return trees.errors(data, language, other)
    changed = None if len(data) <= COMPILED or other is None else trees.changed_statements(data, other, language)
    if changed is None:
        return _compiled(data, 0)
    first, statements = changed
    return [(first + line, message) for line, message in _compiled(statements, 0)] + trees.errors(data, language)


def _compiled(source: bytes | str, flags: int) -> list[_Error]:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<edit>", "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        return [(max((error.lineno or 1) - 1, 0), error.msg or "invalid syntax")]
    except ValueError as error:
        return [(0, str(error))]
    except (RecursionError, MemoryError):
        return []  # nested deeper than this interpreter can tell about
    return []


def _sql_errors(data: bytes) -> list[_Error]:
    """Without what a magic or a driver fills in, and without statements of one database only."""
    filled = _SQL_PARAMETER.sub(lambda match: b"x" * len(match[0]), data)
    starts = _lines(filled)
    return [
        error
        for error in trees.errors(filled, "sql")
        if not starts[error[0]].lstrip().upper().startswith(_SQL_DIALECTS)
    ]


def _toml_errors(data: bytes) -> list[_Error]:
    import tomllib

    try:
        tomllib.loads(data.decode("utf-8", "surrogateescape"))
    except tomllib.TOMLDecodeError as error:
        position = _POSITION.search(str(error))
        line = int(position[1]) - 1 if position and position[1] else data.rstrip().count(b"\n")
        return [(line, _POSITION.sub("", str(error)))]
    return []


def _not_in(found: list[_Error], after: bytes, old: list[_Error], before: bytes) -> list[SyntaxProblem]:
    lines, old_lines = _lines(after), _lines(before) if old else []
    known = Counter(_identity(old_lines, error) for error in old)
    problems: list[SyntaxProblem] = []
    for error in found:
        identity, (line, message) = _identity(lines, error), error
        if known[identity] > 0:
            known[identity] -= 1
        elif len(problems) < MAX_PROBLEMS and all(problem.line != line + 1 for problem in problems):
            problems.append(SyntaxProblem(line + 1, message, _context(lines, line + 1)))
    return problems


def _identity(lines: list[str], error: _Error) -> tuple[str, str]:
    """By what an error is known again after the edit: its kind and its line, wherever that is now."""
    line, message = error
    return _QUOTED.sub("", message), lines[line].strip() if line < len(lines) else ""


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def _context(lines: list[str], line: int) -> str:
    first, last = max(line - _CONTEXT_LINES, 1), min(line + _CONTEXT_LINES, len(lines))
    return "\n".join(
        f"{'>' if number == line else ' '}{number:5}\t{lines[number - 1].rstrip()[:_LINE_WIDTH]}"
        for number in range(first, last + 1)
    )
