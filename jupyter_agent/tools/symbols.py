"""Definitions in source files: functions, classes and the like, with names and lines, through tree-sitter. Pure."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_agent.edit.languages import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_JAVASCRIPT = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "variable",
}
_TYPESCRIPT = _JAVASCRIPT | {
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "abstract_class_declaration": "class",
}
_C = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "enum_specifier": "enum",
    "type_definition": "type",
}

DEFINITIONS: Mapping[str, Mapping[str, str]] = {
    "python": {"function_definition": "function", "class_definition": "class", "assignment": "variable"},
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "c": _C,
    "cpp": _C | {"class_specifier": "class", "namespace_definition": "namespace"},
    "go": {"function_declaration": "function", "method_declaration": "method", "type_spec": "type"},
    "rust": {
        "function_item": "function",
        "struct_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "mod_item": "module",
        "type_item": "type",
        "const_item": "constant",
        "static_item": "constant",
        "macro_definition": "macro",
    },
    "java": {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "class",
        "method_declaration": "method",
        "constructor_declaration": "method",
    },
    "bash": {"function_definition": "function"},
    "ruby": {"method": "method", "class": "class", "module": "module"},
    "php": {"function_definition": "function", "class_declaration": "class", "method_declaration": "method"},
    "scala": {"function_definition": "function", "class_definition": "class", "object_definition": "object"},
}
"""Language to node type to what a person calls it. A `variable` counts at the top of a file or class only."""

_FUNCTIONS = frozenset({"function_definition", "function_declaration", "method_definition", "arrow_function", "lambda"})
_NAMES = frozenset({"identifier", "field_identifier", "type_identifier", "qualified_identifier"})


@dataclass(frozen=True)
class Symbol:
    """A definition. `line` is 1-based; `text` is its first line."""

    name: str
    kind: str
    line: int
    text: str


def symbols(data: bytes, language: str) -> list[Symbol]:
    """The definitions of a source text in file order; empty for a language without a grammar."""
    kinds = DEFINITIONS.get(language)
    parser = parser_of(language) if kinds is not None else None
    if parser is None or kinds is None:
        return []
    query = _query(language)
    from tree_sitter import QueryCursor

    lines = data.split(b"\n")
    found = []
    for nodes in QueryCursor(query).captures(parser.parse(data).root_node).values():
        for node in nodes:
            kind = kinds[node.type]
            name = _name(node)
            if name is None or name.text is None or (kind == "variable" and _is_local(node)):
                continue
            line = name.start_point[0]
            text = lines[line].decode("utf-8", "replace").strip() if line < len(lines) else ""
            found.append(Symbol(name.text.decode("utf-8", "replace"), kind, line + 1, text))
    return sorted(found, key=lambda symbol: symbol.line)


@functools.cache
def _query(language: str) -> Query:
    """One query for all kinds of definition; node types that an older grammar lacks are left out."""
    from tree_sitter import Query, QueryError

    parser = parser_of(language)
    assert parser is not None
    assert parser.language is not None
    known = []
    for node_type in DEFINITIONS[language]:
        pattern = f"({node_type}) @found"
        with contextlib.suppress(QueryError):
            Query(parser.language, pattern)
            known.append(pattern)
    return Query(parser.language, "\n".join(known))


def _is_local(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in _FUNCTIONS:
            return True
        parent = parent.parent
    return False


def _name(node: Node) -> Node | None:
    name = node.child_by_field_name("name")
    if name is None and node.type == "assignment":
        name = node.child_by_field_name("left")
        return name if name is not None and name.type == "identifier" else None
    declarator = node.child_by_field_name("declarator")
    while name is None and declarator is not None:
        if declarator.type in _NAMES:
            return declarator
        declarator = declarator.child_by_field_name("declarator")
    return name
