"""Small notebooks to verify, reports in short, and the fixture that nothing is left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from jupyter_agent.kernel.launch import started_pids
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.refactor.verify import VerifyReport

PYTHON: dict[str, Any] = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}


def code(id: str, source: str, printed: str | None = None, *tags: str) -> Cell:
    """A cell that ran and printed something (`""`: nothing), or never ran (None)."""
    outputs: list[Output] = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    return Cell(id, 0, "code", source, {"tags": list(tags)}, outputs, None if printed is None else 1)


def notebook(*cells: Cell) -> list[Cell]:
    return [replace(cell, index=index) for index, cell in enumerate(cells)]


def verdicts(report: VerifyReport) -> dict[str, str]:
    return {cell: item.verdict for item in report.verdicts for cell in item.cells}


def reasons(report: VerifyReport) -> dict[str, str]:
    return {cell: item.reason for item in report.verdicts for cell in item.cells}


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterable[None]:
    own = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    yield
    assert started_pids() == []
    assert [name for name in os.listdir(own) if name.startswith("jupyter-agent-")] == []


def raising(id: str, source: str, name: str, message: str) -> Cell:
    error = {"output_type": "error", "ename": name, "evalue": message, "traceback": ["…"]}
    return replace(code(id, source, ""), outputs=[error])
