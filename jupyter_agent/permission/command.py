"""Shell text taken apart with tree-sitter-bash: either plain commands with literal arguments, or not plain at all.

Only an allowlist of syntax is plain. Whatever cannot be read for certain (expansions, substitutions, control
characters, text that does not parse) makes the whole not plain, and that is asked for (faults f60 to f62).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONGEST = 10_000
"""Bytes of command text that are looked at; a longer one is not plain."""

_STRUCTURE = frozenset(
    {"program", "list", "pipeline", "redirected_statement", "command", "command_name", "file_redirect"}
)
_PASSED_OVER = frozenset({"&&", "||", ";", "|", "\n", "comment"})
_HARMLESS_TARGETS = frozenset({"/dev/null"})
_UNSAFE_IN_WORDS = frozenset("\\`$!{}()<>|&;\"'#^")
_GLOB = frozenset("*?[")


@dataclass(frozen=True)
class Word:
    """An argument as the program will get it. `glob`: unquoted pattern characters, so it may become other words."""

    text: str
    glob: bool = False


@dataclass(frozen=True)
class Parsed:
    """`commands` are the simple commands in order, each name and arguments; empty when not `plain`, with the reason."""

    plain: bool
    commands: tuple[tuple[Word, ...], ...] = ()
    reason: str = ""


class _NotPlain(Exception):
    pass


@functools.cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse_command(text: str) -> Parsed:
    """The command taken apart. Never raises."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        return Parsed(False, reason="it holds bytes that are no text")
    if len(data) > LONGEST:
        return Parsed(False, reason="it is too long to be looked through")
    if any((ord(c) < 32 and c not in "\n\t") or ord(c) == 127 or (ord(c) > 127 and not c.isalnum()) for c in text):
        return Parsed(False, reason="it holds control or unusual characters")
    if text.count("\\"):
        return Parsed(False, reason="it holds a backslash")
    root = _parser().parse(data).root_node
    if root.has_error:
        return Parsed(False, reason="it does not parse as a shell command")
    try:
        commands = tuple(_commands(root))
    except _NotPlain as error:
        return Parsed(False, reason=str(error))
    return Parsed(True, commands) if commands else Parsed(False, reason="it is empty")


def _commands(root: Any) -> Iterator[tuple[Word, ...]]:
    """Simple commands in order. A stack of its own: a long `a && b && …` is as deep as it is long."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "command":
            yield tuple(_word(child) for child in node.children)
        elif node.type == "file_redirect":
            _check_redirect(node)
        elif node.type in _STRUCTURE:
            pending += [child for child in reversed(node.children) if child.type not in _PASSED_OVER]
        else:
            raise _NotPlain(f"it uses {node.type.replace('_', ' ')}")


def _check_redirect(node: Any) -> None:
    """Only discarding a stream, or sending errors where the output goes."""
    text = node.text.decode()
    if text.replace(" ", "") in ("2>&1", ">&2", "1>&2"):
        return
    target = node.child_by_field_name("destination")
    if target is None or target.text.decode() not in _HARMLESS_TARGETS or "<" in text:
        raise _NotPlain("it redirects to or from a file")


def _word(node: Any) -> Word:
    if node.type == "command_name":
        return _word(node.children[0])
    text = node.text.decode()
    if node.type in ("word", "number"):
        if _UNSAFE_IN_WORDS & set(text):
            raise _NotPlain(f"the word {text!r} is not literal")
        return Word(text, bool(_GLOB & set(text)))
    if node.type == "raw_string":
        return Word(text[1:-1])
    if node.type == "string":
        if any(child.type not in ('"', "string_content") for child in node.children):
            raise _NotPlain("a quoted text is expanded")
        if set("$`!") & set(text):
            raise _NotPlain("a quoted text is expanded")
        return Word(text[1:-1])
    if node.type == "concatenation":
        parts = [_word(child) for child in node.children]
        return Word("".join(part.text for part in parts), any(part.glob for part in parts))
    raise _NotPlain(f"it uses {node.type.replace('_', ' ')}")
