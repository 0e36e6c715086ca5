"""Cells as nbformat 4 JSON and back, and where cell ids come from. Pure.

The forms follow nbformat 4: a multi-line string may be a string or a list of its lines; both read as one string here.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, cast, overload

from jupyter_agent.notebook.document import Cell, CellType, Output, cell_hash

Json = dict[str, Any]
CELL_TYPES: tuple[CellType, ...] = ("code", "markdown", "raw")

_ID = re.compile(r"[a-zA-Z0-9\-_]{1,64}")
# nbformat writes these as a list of lines although they are not text/*.
_SPLIT_MIMES = ("application/javascript", "image/svg+xml")


def is_valid_id(cell_id: str) -> bool:
    """Whether `cell_id` is one by nbformat 4.5: 1 to 64 letters, digits, `-` or `_`."""
    return _ID.fullmatch(cell_id) is not None


def new_id(taken: Collection[str]) -> str:
    """A fresh random id of 8 hexadecimal digits, as nbformat makes them."""
    while (candidate := uuid.uuid4().hex[:8]) in taken:
        pass
    return candidate


def derived_ids(cells: Iterable[tuple[str, str]], taken: Collection[str] = ()) -> list[str]:
    """Ids for cells (type, source) that have none: the same notebook gets the same ids in every process.

    They hang on the content and on the order among cells of equal content: a cell inserted above shifts nothing.
    """
    seen: dict[str, int] = {}
    used = set(taken)
    ids: list[str] = []
    for cell_type, source in cells:
        content = cell_hash(cell_type, source)
        while True:
            number = seen[content] = seen.get(content, 0) + 1
            candidate = hashlib.sha256(f"{content}#{number}".encode()).hexdigest()[:8]
            if candidate not in used:
                break
        used.add(candidate)
        ids.append(candidate)
    return ids


def carried_ids(known: Sequence[tuple[str, str]], cells: Sequence[tuple[str, str]]) -> list[str]:
    """Ids for cells (type, source) without any, given the (id, hash) pairs of the same notebook seen before.

    A cell whose content was seen keeps its id, also when others moved around it; in a run of changed cells that kept
    its length each cell keeps its place's id; what is left is new. Ids never change hands within one comparison.
    """
    hashes = [cell_hash(*cell) for cell in cells]
    old_hashes = [content for _, content in known]
    ids: list[str | None] = [None] * len(cells)
    left = dict(enumerate(known))
    changed: list[tuple[int, int]] = []
    for tag, a, b, c, d in SequenceMatcher(None, old_hashes, hashes, autojunk=False).get_opcodes():
        if tag == "equal":
            for old, new in zip(range(a, b), range(c, d), strict=True):
                ids[new] = left.pop(old)[0]
        elif tag == "replace" and b - a == d - c:
            changed.extend(zip(range(a, b), range(c, d), strict=True))
    by_content: dict[str, list[int]] = {}
    for old, (_, content) in left.items():
        by_content.setdefault(content, []).append(old)
    for new, content in enumerate(hashes):
        if ids[new] is None and by_content.get(content):
            ids[new] = left.pop(by_content[content].pop(0))[0]
    for old, new in changed:
        if ids[new] is None and old in left:
            ids[new] = left.pop(old)[0]
    missing = [place for place, given in enumerate(ids) if given is None]
    taken = {cell_id for cell_id, _ in known} | {given for given in ids if given is not None}
    for place, fresh in zip(missing, derived_ids((cells[place] for place in missing), taken), strict=True):
        ids[place] = fresh
    return cast("list[str]", ids)


def joined(text: Any) -> str:
    """A multi-line string of nbformat as one string."""
    return text if isinstance(text, str) else "".join(text)


def normal_source(source: str) -> str:
    """`source` with line ends as `\\n` (fault n19)."""
    return source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source


class Outputs(Sequence[Output]):
    """A cell's outputs as in the file, read with multi-line strings joined; joining waits until somebody looks."""

    def __init__(self, raw: Sequence[Json]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: int) -> Output: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Output]: ...
    def __getitem__(self, index: int | slice) -> Output | Sequence[Output]:
        if isinstance(index, slice):
            return [join_output(output) for output in self._raw[index]]
        return join_output(self._raw[index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Outputs) and other._raw is self._raw:
            return True
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Outputs({len(self)})"

    __hash__ = None  # type: ignore[assignment]


def join_output(output: Json) -> Output:
    """An output with its multi-line strings joined; the argument is left alone."""
    joined_output = dict(output)
    if isinstance(output.get("data"), dict):
        joined_output["data"] = _joined_bundle(output["data"])
    if isinstance(output.get("text"), list):
        joined_output["text"] = "".join(output["text"])
    return joined_output


def _joined_bundle(data: Mapping[str, Any]) -> Json:
    return {
        mime: "".join(value)
        if isinstance(value, list) and not _is_json(mime) and all(isinstance(line, str) for line in value)
        else value
        for mime, value in data.items()
    }


def split_output(output: Output) -> Json:
    """An output with its text as lists of lines, as nbformat writes it."""
    split = dict(output)
    if isinstance(output.get("data"), dict):
        split["data"] = _split_bundle(output["data"])
    if output.get("output_type") == "stream" and isinstance(output.get("text"), str):
        split["text"] = output["text"].splitlines(keepends=True)
    return split


def _split_bundle(data: Mapping[str, Any]) -> Json:
    return {
        mime: value.splitlines(keepends=True)
        if isinstance(value, str) and (mime.startswith("text/") or mime in _SPLIT_MIMES)
        else value
        for mime, value in data.items()
    }


def _is_json(mime: str) -> bool:
    return mime == "application/json" or (mime.startswith("application/") and mime.endswith("+json"))


def from_json(raw: Json, cell_id: str, index: int) -> Cell:
    """The cell that nbformat JSON describes; its structure has been checked by the reader."""
    cell_type = cast("CellType", raw["cell_type"])
    code = cell_type == "code"
    attachments = raw.get("attachments") or {}
    return Cell(
        id=cell_id,
        index=index,
        type=cell_type,
        source=normal_source(joined(raw["source"])),
        metadata=raw.get("metadata") or {},
        outputs=Outputs(raw["outputs"]) if code and raw.get("outputs") else (),
        execution_count=raw.get("execution_count") if code else None,
        attachments={name: _joined_bundle(bundle) for name, bundle in attachments.items()} if attachments else {},
    )


def to_json(cell: Cell, *, with_id: bool = True, lines: bool = False) -> Json:
    """The cell as nbformat JSON, keys in nbformat's order; `lines`: multi-line strings as lists of lines."""
    raw: Json = {"cell_type": cell.type}
    if cell.attachments and cell.type != "code":
        raw["attachments"] = {
            name: _split_bundle(bundle) if lines else dict(bundle) for name, bundle in cell.attachments.items()
        }
    if cell.type == "code":
        raw["execution_count"] = cell.execution_count
    if with_id:
        raw["id"] = cell.id
    raw["metadata"] = dict(cell.metadata)
    if cell.type == "code":
        raw["outputs"] = [split_output(output) if lines else dict(output) for output in cell.outputs]
    raw["source"] = cell.source.splitlines(keepends=True) if lines else cell.source
    return raw


def renumbered(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells with `index` set to their place."""
    return tuple(cell if cell.index == index else replace(cell, index=index) for index, cell in enumerate(cells))


def with_outputs(
    cells: Sequence[Cell],
    cell_id: str,
    outputs: Sequence[Output],
    execution_count: int | None,
    timing: Mapping[str, str] | None,
) -> tuple[Cell, ...]:
    """The cells with one code cell's outputs, count and timing replaced; unchanged where there is no such code cell."""
    return tuple(
        replace(
            cell,
            outputs=tuple(outputs),
            execution_count=execution_count,
            metadata=cell.metadata if timing is None else {**cell.metadata, "execution": dict(timing)},
        )
        if cell.id == cell_id and cell.type == "code"
        else cell
        for cell in cells
    )


def same_content(one: Cell, other: Cell) -> bool:
    """Whether two states of a cell differ in nothing but their index."""
    return one == replace(other, index=one.index)


def moved_ids(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The fewest ids whose relative place changed between two orders of the same ids."""
    place = {cell_id: number for number, cell_id in enumerate(before)}
    order = [place[cell_id] for cell_id in after]
    # A longest increasing subsequence (patience piles with back links) is the most that can be said to have stayed.
    piles: list[int] = []
    tops: list[int] = []
    previous: list[int] = []
    for number, value in enumerate(order):
        pile = bisect_left(tops, value)
        previous.append(piles[pile - 1] if pile else -1)
        piles[pile : pile + 1] = [number]
        tops[pile : pile + 1] = [value]
    stayed: set[int] = set()
    current = piles[-1] if piles else -1
    while current >= 0:
        stayed.add(current)
        current = previous[current]
    return [cell_id for number, cell_id in enumerate(after) if number not in stayed]
