"""An .ipynb file's text, read in one strict pass and rewritten so that only what changed differs. Pure.

Cells that did not change keep their bytes; in a changed cell only the changed members are written anew, in the file's
own style (indentation, line ends, key order, ASCII escapes, `source` as string or list).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import CELL_TYPES, Json, joined

_SPACE = re.compile(r"[ \t\n\r]*")
# In C: a value costs what json.loads costs.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(strict=True).scan_once  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Ipynb:
    """A parsed notebook file. `spans` are the (start, end) of each cell in `text`, `array` that of the cells' list."""

    text: str
    bom: bool
    minor: int
    metadata: Mapping[str, Any]
    raw: Sequence[Json]
    spans: Sequence[tuple[int, int]]
    array: tuple[int, int]

    def encoded(self, text: str) -> bytes:
        """`text` as this file's bytes."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode("utf-8")


def parse(data: bytes, name: str, *, check_ids: bool = True) -> Ipynb:
    """Read a notebook of nbformat 4.

    NaN and infinities, which Python's json writes, are accepted; everything else must be strict JSON in UTF-8. Raises
    NotebookRefused: `corrupt`, `version`, `duplicate_ids`. Ids may be missing (below 4.5 they always are).
    """
    bom = data.startswith(codecs.BOM_UTF8)
    if not data or (data[0] in b"\0 \t\r\n" and not data.strip(b"\0 \t\r\n")):
        _corrupt(name, "it holds nothing but NUL bytes" if b"\0" in data else "it is empty")
    try:
        text = data.decode("utf-8-sig" if bom else "utf-8")
    except UnicodeDecodeError as error:
        _corrupt(name, f"it is not UTF-8 (byte {error.start})")
    top, spans, array = _scan_top(text, name)
    _check_version(top, name)
    cells = top.get("cells")
    if not isinstance(cells, list):
        _corrupt(name, "it has no list of cells")
    if not isinstance(top.get("metadata", {}), dict):
        _corrupt(name, "its metadata is not an object")
    for number, cell in enumerate(cells, 1):
        problem = _problem_of_cell(cell)
        if problem:
            _corrupt(name, f"cell {number} {problem}")
    minor = top.get("nbformat_minor", 0)
    if minor >= 5 and check_ids:
        check_unique_ids(cells, name)
    return Ipynb(text, bom, minor, top.get("metadata", {}), cells, spans, array)


def members(text: str, start: int) -> tuple[list[tuple[str, int, int, Any]], int]:
    """(key, start of value, end of value, value) of the JSON object at `start`, and the position behind it.

    Raises ValueError (json.JSONDecodeError) where it is not strict JSON.
    """
    found: list[tuple[str, int, int, Any]] = []
    place = _skip(text, start + 1)
    if text[place : place + 1] == "}":
        return found, place + 1
    while True:
        if text[place : place + 1] != '"':
            raise json.JSONDecodeError("Expecting a name in quotes", text, place)
        key, place = _value(text, place)
        place = _expect(text, place, ":")
        value_start = _skip(text, place)
        value, place = _array_of_cells(text, value_start) if key == "cells" else _value(text, value_start)
        found.append((key, value_start, place, value))
        place = _skip(text, place)
        if text[place : place + 1] == "}":
            return found, place + 1
        place = _skip(text, _expect(text, place, ","))


class _Cells(list[Any]):
    """The cells' list with where each one is."""

    spans: list[tuple[int, int]]


def _array_of_cells(text: str, start: int) -> tuple[Any, int]:
    if text[start : start + 1] != "[":
        return _value(text, start)
    cells = _Cells()
    cells.spans = []
    place = _skip(text, start + 1)
    if text[place : place + 1] == "]":
        return cells, place + 1
    while True:
        value, end = _value(text, place)
        cells.append(value)
        cells.spans.append((place, end))
        place = _skip(text, end)
        if text[place : place + 1] == "]":
            return cells, place + 1
        place = _skip(text, _expect(text, place, ","))


def _scan_top(text: str, name: str) -> tuple[Json, list[tuple[int, int]], tuple[int, int]]:
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        _corrupt(name, "it does not start with a JSON object")
    try:
        found, end = members(text, start)
        if _skip(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
    except json.JSONDecodeError as error:
        _corrupt(name, f"{error.msg.rstrip()} at line {error.lineno}, column {error.colno}")
    except (ValueError, RecursionError) as error:
        _corrupt(name, str(error) or "its JSON is nested too deeply")
    top: Json = {}
    array = (0, 0)
    for key, value_start, value_end, value in found:
        if key in top:
            _corrupt(name, f"it has {key!r} twice")
        top[key] = value
        if key == "cells":
            array = (value_start, value_end)
    cells = top.get("cells")
    return top, cells.spans if isinstance(cells, _Cells) else [], array


def _check_version(top: Json, name: str) -> None:
    major, minor = top.get("nbformat"), top.get("nbformat_minor", 0)
    for number in (major, minor):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            _corrupt(name, "it has no valid nbformat number")
    if major != 4:
        advice = (
            "Convert a copy with `jupyter nbconvert --to notebook` and work on that."
            if isinstance(major, int) and major < 4
            else "A newer version of this program may read it."
        )
        raise NotebookRefused("version", f"{name} is of nbformat {major}; only nbformat 4 can be edited. {advice}")


def _problem_of_cell(cell: Any) -> str:
    if not isinstance(cell, dict):
        return "is not an object"
    if cell.get("cell_type") not in CELL_TYPES:
        return f"has the unknown type {cell.get('cell_type')!r}"
    if not _is_text(cell.get("source")):
        return "has no source text"
    if not isinstance(cell.get("metadata", {}), dict):
        return "has metadata that is not an object"
    if not isinstance(cell.get("id", ""), str):
        return "has an id that is not a string"
    if cell["cell_type"] == "code":
        count = cell.get("execution_count")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
            return "has an execution count that is not a number"
        return _problem_of_outputs(cell.get("outputs", []))
    attachments = cell.get("attachments", {})
    if not isinstance(attachments, dict) or not all(isinstance(bundle, dict) for bundle in attachments.values()):
        return "has attachments that are not objects"
    return ""


def _problem_of_outputs(outputs: Any) -> str:
    if not isinstance(outputs, list):
        return "has outputs that are not a list"
    for output in outputs:
        if not isinstance(output, dict) or not isinstance(output.get("output_type"), str):
            return "has an output without a type"
        if output["output_type"] == "stream" and not _is_text(output.get("text")):
            return "has a stream output without text"
        if not isinstance(output.get("data", {}), dict):
            return "has an output whose data is not an object"
    return ""


def _is_text(value: Any) -> bool:
    # By types, in C: outputs may have millions of lines.
    return isinstance(value, str) or (isinstance(value, list) and set(map(type, value)) <= {str})


def check_unique_ids(cells: Sequence[Json], name: str) -> None:
    """Raises NotebookRefused("duplicate_ids") where several cells (nbformat JSON) have one id."""
    ids = [cell.get("id") for cell in cells]
    counts: dict[str, int] = {}
    for cell_id in ids:
        if cell_id is not None:
            counts[cell_id] = counts.get(cell_id, 0) + 1
    twice = [cell_id for cell_id, count in counts.items() if count > 1]
    if not twice:
        return
    half = len(ids) // 2
    contents = [(cell.get("id"), cell.get("cell_type"), joined(cell.get("source"))) for cell in cells]
    if len(ids) % 2 == 0 and contents[:half] == contents[half:]:
        all_cells = f"all {half} cells are" if half > 1 else "its only cell is"
        what = f"{all_cells} in it twice, as after a failed synchronisation. Delete one half in Jupyter, then"
    else:
        shown = ", ".join(twice[:10]) + (", …" if len(twice) > 10 else "")
        what = f"several cells have the same id ({shown}). Repair them by the tool repair_notebook or in Jupyter, then"
    raise NotebookRefused("duplicate_ids", f"{name} was not touched: {what} try again.")


def _corrupt(name: str, reason: str) -> NoReturn:
    raise NotebookRefused(
        "corrupt",
        f"{name} is not a readable notebook: {reason}. It was not touched; restore it from a checkpoint or a backup.",
    )


def _value(text: str, place: int) -> tuple[Any, int]:
    try:
        value, end = _scan(text, place)
    except StopIteration as stop:
        raise json.JSONDecodeError("Expecting a value", text, int(stop.value)) from None
    return value, end


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _expect(text: str, place: int, sign: str) -> int:
    place = _skip(text, place)
    if text[place : place + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign!r}", text, place)
    return place + 1
