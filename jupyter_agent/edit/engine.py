r"""The edit engine: replaces blocks of lines in a text, all of them or none, or refuses. Pure: no I/O, no clock.

Every block is placed in the text as it was given, by the ladder in `tiers`; a place must be the only one at its tier.
Bytes outside the replaced lines are the same objects' bytes: line ends, byte-order mark, encoding and the missing or
present final newline stay. A text that has `\r` and no `\n` is one of lines that end in `\r`.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import replace

from jupyter_agent.edit import refuse
from jupyter_agent.edit.lines import Text, decode, encode, normalise, split_bom
from jupyter_agent.edit.model import Block, EditResult
from jupyter_agent.edit.request import Request
from jupyter_agent.errors import EditRefused

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def edit(
    data: bytes,
    blocks: Sequence[tuple[str, str]],
    *,
    filename: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    expected_count: int = 1,
    replace_all: bool = False,
) -> EditResult:
    """`data` with every block's SEARCH replaced by its REPLACE.

    SEARCH and REPLACE are whole lines without their last newline; an empty REPLACE deletes the lines. Every block must
    be found exactly `expected_count` times (any number of times, but once at least, with `replace_all`) within the
    lines `start_line` to `end_line` (1-based, inclusive). `filename` only tells whether a lone `...` can be Python.

    Raises EditRefused, with nothing changed. Its kinds: empty_search, no_change, omission_placeholder, not_found,
    already_applied, ambiguous, count, overlap, indentation_unrepairable, tolerance, encoding, window, arguments;
    `parse_blocks` adds syntax.
    """
    bom, encoding = _utf16(data)
    if encoding is not None:
        body = _decoded(data[len(bom) :], encoding)
    else:
        bom, body = split_bom(data)
    old_mac = b"\n" not in body and b"\r" in body
    if old_mac:
        body = body.replace(b"\r", b"\n")
    request = Request(Text(body), filename, expected_count, replace_all)
    result = request.apply(_blocks(blocks, returns=old_mac), start_line, end_line)
    written = result.data.replace(b"\n", b"\r") if old_mac else result.data
    written = written if encoding is None else _encoded(written, encoding)
    return replace(result, data=bom + written if bom else written)


def edit_bytes(
    data: bytes,
    blocks: Sequence[tuple[str, str]],
    *,
    filename: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    expected_count: int = 1,
    replace_all: bool = False,
) -> bytes:
    """The `data` of `edit` with the same arguments."""
    return edit(
        data,
        blocks,
        filename=filename,
        start_line=start_line,
        end_line=end_line,
        expected_count=expected_count,
        replace_all=replace_all,
    ).data


def edit_text(
    source: str,
    blocks: Sequence[tuple[str, str]],
    *,
    filename: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    expected_count: int = 1,
    replace_all: bool = False,
) -> tuple[str, EditResult]:
    r"""`edit` for the source of a notebook cell, which has `\n` line ends alone and no byte-order mark.

    Returns the new source and the result with it as UTF-8. Raises EditRefused as `edit` does, and where the source
    holds lone surrogates.
    """
    try:
        body = source.replace("\r\n", "\n").encode()
    except UnicodeEncodeError:
        raise refuse.unencodable("The cell") from None
    result = Request(Text(body), filename, expected_count, replace_all).apply(_blocks(blocks), start_line, end_line)
    return result.data.decode("utf-8", "surrogateescape"), result


def _utf16(data: bytes) -> tuple[bytes, str | None]:
    if data.startswith(_UTF32):
        raise EditRefused("encoding", "The file is UTF-32, which this tool does not edit. Convert it to UTF-8 first.")
    return next(((bom, name) for bom, name in _UTF16.items() if data.startswith(bom)), (b"", None))


def _decoded(data: bytes, encoding: str) -> bytes:
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError:
        message = "The file begins like UTF-16 and is not valid UTF-16, so its bytes cannot be kept. Convert it first."
        raise EditRefused("encoding", message) from None


def _encoded(data: bytes, encoding: str) -> bytes:
    try:
        return decode(data).encode(encoding)
    except UnicodeEncodeError:
        raise refuse.unencodable("REPLACE") from None


def _blocks(blocks: Sequence[tuple[str, str]], *, returns: bool = False) -> list[Block]:
    r"""The blocks as lines; with `returns` a lone `\r` ends a line too."""
    if not blocks:
        raise EditRefused("arguments", "There is no block to apply. Send at least one SEARCH and REPLACE.")
    parsed = []
    for search, replacement in blocks:
        for part, text in (("SEARCH", search), ("REPLACE", replacement)):
            try:
                encode(text)
            except UnicodeEncodeError:
                raise refuse.unencodable(part) from None
        wanted, new = normalise(search), normalise(replacement)
        if returns:
            wanted, new = wanted.replace("\r", "\n"), new.replace("\r", "\n")
        parsed.append(Block(tuple(wanted.split("\n")), tuple(new.split("\n")) if new else ()))
    return parsed
