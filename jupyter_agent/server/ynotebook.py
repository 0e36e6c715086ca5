"""A live YNotebook as cells, and cells into it: the least change that makes them so, for one transaction of the caller.

Called on the server's loop, since a Y document belongs to its thread. Nothing in here waits.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import from_json, join_output, joined, same_content, to_json
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.notebook.ipynb import check_unique_ids
from jupyter_agent.server.order import moved
from jupyter_agent.server.splices import splices

Json = dict[str, Any]
TRUSTED = "trusted"
"""A flag that lives in documents in memory only: the cell's outputs may be drawn as they are. No file holds it."""


def read_cells(document: Any, name: str) -> tuple[Cell, ...]:
    """All cells. Raises NotebookRefused("duplicate_ids"), also for a notebook that a bad merge doubled (fault f16)."""
    raw = _json(document.ycells)
    check_unique_ids(raw, name)
    return tuple(_cell(cell, index) for index, cell in enumerate(raw))


def read_ids(document: Any) -> list[str]:
    """The cells' ids, in order."""
    return [str(cell.get("id", "")) for cell in _json(document.ycells)]


def read_metadata(document: Any) -> tuple[Mapping[str, Any], int]:
    """The notebook's metadata and its minor format version."""
    meta = _json(document.ydoc["meta"])
    return meta.get("metadata") or {}, int(meta.get("nbformat_minor", 5))


def risky_ids(before: Sequence[Cell], after: Sequence[Cell], busy: Collection[str]) -> set[str]:
    """Cells that `write_cells` takes out (for good, or to put them back elsewhere or as another type)."""
    types = {cell.id: cell.type for cell in after}
    gone = {cell.id for cell in before if types.get(cell.id) != cell.type}
    return gone | _moved(before, after, busy)


def check_storable(cells: Sequence[Cell]) -> None:
    """Raises NotebookRefused("op") for text that a shared document cannot hold; outputs are made to fit instead."""
    for cell in cells:
        if _fitting(cell.source) != cell.source:
            raise NotebookRefused(
                "op",
                f"Cell {cell.id} would hold half of a surrogate pair, which a shared document cannot. Leave it out.",
            )


def bare_cells(content: Json) -> list[Json]:
    """The cells of a notebook's JSON, without what the contents manager adds when it reads them."""
    cells: list[Json] = []
    for cell in content["cells"]:
        metadata = {key: value for key, value in cell["metadata"].items() if key != TRUSTED}
        outputs = [join_output(output) for output in cell.get("outputs") or ()]
        cells.append({**cell, "metadata": metadata, "outputs": outputs, "source": joined(cell["source"])})
    return cells


def write_cells(document: Any, before: Sequence[Cell], after: Sequence[Cell], busy: Collection[str]) -> None:
    """Make the document, which holds `before`, hold `after`.

    A shared array cannot move anything: a moved cell is taken out and put back as a copy, and what a person types into
    it at that instant would be lost. So the fewest are moved, and of those in `busy` none that can stay.
    """
    old, new = {cell.id: cell for cell in before}, {cell.id: cell for cell in after}
    ycells = document.ycells
    out = risky_ids(before, after, busy)
    copies: dict[str, Json] = {}
    for index in range(len(before) - 1, -1, -1):
        cell_id = before[index].id
        if cell_id in out:
            copies[cell_id] = _json(ycells[index])
            del ycells[index]
    for index, cell in enumerate(after):
        was = old.get(cell.id)
        if was is not None and cell.id not in out:
            if not same_content(was, cell):
                _change(ycells[index], was, cell, document)
            continue
        raw = to_json(cell)
        if was is not None and was.type == cell.type:
            raw = _changed(copies[cell.id], was, new[cell.id])
        ycells.insert(index, document.create_ycell(_storable(raw)))


def write_outputs(
    document: Any,
    ycell: Any,
    outputs: Sequence[Output],
    execution_count: int | None,
    timing: Mapping[str, str] | None,
) -> None:
    """Outputs of code that ran with the person's leave, so they are as trusted as those of a run by hand."""
    _set_outputs(ycell, outputs, document)
    _set(ycell, "execution_count", execution_count)
    _set(ycell["metadata"], TRUSTED, True)
    if timing is not None:
        _set(ycell["metadata"], "execution", dict(timing))


# ------------------------------------------------------------------------------------------------------- one cell


def _cell(raw: Json, index: int) -> Cell:
    metadata = {key: value for key, value in (raw.get("metadata") or {}).items() if key != TRUSTED}
    return from_json({**raw, "metadata": metadata}, str(raw.get("id", "")), index)


def _change(ycell: Any, was: Cell, now: Cell, document: Any) -> None:
    if was.source != now.source:
        write_text(ycell["source"], now.source)
    for key in dict.fromkeys([*was.metadata, *now.metadata]):
        if key not in now.metadata:
            ycell["metadata"].pop(key, None)
        elif was.metadata.get(key) != now.metadata[key]:
            _set(ycell["metadata"], key, now.metadata[key])
    if was.attachments != now.attachments:
        _set(ycell, "attachments", {name: dict(bundle) for name, bundle in now.attachments.items()})
    if list(was.outputs) != list(now.outputs):
        _set_outputs(ycell, now.outputs, document)
        # They were not made by code that ran just now (undo brings old ones back): nobody vouches for them.
        if now.outputs:
            ycell["metadata"].pop(TRUSTED, None)
    if was.execution_count != now.execution_count:
        _set(ycell, "execution_count", now.execution_count)


def _changed(raw: Json, was: Cell, now: Cell) -> Json:
    """The same for a cell that is put back as a copy: what we do not know of it stays."""
    made = {**raw, **{key: value for key, value in to_json(now).items() if key != "metadata"}}
    kept = {key: value for key, value in (raw.get("metadata") or {}).items() if key not in was.metadata}
    if list(was.outputs) != list(now.outputs) and now.outputs:
        kept.pop(TRUSTED, None)
    made.pop("execution_state", None)
    return {**made, "metadata": {**kept, **now.metadata}}


def write_text(ytext: Any, text: str) -> None:
    """By the smallest splices."""
    for splice in splices(str(ytext), text):
        if splice.start < splice.end:
            del ytext[splice.start : splice.end]
        if splice.text:
            ytext.insert(splice.start, splice.text)


def _set_outputs(ycell: Any, outputs: Sequence[Output], document: Any) -> None:
    """Adds what is new. JupyterLab appends whatever is inserted, wherever that is, so only the end ever changes."""
    wanted = [join_output(output) for output in outputs]
    present = ycell.get("outputs")
    if not hasattr(present, "to_py"):
        made = document.create_ycell({"cell_type": "code", "source": "", "outputs": _storable(wanted)})
        ycell["outputs"] = made.prelim["outputs"]
        return
    shown = [join_output(output) for output in _json(present)]
    same = 0
    while same < min(len(shown), len(wanted)) and shown[same] == wanted[same]:
        same += 1
    if same == len(shown) - 1 and same < len(wanted) and _grows(shown[same], wanted[same]):
        text = present[same]["text"]
        if hasattr(text, "insert") and not isinstance(text.to_py(), list):
            addition = wanted[same]["text"][len(shown[same]["text"]) :]
            text.insert(len(text), _fitting(addition))
            same += 1
    if same < len(present):
        del present[same:]
    if same < len(wanted):
        made = document.create_ycell({"cell_type": "code", "source": "", "outputs": _storable(wanted[same:])})
        present.extend(made.prelim["outputs"].prelim)


def _grows(shown: Output, wanted: Output) -> bool:
    """Whether one stream output only got longer."""
    if {**shown, "text": ""} != {**wanted, "text": ""} or shown.get("output_type") != "stream":
        return False
    return joined(wanted.get("text", "")).startswith(joined(shown.get("text", "")))


def _set(ymap: Any, key: str, value: Any) -> None:
    if key not in ymap or ymap[key] != value:
        ymap[key] = _storable(value)


def _moved(before: Sequence[Cell], after: Sequence[Cell], busy: Collection[str]) -> set[str]:
    ids, wanted = {cell.id for cell in before}, {cell.id for cell in after}
    kept = [cell.id for cell in before if cell.id in wanted]
    return set(moved(kept, [cell.id for cell in after if cell.id in ids], busy))


# ------------------------------------------------------------------------------------------------------- values


def _json(shared: Any) -> Any:
    """A shared array or map as Python has it. By way of JSON, which takes a twentieth of the time of `to_py`."""
    return json.loads(str(shared))


def _storable(value: Any) -> Any:
    """What a shared document can hold."""
    if isinstance(value, Mapping):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return _fitting(value) if isinstance(value, str) else value


def _fitting(text: str) -> str:
    """`text` with a replacement character for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
