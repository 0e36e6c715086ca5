"""Small notebooks for tests: cells, files of any nbformat 4 version and style, the way a suite reaches a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from jupyter_agent.notebook.cells import to_json
from jupyter_agent.notebook.document import Cell, Notebook, Output, Target


class Backend(Protocol):
    """How the suite reaches one kind of document."""

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        """A new document that holds `cells`, opened. The suite closes the notebook."""
        ...

    async def stored(self) -> Sequence[Cell]:
        """The document's cells now, not read through the notebook under test."""
        ...

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        """Somebody else (the user, another program) replaces the document's cells."""
        ...


def sample() -> list[Cell]:
    """Four cells: markdown, code with outputs, code, raw."""
    outputs: list[Output] = [
        {"output_type": "stream", "name": "stdout", "text": "1\n2\n"},
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo="},
        },
    ]
    return [
        Cell("intro", 0, "markdown", "# Title\n\nSome text.", {"tags": ["keep"]}),
        Cell("first", 1, "code", "x = 1\nprint(x)\nprint(x + 1)", {"collapsed": False}, outputs, 7),
        Cell("second", 2, "code", "y = x + 1", {}, (), None),
        Cell("tail", 3, "raw", "raw text", {}),
    ]


def target(cells: Sequence[Cell], cell_id: str) -> Target:
    return Target(cell_id, next(cell.hash for cell in cells if cell.id == cell_id))


def ids(cells: Sequence[Cell]) -> list[str]:
    return [cell.id for cell in cells]


def write_notebook(
    path: Path,
    cells: Sequence[Cell],
    *,
    minor: int = 5,
    indent: int | str | None = 1,
    lines: bool = True,
    ascii: bool = False,
    end: str = "\n",
    newline: str = "\n",
    metadata: dict[str, Any] | None = None,
) -> Path:
    """Write a notebook file of nbformat 4.`minor` in the given JSON style, with no help from the code under test's
    writer."""
    default = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {
        "cells": [to_json(cell, with_id=minor >= 5, lines=lines) for cell in cells],
        "metadata": default if metadata is None else metadata,
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    text = json.dumps(notebook, indent=indent, ensure_ascii=ascii, sort_keys=True) + end
    path.write_bytes(text.replace("\n", newline).encode())
    return path


def code(cell_id: str, source: str, outputs: Sequence[Output] = (), count: int | None = None) -> Cell:
    """A code cell."""
    return Cell(cell_id, 0, "code", source, {}, outputs, count)
