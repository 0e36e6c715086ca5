"""Reads SEARCH/REPLACE blocks from their marker text form. Pure.

    <<<<<<< SEARCH
    lines as they are
    =======
    lines as they shall be
    >>>>>>> REPLACE

The three markers of a block are equally long, 5 characters or more; `SEARCH>` and cline's `------- SEARCH` …
`+++++++ REPLACE` are understood. Where the lines hold markers themselves, longer ones are used around them. Text
outside blocks is ignored unless it looks like a marker: then something was cut off, and nothing is applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jupyter_agent.errors import EditRefused

_OPEN = r"(?P<indent>[ \t]*)(?P<fence><{5,}|-{5,})[ \t]*SEARCH>?[ \t]*"
_DIVIDER = r"[ \t]*(={5,})[ \t]*"
_CLOSE = r"[ \t]*(>{5,}|\+{5,})[ \t]*REPLACE[ \t]*"
_BEGUN = r"[ \t]*<{5,}.*"
_FORM = "<<<<<<< SEARCH, the lines, =======, the new lines, >>>>>>> REPLACE"
_LONGER = "If the lines hold such markers themselves, use longer markers (9 characters) for the block, or send blocks."


def parse_blocks(text: str) -> list[tuple[str, str]]:
    """The blocks as (search, replace), whole lines without the last newline. Raises EditRefused("syntax", …)."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    blocks, number, last_opening = [], 0, ""
    while number < len(lines):
        opening = re.fullmatch(_OPEN, lines[number])
        if opening is not None:
            block = _read(lines, number, opening)
            blocks.append((block.search, block.replace))
            number, last_opening = block.end, opening[0].strip()
        elif any(re.fullmatch(pattern, lines[number]) for pattern in (_DIVIDER, _CLOSE, _BEGUN)):
            raise _malformed(number, lines[number], f"stands outside a block. {_LONGER}")
        number += 1
    cut = lines[-1].strip()
    if cut and last_opening.startswith(cut):
        raise _malformed(len(lines) - 1, cut, "is the beginning of a marker: the text was cut off.")
    if not blocks:
        raise EditRefused("syntax", f"There is no SEARCH/REPLACE block in the text. The form is: {_FORM}.")
    return blocks


@dataclass(frozen=True)
class _Read:
    search: str
    replace: str
    end: int
    """The number of the closing line."""


def _read(lines: Sequence[str], start: int, opening: re.Match[str]) -> _Read:
    fence, indent = opening["fence"], opening["indent"]
    divider = close = None
    for number in range(start + 1, len(lines)):
        kind = _marker(lines[number], fence)
        if kind == "open":
            raise _malformed(number, lines[number], f"begins a block inside the block of line {start + 1}. {_LONGER}")
        if kind == "divider":
            if divider is not None:
                raise _malformed(number, lines[number], f"is a second divider. {_LONGER}")
            divider = number
        if kind == "close":
            close = number
            break
    if divider is None or close is None:
        missing = "divider" if divider is None else "closing marker"
        raise _malformed(start, lines[start], f"has no {missing} of the same length. The form is: {_FORM}.")
    search = _content(lines, start + 1, divider, indent)
    return _Read(search, _content(lines, divider + 1, close, indent), close)


def _marker(line: str, fence: str) -> str:
    """Which marker of the block that was opened with `fence` the line is: open, divider, close or none."""
    closing = {"<": ">", "-": "+"}[fence[0]]
    for kind, pattern, wanted in (
        ("open", _OPEN, fence),
        ("divider", _DIVIDER, "=" * len(fence)),
        ("close", _CLOSE, closing * len(fence)),
    ):
        match = re.fullmatch(pattern, line)
        if match is not None and (match["fence"] if kind == "open" else match[1]) == wanted:
            return kind
    return ""


def _content(lines: Sequence[str], start: int, end: int, indent: str) -> str:
    """The lines without the indentation the markers have."""
    return "\n".join(_dedented(lines[start:end], start, indent))


def _dedented(lines: Sequence[str], start: int, indent: str) -> Iterator[str]:
    for number, line in enumerate(lines, start):
        if not line.startswith(indent) and line.strip():
            raise _malformed(number, line, "is less indented than the markers of its block.")
        yield line.removeprefix(indent) if line.startswith(indent) else ""


def _malformed(number: int, line: str, what: str) -> EditRefused:
    return EditRefused("syntax", f"Line {number + 1} ({line.strip()[:80]}) {what} Nothing was changed.")
