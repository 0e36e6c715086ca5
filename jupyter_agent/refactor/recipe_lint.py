"""fix-lint: ruff's safe fixes of errors and unused code. Runs ruff on text it passes in, touches no file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.refactor.common import Params
from jupyter_agent.refactor.plan import Context, Plan, make_plan, refused

RULES = "E4,E7,E9,F,W6"
"""pycodestyle's and pyflakes' rules, without those about layout. ruff's own default set changes between versions."""
TIMEOUT = 60.0


def fix_lint(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Apply ruff's safe fixes to the code cells. Names that a cell which cannot be followed may use are left alone.

    A cell with a syntax error stays as it is.
    """
    if context.language != "python":
        raise refused(f"fix-lint uses ruff, which reads Python only, and this notebook is in {context.language}.")
    graph = analyse(cells)
    broken = [flow.id for flow in graph.cells if flow.source.error is not None]
    if len(broken) == len(graph.cells) and broken:
        raise refused(f"cell {broken[0]} has a syntax error, and there is no other code. Repair it first.")
    unknown = next((f for f in graph.cells if f.id in broken or any(each.reads for each in f.unknown)), None)
    ignored = ["F401", "F811", "F841"] if unknown is not None else []
    # One syntax error would keep ruff from looking at anything else.
    fixed = _ruff([cell for cell in cells if cell.id not in broken], ignored)
    notes = [f"names that look unused stay: cell {unknown.id} may use any name"] if unknown is not None else []
    notes += [f"cell {cell} has a syntax error and stays as it is" for cell in broken]
    after = [
        replace(cell, source=fixed[cell.id]) if cell.id in fixed and not _emptied(cell, fixed[cell.id]) else cell
        for cell in cells
    ]
    count = sum(old.source != new.source for old, new in zip(cells, after, strict=True))
    said = f"ruff changes {count} cells" if count else "ruff has nothing to fix"
    return make_plan(cells, after, notes=[said, *notes])


def _emptied(cell: Cell, source: str) -> bool:
    return bool(cell.source.strip()) and not source.strip()


def _ruff(cells: Sequence[Cell], ignored: Sequence[str]) -> dict[str, str]:
    """Id → source after ruff's safe fixes. The notebook goes through standard input as JSON."""
    code = [cell for cell in cells if cell.type == "code"]
    notebook: dict[str, Any] = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"c{number}",
                "metadata": {},
                "outputs": [],
                "source": cell.source,
            }
            for number, cell in enumerate(code)
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    command = [find_ruff(), "check", "--isolated", "--no-cache", "--fix", "--exit-zero", "--quiet", "--select", RULES]
    command += ["--ignore", ",".join(ignored)] if ignored else []
    command += ["--stdin-filename", "notebook.ipynb", "-"]
    try:
        done = subprocess.run(
            command, input=json.dumps(notebook).encode(), capture_output=True, timeout=TIMEOUT, check=False
        )
        result = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise refused(
            f"ruff could not be run ({type(error).__name__}). Reinstall it with `pip install ruff`."
        ) from None
    fixed: dict[str, str] = {}
    for cell, new in zip(code, result["cells"], strict=True):
        source = new["source"] if isinstance(new["source"], str) else "".join(new["source"])
        fixed[cell.id] = source
    return fixed


def find_ruff() -> str:
    """ruff of this environment, else the one on PATH. Raises NotebookRefused("recipe")."""
    beside = Path(sysconfig.get_path("scripts")) / (
        "ruff.exe" if sysconfig.get_platform().startswith("win") else "ruff"
    )
    if beside.is_file():
        return str(beside)
    found = shutil.which("ruff")
    if found is None:
        raise refused("ruff is not installed. Install it with `pip install ruff`.")
    return found
