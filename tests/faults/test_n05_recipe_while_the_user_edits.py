"""n5: the user edits the notebook meanwhile. A recipe keeps their other cells, and refuses where both changed one."""

from __future__ import annotations

from pathlib import Path

import pytest
from refactor.awkward import AWKWARD, CASES, PYTHON, written

from jupyter_agent.errors import Stale
from jupyter_agent.notebook import open_notebook
from jupyter_agent.refactor.plan import Context, Plan
from jupyter_agent.refactor.registry import plan
from jupyter_agent.testing.effects import grant

EDITING = [name for name in CASES if name not in ("order-cells", "to-script")]


def change_source(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


def sources(made: Plan) -> dict[str, str]:
    return {cell.id: cell.source for cell in made.after}


@pytest.mark.parametrize("recipe", EDITING)
async def test_n05_an_edit_elsewhere_and_the_recipe_both_stay(recipe: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    written(path, AWKWARD, minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    made = plan(recipe, await document.cells(), CASES[recipe], Context(metadata=PYTHON))
    effect = grant(await document.edit(made.operations))
    change_source(path, "raw *text*", "typed meanwhile")
    await effect.commit()
    expected = {**sources(made), "raw": "typed meanwhile"}
    assert {cell.id: cell.source for cell in await document.cells()} == expected
    await document.close()


@pytest.mark.parametrize("recipe", EDITING)
async def test_n05_an_edit_of_the_same_cell_is_kept_and_the_recipe_refused(recipe: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    written(path, AWKWARD, minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    cells = await document.cells()
    made = plan(recipe, cells, CASES[recipe], Context(metadata=PYTHON))
    after = {cell.id: (cell.source, cell.tags) for cell in made.after}
    victim = next(cell for cell in cells if after.get(cell.id) != (cell.source, cell.tags))
    effect = grant(await document.edit(made.operations))
    line = victim.source.split("\n")[-1]
    encoded = line.replace("\\", "\\\\").replace('"', '\\"')
    change_source(path, encoded + '"', encoded + '  # mine"')
    theirs = path.read_bytes()
    with pytest.raises(Stale):
        await effect.commit()
    assert path.read_bytes() == theirs
    await document.close()
