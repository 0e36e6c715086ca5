"""The replacement fields of f-strings, read from the literal's own text. Pure.

`ast` gives positions inside f-strings only from Python 3.12 on; a notebook may be refactored by an older one.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass

from jupyter_agent.refactor.spans import Span


@dataclass(frozen=True)
class Field:
    """The expression of a replacement field: its text and offset; `debug`: written `{expression=}`."""

    text: str
    start: int
    debug: bool


_STRING = re.compile(r"(?P<prefix>[a-zA-Z]{0,2})(?P<quote>\"\"\"|'''|\"|')")


def fstring_fields(source: str, span: Span) -> Generator[Field, None, None]:
    """The fields of the (possibly implicitly joined) literals in `span`, those of nested format specs included."""
    position = span.start
    while position < span.end:
        match = _STRING.match(source, position)
        if match is None:
            end = source.find("\n", position) if source[position] == "#" else position + 1
            position = end if end > position else position + 1
            continue
        prefix, quote = match["prefix"].lower(), match["quote"]
        if "f" in prefix or "t" in prefix:
            position = yield from _literal(source, match.end(), quote)
        else:
            position = _skip_string(source, match.end(), quote)


def _skip_string(source: str, position: int, quote: str) -> int:
    while position < len(source):
        if source[position] == "\\":
            position += 2
        elif source.startswith(quote, position):
            return position + len(quote)
        else:
            position += 1
    return position


def _literal(source: str, position: int, quote: str) -> Generator[Field, None, int]:
    while position < len(source):
        character = source[position]
        if source.startswith(quote, position):
            return position + len(quote)
        if character == "\\" and source[position + 1 : position + 3] != "N{":
            position += 2
        elif character == "\\":
            position = source.index("}", position) + 1
        elif source.startswith(("{{", "}}"), position):
            position += 2
        elif character == "{":
            position = yield from _field(source, position + 1)
        else:
            position += 1
    return position


def _field(source: str, start: int) -> Generator[Field, None, int]:
    """From behind the opening brace: yields the field and those in its format spec, returns where it ends."""
    position, depth = start, 0
    while position < len(source):
        character = source[position]
        if character in "\"'":
            quote = source[position : position + 3] if source.startswith(character * 3, position) else character
            position = _skip_string(source, position + len(quote), quote)
            continue
        if character in "([{":
            depth += 1
        elif character in ")]" or (character == "}" and depth):
            depth -= 1
        elif depth == 0 and (character in "}:" or (character == "!" and source[position + 1 : position + 2] != "=")):
            break
        position += 1
    text = source[start:position]
    debug = text.rstrip().endswith("=") and not text.rstrip().endswith(("==", "!=", "<=", ">="))
    yield Field(text.rstrip()[:-1] if debug else text, start, debug)
    if source[position : position + 1] == "!":
        while position < len(source) and source[position] not in ":}":
            position += 1
    if source[position : position + 1] == ":":
        position += 1
        while position < len(source) and source[position] != "}":
            position = (yield from _field(source, position + 1)) if source[position] == "{" else position + 1
    return position + 1
