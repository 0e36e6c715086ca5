"""Edits of source text by position, so that untouched code keeps every byte. Pure."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Span:
    """Half-open range of character offsets."""

    start: int
    end: int


class Text:
    """A source and the offsets of its lines. `ast` counts columns in UTF-8 bytes; here everything is characters."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        starts, offset = [], 0
        for line in self.lines:
            starts.append(offset)
            offset += len(line) + 1
        return starts

    def offset(self, line: int, column: int) -> int:
        """Character offset of an `ast` position: 1-based line, column in UTF-8 bytes."""
        text = self.lines[line - 1]
        if text.isascii():
            return self.starts[line - 1] + column
        return self.starts[line - 1] + len(
            text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass")
        )

    def span(self, node: ast.AST) -> Span:
        """The extent of an expression or statement (decorators included)."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        for decorator in getattr(node, "decorator_list", ()):
            if decorator.lineno < line:
                line = decorator.lineno
                column = len(self.lines[line - 1]) - len(self.lines[line - 1].lstrip())
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Span(self.offset(line, column), end)

    def at(self, span: Span) -> str:
        return self.source[span.start : span.end]

    def line_of(self, offset: int) -> int:
        """1-based line of a character offset."""
        return self.source.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Edit:
    """Replace `span` by `text`; an empty span inserts."""

    span: Span
    text: str


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap; two inserts at one place land in the order given. Raises ValueError."""
    ordered = sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))
    parts: list[str] = []
    position = 0
    for edit in ordered:
        if edit.span.start < position:
            raise ValueError("edits overlap")
        parts += [source[position : edit.span.start], edit.text]
        position = edit.span.end
    return "".join([*parts, source[position:]])


def first_line(statement: ast.stmt) -> int:
    """1-based first line, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def string_lines(source: str) -> set[int]:
    """1-based lines that begin inside a string: their leading blanks are part of a value.

    `source` must be Python that `tokenize` accepts (magics replaced). Raises tokenize.TokenError and SyntaxError.
    """
    found: set[int] = set()
    depth: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name == "STRING":
            found.update(range(token.start[0] + 1, token.end[0] + 1))
        elif name in ("FSTRING_START", "TSTRING_START"):
            depth.append(token.start[0])
        elif name in ("FSTRING_END", "TSTRING_END"):
            found.update(range(depth.pop() + 1, token.end[0] + 1))
    return found


def indented(source: str, prefix: str) -> str:
    """Every line with `prefix` before it, except blank ones and those that begin inside a string."""
    inside = string_lines(source + "\n")
    lines = source.split("\n")
    return "\n".join(
        line if number in inside or not line.strip() else prefix + line for number, line in enumerate(lines, 1)
    )


def indent_unit(sources: Sequence[str]) -> str:
    """The indentation the notebook uses: a tab where most indented lines start with one, else four (or two) blanks."""
    lines = [line for source in sources for line in source.split("\n") if line[:1] in " \t" and line.strip()]
    tabs = sum(line[0] == "\t" for line in lines)
    if tabs * 2 > len(lines):
        return "\t"
    widths = [len(line) - len(line.lstrip(" ")) for line in lines if line[0] == " "]
    return "  " if widths and min(widths) == 2 and all(width % 2 == 0 for width in widths) else "    "
