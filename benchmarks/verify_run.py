"""Verification's fresh run on a copy against nbclient executing the same notebook: at most 1.2 times."""

from __future__ import annotations

import copy
from pathlib import Path

from _harness import Result, paired

from jupyter_agent.notebook.cells import from_json
from jupyter_agent.refactor.verify_run import run_fresh

NOTEBOOK = Path(__file__).parents[1] / "example_notebooks" / "01_olympic_sprint.ipynb"


def measure() -> list[Result]:
    import nbformat
    from nbclient import NotebookClient

    stored = nbformat.read(NOTEBOOK, as_version=4)
    cells = [from_json(cell, cell.id, index) for index, cell in enumerate(stored.cells)]
    metadata = dict(stored.metadata)

    async def ours() -> object:
        run = await run_fresh(cells, metadata, path=NOTEBOOK)
        assert run.ok
        return run

    async def baseline() -> object:
        client = NotebookClient(copy.deepcopy(stored), resources={"metadata": {"path": str(NOTEBOOK.parent)}})
        return await client.async_execute()

    return [paired("verify: one run", "nbclient", ours, baseline, limit=1.2, rounds=7)]
