"""Where a name of the notebook's namespace stands in a cell's source, with Python's scopes respected. Pure.

Positions inside f-strings are found by reading the literal, since `ast` gives wrong ones before Python 3.12.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from jupyter_agent.notebook import flow_scope as scope
from jupyter_agent.notebook.flow_source import parse
from jupyter_agent.refactor.fstrings import fstring_fields
from jupyter_agent.refactor.spans import Span, Text


@dataclass(frozen=True)
class Found:
    """One occurrence. `kind`: `name` (also in f-strings), `def`, `global`, `import` (an alias to be renamed or added:
    `text` is what stands there), `as` (except, match and import-as names), `debug` (in an f-string's `{name=}`)."""

    span: Span
    kind: str
    text: str


class Unplaced(Exception):
    """An occurrence exists whose place in the text cannot be told."""


def occurrences(text: Text, tree: ast.Module, name: str) -> list[Found]:
    """Every place where `name` means the notebook's variable. Raises Unplaced."""
    finder = _Finder(text, name)
    for statement in tree.body:
        finder.visit(statement)
    return sorted(finder.found, key=lambda found: found.span.start)


def all_identifiers(tree: ast.AST) -> set[str]:
    """Every identifier used as a name in any scope: variables, parameters, definitions, imports, captures."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found |= {node.name, *scope.type_parameters(node)}
        elif isinstance(node, ast.alias):
            found.add(scope.imported_name(node))
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return found


class _Finder:
    def __init__(self, text: Text, name: str) -> None:
        self.text = text
        self.name = name
        self.found: list[Found] = []
        self.shadowed = 0

    def visit(self, node: ast.AST) -> None:
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is not None:
            method(node)
            return
        self.children(node)

    def children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def add(self, span: Span, kind: str) -> None:
        if not self.shadowed:
            self.found.append(Found(span, kind, self.text.at(span)))

    def _visit_Name(self, node: ast.Name) -> None:
        if node.id == self.name:
            span = self.text.span(node)
            if self.text.at(span) != self.name:
                raise Unplaced(f"line {node.lineno}")
            self.add(span, "name")

    # Scopes

    def _function(self, node: scope.FunctionNode) -> None:
        for part in scope.outer_parts(node):
            self.visit(part)
        bindings = scope.function_bindings(node)
        hidden = self.name in bindings.names
        back = self.name in bindings.globals
        before = self.shadowed
        self.shadowed = 0 if back else before + hidden
        for statement in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self.visit(statement)
        self.shadowed = before

    def _visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node, "def")
        self._function(node)

    def _visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node, "def")
        self._function(node)

    def _visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def _visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node, "class")
        for part in scope.outer_parts(node):
            self.visit(part)
        own = self.name in scope.block_bindings(node.body).names
        before = self.shadowed
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                # The method's name is the class's; names bound in the class are not seen in the method.
                self._function(statement)
                continue
            if own and self._mentions(statement):
                raise Unplaced(f"line {statement.lineno}: class {node.name} has an attribute {self.name} of its own")
            self.shadowed = before + own
            self.visit(statement)
            self.shadowed = before

    def _mentions(self, statement: ast.stmt) -> bool:
        """Whether a class-level statement uses the name where both the class's and the notebook's may be meant."""
        inner = (ast.Lambda, ast.ClassDef, *scope.COMPREHENSIONS)
        for node in ast.walk(statement):
            reads = isinstance(node, ast.Name) and node.id == self.name and isinstance(node.ctx, ast.Load)
            nested = isinstance(node, inner) and self.name in all_identifiers(node)
            if reads or nested:
                return True
        return False

    def _comprehension(self, node: scope.ComprehensionNode) -> None:
        self.visit(node.generators[0].iter)
        hidden = self.name in scope.comprehension_targets(node)
        self.shadowed += hidden
        for index, generator in enumerate(node.generators):
            self.visit(generator.target)
            if index:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.shadowed -= hidden

    _visit_ListComp = _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _comprehension

    # Names that are no ast.Name

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, word: str) -> None:
        if node.name == self.name:
            start = self.text.offset(node.lineno, node.col_offset)
            match = re.compile(rf"(?:async\s+)?{word}\s+").match(self.text.source, start)
            self._word(match.end() if match else -1, "def", node)

    def _visit_Global(self, node: ast.Global) -> None:
        if self.name in node.names:
            span = self.text.span(node)
            for match in re.finditer(rf"\b{re.escape(self.name)}\b", self.text.at(span)):
                # A `global` names the notebook's variable whatever surrounds it.
                start = span.start + match.start()
                self.found.append(Found(Span(start, start + len(self.name)), "global", self.name))

    def _visit_Import(self, node: ast.Import) -> None:
        self._aliases(node)

    def _visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._aliases(node)

    def _aliases(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if scope.imported_name(alias) != self.name:
                continue
            span = self.text.span(alias)
            if alias.asname is not None:
                start = span.end - len(alias.asname)
                self._word(start, "as", alias)
            elif "." in alias.name:
                raise Unplaced(f"line {node.lineno}: `import {alias.name}` binds {self.name}, which cannot be renamed")
            else:
                self.add(span, "import")

    def _visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name == self.name:
            start = self.text.offset(node.lineno, node.col_offset)
            body = self.text.offset(node.body[0].lineno, node.body[0].col_offset)
            match = re.search(rf"\bas\s+({re.escape(self.name)})\s*:", self.text.source[start:body])
            self._word(start + match.start(1) if match else -1, "as", node)
        self.children(node)

    def _visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name == self.name:
            self._word(self.text.span(node).end - len(self.name), "as", node)
        self.children(node)

    def _visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name == self.name:
            self._word(self.text.span(node).end - len(self.name), "as", node)

    def _visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest == self.name:
            span = self.text.span(node)
            match = re.search(rf"\*\*\s*({re.escape(self.name)})\s*,?\s*\}}$", self.text.at(span))
            self._word(span.start + match.start(1) if match else -1, "as", node)
        self.children(node)

    def _word(self, start: int, kind: str, node: ast.AST) -> None:
        span = Span(start, start + len(self.name))
        if start < 0 or self.text.at(span) != self.name:
            raise Unplaced(f"line {getattr(node, 'lineno', '?')}")
        self.add(span, kind)

    # f-strings

    def _visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        wanted = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == self.name]
        if not wanted:
            return
        span = self.text.span(node)
        before = len(self.found)
        fields = list(fstring_fields(self.text.source, span))
        for field in fields:
            finder = _Finder(Text("(" + field.text + "\n)"), self.name)
            finder.shadowed = self.shadowed
            try:
                tree = parse("(" + field.text + "\n)")
            except SyntaxError:
                raise Unplaced(f"line {node.lineno}: an f-string") from None
            finder.visit(tree.body[0])
            for found in finder.found:
                start = field.start + found.span.start - 1
                kind = "debug" if field.debug else found.kind
                self.found.append(Found(Span(start, start + len(found.text)), kind, found.text))
        if len(self.found) - before != _count(node, self.name, self.shadowed):
            raise Unplaced(f"line {node.lineno}: an f-string")

    _visit_TemplateStr = _visit_JoinedStr


def _count(node: ast.JoinedStr, name: str, shadowed: int) -> int:
    """How often the variable occurs in an f-string's fields, by the tree alone."""

    class Counter(_Finder):
        def _visit_Name(self, node: ast.Name) -> None:
            if node.id == self.name:
                self.add(Span(0, 0), "name")

        def _visit_JoinedStr(self, node: ast.JoinedStr) -> None:
            self.children(node)

    counter = Counter(Text(""), name)
    counter.shadowed = shadowed
    counter.children(node)
    return len(counter.found)
