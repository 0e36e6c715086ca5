"""Cells for the model and for screens: headers, the outline, whole cells, the records of `details.cells`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.outputs import Detail, Keep, brief_outputs, count_to_id, gist, output_blocks, summary_lines

Json = dict[str, Any]
CellStatus = Literal["ok", "error", "not_run"]

OUTLINE_LINE = 100
"""Characters of source shown for a cell in the outline."""


def status_of(cell: Cell) -> CellStatus | None:
    """How a code cell's stored outputs say it ended; None for other cells."""
    if cell.type != "code":
        return None
    if any(output.get("output_type") == "error" for output in cell.outputs):
        return "error"
    return "ok" if cell.execution_count is not None else "not_run"


def header(cell: Cell, stale: Collection[str] = (), *, status: str | None = None) -> str:
    """`#INDEX id=ID hash=HASH TYPE In[N] STATUS stale tags=…`: the line that stands above every cell shown."""
    parts = [f"#{cell.index} id={cell.id} hash={cell.hash} {cell.type}"]
    if cell.type == "code":
        parts.append(f"In[{cell.execution_count if cell.execution_count is not None else ' '}]")
        parts.append((status or status_of(cell) or "").replace("_", " "))
    if cell.id in stale:
        parts.append("stale")
    if cell.tags:
        parts.append(f"tags={','.join(cell.tags)}")
    return " ".join(parts)


def outline_entry(cell: Cell, stale: Collection[str] = ()) -> str:
    """A cell in the outline: its header, the start of its source, what its outputs are."""
    lines = cell.source.strip("\n").split("\n")
    # The first line that says something: not a bare comment rule, not a blank.
    first = next((line.strip() for line in lines if line.strip(" #-=\t")), "")
    text = first if len(first) <= OUTLINE_LINE else first[: OUTLINE_LINE - 1] + "…"
    more = f" (+{len(lines) - 1:,} lines)" if len(lines) > 1 else ""
    outputs = f" -> {gist(cell.outputs)}" if cell.outputs else ""
    return f"{header(cell, stale)}\n  {text or '(empty)'}{more}{outputs}"


def numbered(source: str, start: int | None = None, limit: int | None = None) -> tuple[str, int]:
    """Lines of a source with their numbers, and how many lines are left after them. `start` counts from 1."""
    lines = source.split("\n")
    first = max((start or 1) - 1, 0)
    last = len(lines) if limit is None else min(first + limit, len(lines))
    width = len(str(last))
    return "\n".join(f"{number + 1:>{width}} {lines[number]}" for number in range(first, last)), len(lines) - last


def cell_blocks(
    cell: Cell,
    *,
    outputs: Detail = "summary",
    stale: Collection[str] = (),
    counts: Mapping[int, str] | None = None,
    start: int | None = None,
    limit: int | None = None,
    room: int | None = None,
    more: str = "",
    keep: Keep | None = None,
) -> list[Json]:
    """A whole cell as content blocks: header, source (numbered when lines `start`, `limit` were asked for), outputs.

    `room`: bytes for the text of all outputs; `more` says how to see what was cut, `keep` stores it whole.
    """
    if start is None and limit is None:
        source = cell.source
    else:
        source, left = numbered(cell.source, start, limit)
        source += f"\n[… {left:,} more lines …]" if left else ""
    text = f"{header(cell, stale)}\n{source}"
    if not cell.outputs or outputs == "none":
        note = f"\n[{len(cell.outputs)} outputs: {gist(cell.outputs)}]" if cell.outputs else ""
        return [{"type": "text", "text": text + note}]
    if outputs == "summary":
        return [{"type": "text", "text": "\n".join([text, "outputs:", *summary_lines(cell.outputs, counts)])}]
    blocks = output_blocks(cell.outputs, counts, limit=room, more=more, keep=keep)
    return join_blocks([{"type": "text", "text": f"{text}\noutputs:"}, *blocks])


def join_blocks(blocks: Sequence[Json]) -> list[Json]:
    """Neighbouring text blocks as one, a line break between them."""
    joined: list[Json] = []
    for block in blocks:
        if block["type"] == "text" and joined and joined[-1]["type"] == "text":
            joined[-1] = {"type": "text", "text": f"{joined[-1]['text']}\n{block['text']}"}
        else:
            joined.append(block)
    return joined


def record(
    cell: Cell,
    stale: Collection[str] = (),
    *,
    status: str | None = None,
    source: bool = False,
    outputs: bool = False,
) -> Json:
    """A cell in `details.cells` (DESIGN section 4)."""
    made: Json = {
        "id": cell.id,
        "hash": cell.hash,
        "index": cell.index,
        "type": cell.type,
        "execution_count": cell.execution_count,
        "status": status or status_of(cell),
        "stale": cell.id in stale,
    }
    if source:
        made["source"] = cell.source
    if outputs:
        made["outputs"] = brief_outputs(cell.outputs)
    return made


__all__ = [
    "cell_blocks",
    "count_to_id",
    "header",
    "join_blocks",
    "numbered",
    "outline_entry",
    "record",
    "status_of",
]
