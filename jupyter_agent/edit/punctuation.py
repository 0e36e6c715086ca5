"""Typographic characters and the plain ones models type for them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

PLAIN = {
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u2060\ufeff", ""),
}
"""What the punctuation tier takes as equal. Full-width forms are not in it: in a string they are other characters."""

_PLAIN_BYTES = {character.encode(): plain.encode() for character, plain in PLAIN.items()}
_PLAIN_ORDINALS = str.maketrans(PLAIN)
_TYPOGRAPHIC = b"|".join(_PLAIN_BYTES)


def plain(data: bytes) -> bytes:
    """`data` with plain characters; lines stay lines. The same object when there is nothing typographic."""
    if data.isascii():
        return data
    return re.sub(_TYPOGRAPHIC, lambda match: _PLAIN_BYTES[match[0]], data)


def plain_text(text: str) -> str:
    return text.translate(_PLAIN_ORDINALS)


def typed_for_plain(search: Sequence[str], text: Sequence[str]) -> dict[int, str]:
    """The typographic characters of SEARCH that the matched text writes plainly, as a table for `str.translate`."""
    typed, found = "".join(search), "".join(text)
    return {
        ord(character): plain for character, plain in PLAIN.items() if character in typed and character not in found
    }
