"""n23: a move drops outputs and metadata. No recipe drops any of a cell it leaves, moves or edits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from refactor.awkward import EVERY_RECIPE, PYTHON, ran, written

from jupyter_agent.notebook import open_notebook
from jupyter_agent.refactor.plan import Context
from jupyter_agent.refactor.registry import plan
from jupyter_agent.testing.effects import grant


@pytest.mark.parametrize(("recipe", "params"), EVERY_RECIPE.items(), ids=EVERY_RECIPE)
async def test_n23_recipe_keeps_outputs_counts_metadata_and_attachments(
    recipe: str, params: Mapping[str, str], tmp_path: Path
) -> None:
    cells = ran(recipe)
    path = tmp_path / "a.ipynb"
    written(path, cells, minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    made = plan(recipe, await document.cells(), params, Context(metadata=PYTHON))
    if made.operations:
        await grant(await document.edit(made.operations)).commit()
    else:
        assert recipe == "to-script"
        assert made.files
    after = {cell.id: cell for cell in await document.cells()}
    merged = {cell_id for group in made.groups for side in group for cell_id in side}
    stripped = recipe == "strip-outputs"
    for cell in cells:
        if cell.id in merged or cell.id not in after:
            continue
        now = after[cell.id]
        shown = ([], None) if stripped and cell.type == "code" else (list(cell.outputs), cell.execution_count)
        assert (list(now.outputs), now.execution_count) == shown, cell.id
        assert {**now.metadata, "tags": None} == {**cell.metadata, "tags": None}
        assert set(cell.tags) <= set(now.tags)
        assert now.attachments == cell.attachments
    kept = [each for cell in after.values() for each in cell.outputs]
    outputs = "" if stripped else "".join(f"{cell.id}\n" for cell in cells if cell.outputs)
    assert "".join(each["text"] for each in kept) == outputs
    await document.close()
