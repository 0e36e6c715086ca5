"""n23: a move drops outputs and metadata. No recipe drops any of a cell it leaves, moves or edits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from refactor.awkward import AWKWARD, CASES, PYTHON, written
from refactor.recipe_helpers import notebook, stream

from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.plan import Context
from jupyter_agent.refactor.registry import plan
from jupyter_agent.testing.effects import grant

WITHOUT_OUTPUTS = ("imports", "numbers", "decorated", "classes", "unused", "comments", "timed")


def ran() -> list[Cell]:
    """The awkward notebook with an output, a count and a mark of its own in every cell, one cell out of place."""
    cells = [
        replace(
            cell,
            outputs=(stream(f"{cell.id}\n"),) if cell.id not in WITHOUT_OUTPUTS else (),
            execution_count=number,
            metadata={**cell.metadata, "mark": cell.id},
        )
        if cell.type == "code"
        else replace(cell, metadata={"mark": cell.id})
        for number, cell in enumerate(AWKWARD, 1)
    ]
    return notebook(*cells)


@pytest.mark.parametrize("recipe", [*CASES])
async def test_n23_recipe_keeps_outputs_counts_metadata_and_attachments(recipe: str, tmp_path: Path) -> None:
    cells = ran()
    if recipe == "order-cells":
        numbers = next(cell for cell in cells if cell.id == "numbers")
        cells = notebook(*(cell for cell in cells if cell.id != "numbers"), numbers)
    path = tmp_path / "a.ipynb"
    written(path, cells, minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    made = plan(recipe, await document.cells(), CASES[recipe], Context(metadata=PYTHON))
    if made.operations:
        await grant(await document.edit(made.operations)).commit()
    after = {cell.id: cell for cell in await document.cells()}
    merged = {cell_id for group in made.groups for side in group for cell_id in side}
    for cell in cells:
        if cell.id in merged or cell.id not in after:
            continue
        now = after[cell.id]
        assert (list(now.outputs), now.execution_count) == (list(cell.outputs), cell.execution_count), cell.id
        assert {**now.metadata, "tags": None} == {**cell.metadata, "tags": None}
        assert set(cell.tags) <= set(now.tags)
        assert now.attachments == cell.attachments
    kept = [each for cell in after.values() for each in cell.outputs]
    assert "".join(each["text"] for each in kept) == "".join(f"{cell.id}\n" for cell in cells if cell.outputs)
    await document.close()
