"""n5: the user edits the notebook meanwhile. A recipe keeps their other cells, and refuses where both changed one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from refactor.awkward import EVERY_RECIPE, PYTHON, ran, written

from jupyter_agent.errors import Stale
from jupyter_agent.notebook import open_notebook
from jupyter_agent.refactor.plan import Context
from jupyter_agent.refactor.proving import digest, write_effect
from jupyter_agent.refactor.registry import plan
from jupyter_agent.testing.effects import grant
from jupyter_agent.workspace import Workspace

EDITING = {recipe: params for recipe, params in EVERY_RECIPE.items() if recipe != "to-script"}
"""`to-script` leaves the notebook as it is and writes a file of its own."""


def change_source(path: Path, cell: str, source: str) -> None:
    whole = json.loads(path.read_text(encoding="utf-8"))
    (found,) = (each for each in whole["cells"] if each["id"] == cell)
    found["source"] = source
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("recipe", "params"), EDITING.items(), ids=EDITING)
async def test_n05_an_edit_elsewhere_and_the_recipe_both_stay(
    recipe: str, params: Mapping[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.ipynb"
    written(path, ran(recipe), minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    made = plan(recipe, await document.cells(), params, Context(metadata=PYTHON))
    assert made.operations
    effect = grant(await document.edit(made.operations))
    change_source(path, "raw", "typed meanwhile")
    await effect.commit()
    expected = [(cell.id, "typed meanwhile" if cell.id == "raw" else cell.source) for cell in made.after]
    assert [(cell.id, cell.source) for cell in await document.cells()] == expected
    await document.close()


@pytest.mark.parametrize(("recipe", "params"), EDITING.items(), ids=EDITING)
async def test_n05_an_edit_of_the_same_cell_is_kept_and_the_recipe_refused(
    recipe: str, params: Mapping[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.ipynb"
    written(path, ran(recipe), minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    cells = await document.cells()
    made = plan(recipe, cells, params, Context(metadata=PYTHON))
    effect = grant(await document.edit(made.operations))
    victim = next(cell for cell in cells if cell.id in {target for op in made.operations for target in touched(op)})
    change_source(path, victim.id, victim.source + "  # mine")
    theirs = path.read_bytes()
    with pytest.raises(Stale):
        await effect.commit()
    assert path.read_bytes() == theirs
    await document.close()


def touched(operation: object) -> list[str]:
    """Ids of the cells that an operation changes, moves or deletes."""
    one, many = getattr(operation, "target", None), getattr(operation, "targets", ())
    return [each.cell for each in ([one] if one is not None else many)]


@pytest.mark.parametrize(("recipe", "params"), EVERY_RECIPE.items(), ids=EVERY_RECIPE)
async def test_n05_what_was_proved_is_not_written_over_a_notebook_that_is_another_by_now(
    recipe: str, params: Mapping[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.ipynb"
    written(path, ran(recipe), minor=5, newline="\n", indent=1)
    document = await open_notebook(path, root=tmp_path)
    cells = await document.cells()
    made = plan(recipe, cells, params, Context(metadata=PYTHON))
    effect = grant(await write_effect(document, Workspace(tmp_path), made, digest(cells, made)))
    change_source(path, "end", "total + count")
    theirs = path.read_bytes()
    with pytest.raises(Stale):
        await effect.commit()
    assert path.read_bytes() == theirs
    assert [each.name for each in tmp_path.iterdir()] == ["a.ipynb"]
    await document.close()
