"""Changed cells spliced into an .ipynb file's text, in the file's own style. Pure; the counterpart of ipynb.py."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import Json, same_content, split_output, to_json
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.ipynb import Ipynb, members

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_START = re.compile(r"(\r?\n)([ \t]*)")


@dataclass(frozen=True)
class Style:
    """How a file writes JSON. `unit` is one step of indentation, None for everything on one line.

    `ascii`: other characters are escaped; `lines`: multi-line strings are lists; `order`: the keys of a cell, empty for
    nbformat's.
    """

    unit: str | None
    newline: str
    item: str
    colon: str
    ascii: bool
    lines: bool
    order: tuple[str, ...]

    def dumps(self, value: Any, indent: str) -> str:
        """`value` as JSON whose first line stands at `indent`."""
        if self.unit is None:
            text = json.dumps(value, ensure_ascii=self.ascii, separators=(self.item, self.colon))
        else:
            text = json.dumps(value, ensure_ascii=self.ascii, indent=self.unit, separators=(",", self.colon))
            text = text.replace("\n", self.newline + indent)
        # Half a surrogate pair has no UTF-8 form: it stays an escape, as it was in the file.
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def rewrite(file: Ipynb, before: Sequence[Cell], after: Sequence[Cell]) -> str:
    """The file's text with its cells `before` (in the file's order, ids given where it has none) replaced by `after`.

    Outside the cells' list nothing changes. New cells get an id only where the file's nbformat has ids (fault n34).
    """
    if len(before) != len(file.raw):
        raise ValueError("`before` must be the file's cells")
    style = style_of(file)
    places = {cell.id: number for number, cell in enumerate(before)}
    texts: list[str] = []
    gaps: list[str] = []
    opening, between, closing = _gaps(file, style)
    for cell in after:
        number = places.get(cell.id)
        gaps.append(_gap_before(file, number) or between)
        if number is None:
            texts.append(_new_cell(cell, style, file, between))
        elif same_content(before[number], cell):
            start, end = file.spans[number]
            texts.append(file.text[start:end])
        else:
            texts.append(_changed_cell(file, number, before[number], cell, style))
    start, end = file.array
    if not texts:
        return f"{file.text[:start]}[]{file.text[end:]}"
    body = texts[0] + "".join(gap + text for gap, text in zip(gaps[1:], texts[1:], strict=True))
    return f"{file.text[:start]}[{opening}{body}{closing}]{file.text[end:]}"


def new_file(cells: Sequence[Cell], metadata: Mapping[str, Any]) -> str:
    """A notebook of nbformat 4.5 as nbformat writes it, with a final newline."""
    raw = {
        "cells": [to_json(cell, lines=True) for cell in cells],
        "metadata": dict(metadata),
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    style = Style(" ", "\n", ",", ": ", ascii=False, lines=True, order=())
    return style.dumps(raw, "") + "\n"


def style_of(file: Ipynb) -> Style:
    """The style of a file, from its first members and cells."""
    text = file.text
    start = text.index("{") + 1
    match = _LINE_START.match(text, start)
    unit = match.group(2) if match else None
    newline = match.group(1) if match else "\n"
    colon = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:\s*)').search(text, start)
    item = re.compile(r"[\]}0-9\"](,\s*)\"").search(text, file.array[1] - 1) or re.compile(r"\"(,\s*)\"").search(
        text, start
    )
    code = next((cell for cell in file.raw if cell["cell_type"] == "code"), file.raw[0] if file.raw else {})
    sources = [cell["source"] for cell in file.raw if cell["source"]]
    return Style(
        unit=unit,
        newline=newline,
        item=item.group(1) if item and "\n" not in item.group(1) else ", ",
        colon=colon.group(1) if colon and "\n" not in colon.group(1) else ": ",
        ascii=escapes_non_ascii(text),
        lines=isinstance(sources[0], list) if sources else True,
        # In nbformat's own order, which is alphabetical, a key that the example lacks has its place too.
        order=() if list(code) == sorted(code) else tuple(code),
    )


def escapes_non_ascii(text: str) -> bool:
    r"""Whether a file writes characters beyond ASCII as `\uXXXX`; where it has none, nbformat's custom: it does not."""
    if not text.isascii():
        return False
    place = text.find("\\u")
    while place >= 0:
        before = text[max(0, place - 64) : place]
        is_escape = (len(before) - len(before.rstrip("\\"))) % 2 == 0
        if is_escape and int(text[place + 2 : place + 6], 16) >= 0x80:
            return True
        place = text.find("\\u", place + 2)
    return False


def _gaps(file: Ipynb, style: Style) -> tuple[str, str, str]:
    """What stands before the first cell, between two cells and behind the last one."""
    start, end = file.array
    if file.spans:
        opening = file.text[start + 1 : file.spans[0][0]]
        closing = file.text[file.spans[-1][1] : end - 1]
        return opening, _gap_before(file, 1) or f",{opening or ('' if style.item == ',' else ' ')}", closing
    if style.unit is None:
        return "", style.item, ""
    opening = style.newline + style.unit * 2
    return opening, f",{opening}", style.newline + style.unit


def _gap_before(file: Ipynb, number: int | None) -> str:
    if number is None or not 0 < number < len(file.spans):
        return ""
    return file.text[file.spans[number - 1][1] : file.spans[number][0]]


def _new_cell(cell: Cell, style: Style, file: Ipynb, between: str) -> str:
    raw = to_json(cell, with_id=file.minor >= 5, lines=style.lines)
    ordered = {key: raw[key] for key in style.order if key in raw} | raw
    match = _LINE_START.search(between)
    return style.dumps(ordered, match.group(2) if match else "")


def _changed_cell(file: Ipynb, number: int, old: Cell, new: Cell, style: Style) -> str:
    start, end = file.spans[number]
    found, _ = members(file.text, start)
    keys = [key for key, *_ in found]
    if len(set(keys)) < len(keys):
        raise NotebookRefused(
            "corrupt", f"cell {old.id} has a JSON name twice, so it was not changed. Repair it first."
        )
    values = _new_values(file.raw[number], old, new, style)
    if all(key in keys for key in values) and None not in (values.get("outputs", 0), values.get("attachments", 0)):
        return _splice(file.text, (start, end), found, values, style)
    raw = {**file.raw[number], **values}
    raw = {key: value for key, value in raw.items() if value is not None or key == "execution_count"}
    if new.type != "code":
        raw.pop("execution_count", None)
    order = [key for key in style.order or sorted(raw) if key in raw]
    ordered = {key: raw[key] for key in ([*keys, *order] if new.type == old.type else order) if key in raw} | raw
    match = _LINE_START.search(_gaps(file, style)[1])
    return style.dumps(ordered, match.group(2) if match else "")


def _splice(
    text: str, span: tuple[int, int], found: list[tuple[str, int, int, Any]], values: Json, style: Style
) -> str:
    """The cell's text with only the values of changed members replaced, at the cell's own indentation."""
    start, end = span
    match = _LINE_START.match(text, start + 1)
    # A cell written on one line in an indented file stays on one line.
    local = style if match or style.unit is None else replace(style, unit=None, item=", ")
    parts: list[str] = []
    place = start
    for key, value_start, value_end, _ in found:
        if key in values:
            parts += [text[place:value_start], local.dumps(values[key], match.group(2) if match else "")]
            place = value_end
    return "".join(parts) + text[place:end]


def _new_values(raw: Json, old: Cell, new: Cell, style: Style) -> Json:
    """The members to write; None stands for a member to leave out (a null execution count is a value)."""
    fresh = to_json(new, with_id=False, lines=style.lines)
    values: Json = {}
    if new.source != old.source:
        values["source"] = new.source.splitlines(keepends=True) if isinstance(raw["source"], list) else new.source
    if new.metadata != old.metadata:
        values["metadata"] = fresh["metadata"]
    if new.attachments != old.attachments:
        values["attachments"] = fresh.get("attachments")
    if new.type != old.type:
        values["cell_type"] = new.type
        values["outputs"] = fresh.get("outputs")
        if "attachments" in raw and new.type == "code":
            values["attachments"] = None
        values["execution_count"] = new.execution_count
        return values
    if new.type == "code":
        if new.outputs != old.outputs:
            split = [split_output(output) if style.lines else dict(output) for output in new.outputs]
            values["outputs"] = split
        if new.execution_count != old.execution_count:
            values["execution_count"] = new.execution_count
    return values
