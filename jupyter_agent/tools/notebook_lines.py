"""Notebooks as lines of text for searching, each line with its place `path#cell-id:line`. Reads files, no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from jupyter_agent.errors import NotebookRefused, WorkspaceRefused
from jupyter_agent.notebook.cells import derived_ids as ids_of
from jupyter_agent.notebook.cells import from_json, joined, normal_source
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.ipynb import parse
from jupyter_agent.notebook.outputs import output_blocks
from jupyter_agent.workspace import Workspace

LARGEST: Final = 200 << 20
TOTAL: Final = 256 << 20
"""Bytes of notebook files read for one search."""


@dataclass
class NotebookLines:
    """`text` holds the lines; line n (from 0) of it is at `places[n]`. `unread` names files that were left out."""

    lines: list[str] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def text(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode("utf-8", "replace")

    def add(self, place: str, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            self.lines.append(line)
            self.places.append((place, number))


def read_cells_of(workspace: Workspace, path: str) -> list[Cell]:
    """The cells of a notebook file. Raises NotebookRefused or WorkspaceRefused."""
    content = workspace.read(path, LARGEST)
    parsed = parse(content.data, path, check_ids=False)
    raw = parsed.raw
    missing = ids_of((str(cell["cell_type"]), normal_source(joined(cell.get("source", "")))) for cell in raw)
    ids = [cell["id"] if parsed.minor >= 5 and "id" in cell else missing[n] for n, cell in enumerate(raw)]
    return [from_json(cell, ids[index], index) for index, cell in enumerate(raw)]


def notebook_lines(workspace: Workspace, paths: Sequence[str], *, outputs: bool) -> NotebookLines:
    """The sources (and, if asked for, the outputs' text) of notebooks; unreadable ones are left out by name."""
    found = NotebookLines()
    total = 0
    for path in paths:
        try:
            size = (workspace.root / path).stat().st_size
            if total + size > TOTAL:
                found.unread.append(path)
                continue
            total += size
            cells = read_cells_of(workspace, path)
        except (NotebookRefused, WorkspaceRefused, OSError):
            found.unread.append(path)
            continue
        for cell in cells:
            found.add(f"{path}#{cell.id}", cell.source)
            if outputs and cell.outputs:
                texts = [block["text"] for block in output_blocks(list(cell.outputs)) if block["type"] == "text"]
                found.add(f"{path}#{cell.id}/outputs", "\n".join(texts))
    return found
