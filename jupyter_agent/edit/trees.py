"""Parses a text with tree-sitter and lists its errors; a large text is parsed again only where it changed.

Keeps the trees of the last few large texts, found again by SHA-256. No other state, no I/O.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jupyter_agent.edit.languages import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

KEPT_TREES = 8
LARGE = 64_000
"""Bytes from which a tree is worth keeping: below, a parse takes a few milliseconds (tree-sitter 0.26, python)."""

_MAX_ERRORS = 50
_CHUNK = 1 << 16
_kept: OrderedDict[tuple[str, bytes], Tree] = OrderedDict()


def errors(data: bytes, language: str, before: bytes | None = None) -> list[tuple[int, str]]:
    """(0-based line, message) of every error in the tree, at most 50; empty where there is no grammar.

    `before` is the text it was made from: if its tree is still there, only the difference is parsed.
    """
    parser = parser_of(language)
    if parser is None:
        return []
    tree = _parsed(parser, language, data, before)
    return list(_errors(tree, data)) if tree.root_node.has_error else []


def changed_statements(data: bytes, before: bytes, language: str) -> tuple[int, bytes] | None:
    """The whole top-level statements of `data` in which it differs from `before`: (0-based first line, their lines).

    None where there is no grammar.
    """
    parser = parser_of(language)
    if parser is None:
        return None
    start, _, end = _difference(before, data)
    cursor = _parsed(parser, language, data, before).walk()
    if cursor.goto_first_child_for_byte(max(start - 1, 0)) is None:
        return 0, data
    first = cursor.node
    last = first
    while last is not None and last.end_byte <= end and cursor.goto_next_sibling():
        last = cursor.node
    if first is None or last is None:
        return 0, data
    line_start = data.rfind(b"\n", 0, min(first.start_byte, start)) + 1
    line_end = data.find(b"\n", max(last.end_byte, end))
    return data.count(b"\n", 0, line_start), data[line_start : len(data) if line_end < 0 else line_end + 1]


def _parsed(parser: Parser, language: str, data: bytes, before: bytes | None) -> Tree:
    if len(data) < LARGE:
        return parser.parse(data)
    key = _key(language, data)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    old = _kept.get(_key(language, before)) if before is not None else None
    tree = parser.parse(data) if old is None or before is None else parser.parse(data, _edited(old, before, data))
    _kept[key] = tree
    while len(_kept) > KEPT_TREES:
        _kept.popitem(last=False)
    return tree


def _key(language: str, data: bytes) -> tuple[str, bytes]:
    return language, hashlib.sha256(data).digest()


def _edited(tree: Tree, before: bytes, after: bytes) -> Tree:
    """A copy of the tree that knows where `after` differs from `before`: one range, from the first to the last byte."""
    start, old_end, new_end = _difference(before, after)
    copy = tree.copy()
    copy.edit(start, old_end, new_end, _point(before, start), _point(before, old_end), _point(after, new_end))
    return copy


def _difference(before: bytes, after: bytes) -> tuple[int, int, int]:
    """The one range that differs: its start, its end in `before`, its end in `after`."""
    start = _common(before, after)
    tail = _common(before[start:][::-1], after[start:][::-1])
    return start, len(before) - tail, len(after) - tail


def _common(left: bytes, right: bytes) -> int:
    """How many leading bytes are equal."""
    limit, position = min(len(left), len(right)), 0
    while position < limit and left[position : position + _CHUNK] == right[position : position + _CHUNK]:
        position = min(position + _CHUNK, limit)
    while position < limit and left[position] == right[position]:
        position += 1
    return position


def _point(data: bytes, offset: int) -> tuple[int, int]:
    return data.count(b"\n", 0, offset), offset - (data.rfind(b"\n", 0, offset) + 1)


def _errors(tree: Tree, data: bytes) -> Iterator[tuple[int, str]]:
    pending, found = [tree.root_node], 0
    while pending and found < _MAX_ERRORS:
        node = pending.pop()
        if node.is_missing:
            yield node.start_point[0], f"missing {node.type}"
            found += 1
        elif node.is_error:
            yield node.start_point[0], f"unexpected {_shown(node, data)}"
            found += 1
        elif node.has_error:
            pending += [child for child in reversed(node.children) if child.has_error or child.is_missing]


def _shown(node: Node, data: bytes) -> str:
    text = data[node.start_byte : min(node.end_byte, node.start_byte + 200)].decode("utf-8", "replace").strip()
    first = text.split("\n")[0]
    return repr(first[:60] + ("…" if len(first) > 60 or "\n" in text else "")) if first else "text"
