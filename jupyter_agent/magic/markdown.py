"""Markdown of a model made inert: no raw HTML, no remote images, no script links (faults f76, f77)."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.|\n)*?(?<!`)\1(?!`)")
_SCHEME = re.compile(r"(\]\(\s*<?|^ {0,3}\[[^\]]+\]:\s*<?)\s*([A-Za-z][A-Za-z0-9+.\-]*):", re.MULTILINE)
_SAFE = {"http", "https", "mailto"}


def inert_markdown(text: str) -> str:
    """The same text for a reader, with nothing in it that loads or runs. Code blocks and code spans stay as they are."""
    made: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if fence:
            made.append(line)
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif match:
            made.append(_inert_prose("".join(prose)))
            prose = []
            fence = match[1]
            made.append(line)
        else:
            prose.append(line)
    return "".join([*made, _inert_prose("".join(prose))])


def _inert_prose(text: str) -> str:
    parts: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(text):
        parts += [_inert(text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, _inert(text[end:])])


def _inert(text: str) -> str:
    # An image becomes a link to it: shown, not loaded.
    text = text.replace("![", "[")
    text = _SCHEME.sub(lambda m: m[0] if m[2].lower() in _SAFE else f"{m[1]}unsafe-{m[2]}:", text)
    return text.replace("<", "&lt;")
