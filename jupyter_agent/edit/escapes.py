r"""Readings of a block that was escaped once too often: `\"` for `"`, or `\n` for a line break. Pure.

Only what SEARCH itself shows to be over-escaped is taken off REPLACE; where REPLACE holds other escapes, or the same
character both ways, there is no reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jupyter_agent.edit.model import Block

_QUOTES = ('"', "'", "`")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANING = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def unescaped(block: Block) -> Iterator[Block]:
    """The block with over-escaped quotes undone, then as one line in which every escape is undone."""
    search, replace = "\n".join(block.search), "\n".join(block.replace)
    if "\\" not in search:
        return
    escaped = set(_ESCAPED.findall(search))
    if escaped <= set(_QUOTES):
        if not _bare(search, escaped) and set(_ESCAPED.findall(replace)) <= escaped and not _bare(replace, escaped):
            yield _block(_without_backslashes(search), _without_backslashes(replace))
    elif "n" in escaped and "\n" not in search + replace and set(_ESCAPED.findall(replace)) | escaped <= set(_MEANING):
        quotes = escaped & set(_QUOTES)
        if not _bare(search, quotes) and not _bare(replace, quotes):
            yield _block(_meant(search), _meant(replace))


def _bare(text: str, quotes: set[str]) -> bool:
    """Whether one of `quotes` also stands there without a backslash."""
    return any(quote in _ESCAPED.sub("", text) for quote in quotes)


def _without_backslashes(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _meant(text: str) -> str:
    return _ESCAPED.sub(lambda match: _MEANING[match[1]], text)


def _block(search: str, replace: str) -> Block:
    return Block(tuple(search.split("\n")), tuple(replace.split("\n")) if replace else ())
