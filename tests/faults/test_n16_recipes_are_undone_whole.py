"""n16: half the notebook deleted, no way back. Undo of any recipe gives the file's very bytes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refactor.awkward import AWKWARD, CASES, PYTHON, written

from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.document import Delete, Operation, Restore, Target
from jupyter_agent.refactor.plan import Context
from jupyter_agent.refactor.registry import plan
from jupyter_agent.testing.effects import grant


@pytest.mark.parametrize("recipe", [*CASES, "strip-outputs"])
async def test_n16_undo_of_a_recipe_restores_the_bytes(recipe: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    before = written(path, AWKWARD, minor=5, newline="\n", indent=2)
    document = await open_notebook(path, root=tmp_path)
    made = plan(recipe, await document.cells(), CASES.get(recipe, {}), Context(metadata=PYTHON))
    if not made.operations:
        assert recipe in ("order-cells", "to-script", "strip-outputs")
        return
    effect = grant(await document.edit(made.operations))
    await effect.commit()
    assert path.read_bytes() != before
    back: list[Operation] = []
    for change in effect.changes:
        if change.pre_image is None:
            back.append(Delete((Target(change.cell, change.after),)))
            continue
        image = json.loads(change.pre_image)
        back.append(Restore(change.cell, image["cell"], image["after"], change.after or None, image["moved"]))
    await grant(await document.edit(back)).commit()
    assert path.read_bytes() == before
    await document.close()
