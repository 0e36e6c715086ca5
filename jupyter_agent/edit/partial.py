"""Finds SEARCH as a part of a line, where no whole lines match: rare, and refused wherever it could be a slip. Pure."""

from __future__ import annotations

from jupyter_agent.edit.find import MAX_PLACES
from jupyter_agent.edit.indent import is_blank
from jupyter_agent.edit.lines import Text, decode, encode
from jupyter_agent.edit.model import Block, Span, Window

_OPERATORS = frozenset("=!<>+-*/&|^%~:.?@")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_CHARACTER_BYTES = 8


def find(text: Text, block: Block, window: Window, every: bool) -> list[Span]:
    """Byte ranges in which SEARCH stands inside lines.

    With `every`: all that cut nothing (a rename). Else all of them when there are several (ambiguous), or the only one
    if it cuts nothing. Not where SEARCH begins with a line's first character and ends inside the line: so looks a line
    whose end was forgotten.
    """
    needle = (text.eol or b"\n").join(encode(line) for line in block.search)
    spans = _occurrences(text, needle, window, every)
    if every:
        return [span for span in spans if not _cuts(text, span)]
    if len(spans) == 1 and (_cuts(text, spans[0]) or _is_cut_short(text, spans[0])):
        return []
    return spans


def _occurrences(text: Text, needle: bytes, window: Window, every: bool) -> list[Span]:
    spans: list[Span] = []
    position = text.data.find(needle, window.start, window.end)
    while position >= 0 and (every or len(spans) < MAX_PLACES):
        spans.append(Span(position, position + len(needle)))
        position = text.data.find(needle, position + (len(needle) if every else 1), window.end)
    return spans


def _is_cut_short(text: Text, span: Span) -> bool:
    """Whether the match starts a line and ends inside one."""
    before = decode(text.data[text.line_start(span.start) : span.start])
    return is_blank(before) and span.end != text.content_end(span.end)


def _cuts(text: Text, span: Span) -> bool:
    data = text.data
    before = decode(data[max(text.line_start(span.start), span.start - _CHARACTER_BYTES) : span.start])
    inside = decode(data[span.start : span.end])
    after = decode(data[span.end : min(text.content_end(span.end), span.end + _CHARACTER_BYTES)])
    return _cuts_between(before, inside) or _cuts_between(inside, after)


def _cuts_between(left: str, right: str) -> bool:
    """Whether a name, a number, an operator, an escape or a joined character goes on from `left` into `right`."""
    if not left or not right:
        return False
    last, first = left[-1], right[0]
    if _in_name(last) and _in_name(first):
        return True
    if last == "\\" or first in _JOINERS or last in _JOINERS:
        return True
    if last in _OPERATORS and first in _OPERATORS:
        return True
    joined_name = (first == "-" and _in_name(last) and _in_name(right[1:2])) or (
        last == "-" and _in_name(first) and _in_name(left[-2:-1])
    )
    decimal = (first == "." and last.isdigit() and right[1:2].isdigit()) or (
        last == "." and first.isdigit() and left[-2:-1].isdigit()
    )
    return joined_name or decimal


def _in_name(character: str) -> bool:
    return character == "$" or (bool(character) and ("a" + character).isidentifier())
