"""Finds SEARCH as a part of a line, where no whole lines match: rare, and refused wherever it could be a slip. Pure."""

from __future__ import annotations

from jupyter_agent.edit.find import MAX_PLACES
from jupyter_agent.edit.lines import Text, decode, encode
from jupyter_agent.edit.model import Block, Span, Window

_OPERATORS = frozenset("=!<>+-*/&|^%~:.?@")
_COMMENTS = ("#", "//", "--", ";", "/*", "*", "<!--", "%", '"', "'")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_CHARACTER_BYTES = 8


def find(text: Text, block: Block, window: Window, every: bool) -> list[Span]:
    """Byte ranges in which SEARCH stands inside lines.

    With `every`: all that are whole words (a rename). Else all of them when there are several (ambiguous), or the only
    one if it cuts nothing. Not where SEARCH begins with a line's first character and ends inside the line, as if the
    line's end had been forgotten, nor where the line is commented out.
    """
    needle = (text.eol or b"\n").join(encode(line) for line in block.search)
    spans = _occurrences(text, needle, window, every)
    if every:
        return [span for span in spans if not any(_splits_a_word(*sides) for sides in _sides(text, span))]
    if len(spans) == 1 and (
        any(_cuts(*sides) for sides in _sides(text, spans[0])) or _looks_like_a_slip(text, spans[0])
    ):
        return []
    return spans


def _occurrences(text: Text, needle: bytes, window: Window, every: bool) -> list[Span]:
    spans: list[Span] = []
    position = text.data.find(needle, window.start, window.end)
    while position >= 0 and (every or len(spans) < MAX_PLACES):
        spans.append(Span(position, position + len(needle)))
        position = text.data.find(needle, position + (len(needle) if every else 1), window.end)
    return spans


def _looks_like_a_slip(text: Text, span: Span) -> bool:
    """Whether the match starts a line and ends inside one, or is all that a comment says."""
    before = decode(text.data[text.line_start(span.start) : span.start]).strip()
    if not before:
        return span.end != text.content_end(span.end)
    return not any(character.isalnum() for character in before) and before.startswith(_COMMENTS)


def _sides(text: Text, span: Span) -> tuple[tuple[str, str], tuple[str, str]]:
    """What stands left and right of either end of the match, within its line."""
    data = text.data
    before = decode(data[max(text.line_start(span.start), span.start - _CHARACTER_BYTES) : span.start])
    inside = decode(data[span.start : span.end])
    after = decode(data[span.end : min(text.content_end(span.end), span.end + _CHARACTER_BYTES)])
    return (before, inside), (inside, after)


def _splits_a_word(left: str, right: str) -> bool:
    return bool(left and right) and _in_name(left[-1]) and _in_name(right[0])


def _cuts(left: str, right: str) -> bool:
    """Whether a name, a number, an operator, an escape or a joined character goes on from `left` into `right`."""
    if not left or not right:
        return False
    last, first = left[-1], right[0]
    if _splits_a_word(left, right) or last == "\\" or first in _JOINERS or last in _JOINERS:
        return True
    if last in _OPERATORS and first in _OPERATORS:
        return True
    if last == "." and _in_name(first):
        return True
    joined_name = (first == "-" and _in_name(last) and _in_name(right[1:2])) or (
        last == "-" and _in_name(first) and _in_name(left[-2:-1])
    )
    return joined_name or (first == "." and last.isdigit() and right[1:2].isdigit())


def _in_name(character: str) -> bool:
    return character == "$" or (bool(character) and ("a" + character).isidentifier())
