"""What guards a rewrite of a whole file: no code left out by a placeholder, or silently dropped. Pure."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import Final

from jupyter_agent.edit.placeholders import omission_placeholders
from jupyter_agent.errors import BadArguments, WorkspaceRefused

TOLERANCE: Final = 15
"""Percentage points by which a rewrite may drop more lines than it said."""
_DEFINITION = re.compile(
    r"^\s*(?:async\s+)?(?:def|class|function|func|fn|interface|struct|enum|trait)\s+(\w+)", re.MULTILINE
)
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def check_rewrite(before: str, after: str, name: str, percentage: float) -> None:
    """Refuse a rewrite that stands for code instead of holding it, or drops more of the file than it says.

    Raises WorkspaceRefused: `omission_placeholder`, `dropped_code`. `percentage` is what the caller says changes.
    """
    old, new = before.splitlines(), after.splitlines()
    placeholders = omission_placeholders(new, old, name)
    if placeholders:
        line = placeholders[0]
        raise WorkspaceRefused(
            "omission_placeholder",
            f"Line {line + 1} ({new[line].strip()!r}) stands for code that was left out, so {name} was not written. "
            "Send the whole content, or use edit_file for the part that changes.",
        )
    kept = Counter(line.strip() for line in old if line.strip())
    total = kept.total()
    remaining = (kept & Counter(line.strip() for line in new)).total()
    dropped = 100 * (total - remaining) / total if total else 0
    if dropped > percentage + TOLERANCE:
        names = [n for n in dict.fromkeys(_DEFINITION.findall(before)) if not re.search(rf"\b{re.escape(n)}\b", after)]
        gone = f" Definitions that would be gone: {', '.join(names[:20])}." if names else ""
        raise WorkspaceRefused(
            "dropped_code",
            f"This drops {dropped:.0f} % of the lines of {name}, but percentage_to_change says {percentage:g}.{gone} "
            "Use edit_file, or say 100 if all of it is meant to go.",
        )


def as_before(content: str, before: bytes | None, name: str) -> bytes:
    r"""The content's bytes, in the encoding, with the byte-order mark and the line ends that the file had.

    Content that holds `\r` is taken as it is. Raises BadArguments for text that cannot be encoded.
    """
    try:
        if before is None:
            return content.encode("utf-8")
        encoding = _UTF16.get(before[:2], "utf-8")
        mark = before[:2] if encoding != "utf-8" else codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
        crlf, newline, cr = (end.encode(encoding) for end in ("\r\n", "\n", "\r"))
        if "\r" not in content and before.count(crlf) == before.count(newline) and cr in before:
            content = content.replace("\n", "\r\n" if crlf in before else "\r")
        return mark + content.removeprefix("\ufeff").encode(encoding)
    except UnicodeEncodeError as error:
        raise BadArguments(
            f"The content holds half a character at position {error.start}; {name} was not written."
        ) from None
