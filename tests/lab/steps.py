"""What tests of open notebooks have in common: three cells, and the calls that a scripted model makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.harness import write_notebook

if TYPE_CHECKING:
    from lab.lab import Lab

READ = {"name": "read_cells", "arguments": {}}
CELLS = [
    ("intro", "markdown", "# Title"),
    ("first", "code", "x = 1\n# here"),
    ("second", "code", "print('value', x)"),
]


def edit(cell: str, search: str, replace: str) -> dict[str, Any]:
    operation = {"op": "edit", "cell": cell, "blocks": [{"search": search, "replace": replace}]}
    return {"name": "edit_cells", "arguments": {"ops": [operation]}}


def run(*cells: str) -> dict[str, Any]:
    return {"name": "run_cells", "arguments": {"cells": list(cells)}}


def begin(lab: Lab, name: str, mode: str = "Accept edits", cells: Sequence[tuple[str, str, str]] = CELLS) -> None:
    """Open a fresh notebook, and the panel in a mode in which nothing is asked."""
    write_notebook(lab.server.root / name, cells)
    lab.open(name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label=mode)


def journal(lab: Lab) -> list[dict[str, Any]]:
    """The events of the conversation that was written to last, from its journal."""
    journals = (lab.server.data / "jupyter_agent" / "conversations").glob("*/journal.jsonl")
    newest = max(journals, key=lambda path: path.stat().st_mtime)
    # What follows the last line break is being written.
    return [json.loads(line) for line in newest.read_text().split("\n")[:-1]]
