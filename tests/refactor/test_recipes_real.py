"""Recipes on a notebook with the awkward things of real life, in a real kernel and in a real file.

The fixture runs the notebook once in a fresh kernel; each recipe's result is then run in another and compared.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refactor.awkward import AWKWARD, CASES, EVERY_RECIPE, PYTHON, ran, written
from refactor.recipe_helpers import code, notebook, refactor

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.document import Cell, Delete, Operation, Restore, Target
from jupyter_agent.refactor.plan import Context, Plan
from jupyter_agent.refactor.registry import RECIPES, plan
from jupyter_agent.refactor.verify import Original, verify
from jupyter_agent.refactor.verify_run import run_fresh
from jupyter_agent.testing.effects import grant


@pytest.fixture(scope="module")
def executed() -> list[Cell]:
    import asyncio

    return asyncio.run(_executed(AWKWARD))


async def _executed(cells: list[Cell]) -> list[Cell]:
    ran = await run_fresh(cells, PYTHON)
    assert {each.status for each in ran.cells.values()} == {"ok"}, ran
    done: list[Cell] = []
    for number, cell in enumerate(cells, 1):
        if cell.type == "code":
            cell = replace(cell, outputs=tuple(ran.cells[cell.id].outputs), execution_count=number)
        done.append(cell)
    return done


async def _compared(cells: list[Cell], made: Plan) -> None:
    original = Original(cells, groups=[*made.groups, *_rest(cells, made)] if made.groups else None)
    report = await verify(made.after, PYTHON, original=original, files=made.file_bytes)
    bad = [each for each in report.verdicts if each.verdict != "same"]
    assert not bad, bad


def _rest(cells: list[Cell], made: Plan) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    named = {cell_id for group in made.groups for side in group for cell_id in side}
    shared = {cell.id for cell in cells} & {cell.id for cell in made.after}
    return [((cell.id,), (cell.id,)) for cell in cells if cell.id in shared - named]


@pytest.mark.parametrize("recipe", [*CASES])
async def test_awkward_notebook_shows_the_same_after(recipe: str, executed: list[Cell]) -> None:
    if recipe == "order-cells":
        executed = notebook(*sorted(executed, key=lambda cell: cell.id == "numbers"))
    made = refactor(recipe, executed, None, **CASES[recipe])
    assert made.files if recipe == "to-script" else made.operations, made.notes
    stored = {cell.id: cell for cell in executed}
    for cell in made.after:
        old = stored.get(cell.id)
        if old is not None and old.id not in {c for group in made.groups for side in group for c in side}:
            assert (list(old.outputs), old.attachments, set(old.tags) <= set(cell.tags)) == (
                list(cell.outputs), cell.attachments, True)  # fmt: skip
    if made.operations:
        await _compared(executed, made)


def test_rename_reaches_every_cell_of_the_awkward_notebook() -> None:
    made = refactor("rename", AWKWARD, None, **CASES["rename"], text="true")
    after = {cell.id: cell.source for cell in made.after}
    assert after["timed"] == "%%time\ntotal = sum(i * zinssatz for i in range(years))"
    assert "return self.amount * zinssatz * self.rate" in after["classes"]
    assert "class Account:\n    rate = 2\n" in after["classes"]
    assert after["comments"] == "# old idea\n# zinssatz = 0.7"
    total = refactor("rename", AWKWARD, None, old="word", new="wort")
    assert "!echo {wort} $wort {{word}}" in {cell.id: cell.source for cell in total.after}["shell"]


@pytest.mark.parametrize(("minor", "newline", "indent"), [(5, "\n", 1), (2, "\r\n", "\t")])
@pytest.mark.parametrize("recipe", [name for name in EVERY_RECIPE if name != "to-script"])
async def test_in_a_file_only_the_change_is_written_and_undo_restores_the_bytes(
    recipe: str, minor: int, newline: str, indent: int | str, tmp_path: Path
) -> None:
    path = tmp_path / "awkward.ipynb"
    stored = ran(recipe)
    before = written(path, stored, minor=minor, newline=newline, indent=indent)
    document = await open_notebook(path, root=tmp_path)
    cells = await document.cells()
    by_name = {old.id: new.id for old, new in zip(stored, cells, strict=True)}
    params = {
        key: ",".join(by_name.get(part, part) for part in value.split(","))
        for key, value in EVERY_RECIPE[recipe].items()
    }
    made = plan(recipe, cells, params, Context(metadata=PYTHON))
    effect = grant(await document.edit(made.operations))
    await effect.commit()
    after = path.read_bytes()
    assert after != before
    assert json.loads(after)["nbformat_minor"] == minor
    assert [c.source for c in await document.cells()] == [c.source for c in made.after]
    assert after.count(b"\r\n") == (after.count(b"\n") if newline == "\r\n" else 0)
    back: list[Operation] = []
    for change in effect.changes:
        if change.pre_image is None:
            back.append(Delete((Target(change.cell, change.after),)))
        else:
            image = json.loads(change.pre_image)
            back.append(Restore(change.cell, image["cell"], image["after"], change.after or None, image["moved"]))
    await grant(await document.edit(back)).commit()
    assert path.read_bytes() == before
    await document.close()


FIRST = {"split-cell": {"cell": "a"}, "merge-cells": {"cells": "a,b"}, "extract-function": {"cell": "a"}}
R_CELLS = notebook("x <- c(1, 2)\nprint(x)", "mean(x)")


@pytest.mark.parametrize("recipe", [name for name in CASES if RECIPES[name].python_only])
def test_an_r_notebook_is_refused_by_recipes_for_python(recipe: str) -> None:
    with pytest.raises(NotebookRefused, match="this notebook is in R"):
        plan(recipe, R_CELLS, {**CASES[recipe], **FIRST.get(recipe, {})}, Context(language="R"))


STATEMENTS = st.sampled_from(
    [
        "a = 4", "b = a + 1", "xs = [a, b]", "xs.append(b)", "print(a, b)", "print(f'{a} {xs!r}')", "xs", "a",
        "def f(p):\n    return p + len(xs)", "b = f(a)", "for a in xs[:2]:\n    print(a)", "%time b = a + 2",
        "!echo {a}", "import json\njson.dumps(xs)", "c = 9", "if a > 3:\n    b = 2\nprint(b)",
    ]
)  # fmt: skip
CHOICES = st.sampled_from(
    [
        ("split-cell", {"cell": "cell-1", "at": "2"}),
        ("merge-cells", {"cells": "cell-1,cell-2"}),
        ("extract-function", {"cell": "cell-1", "name": "made"}),
        ("extract-function", {"cell": "cell-2", "name": "made"}),
        ("rename", {"old": "a", "new": "renamed"}),
        ("rename", {"old": "xs", "new": "renamed"}),
        ("hoist-imports", {}),
        ("remove-dead", {}),
    ]
)


@cache
def _loop() -> Any:
    import asyncio

    return asyncio.new_event_loop()


@settings(max_examples=5, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.lists(st.lists(STATEMENTS, min_size=2, max_size=4), min_size=3, max_size=4), CHOICES)
def test_generated_notebooks_show_the_same_in_a_real_kernel(
    bodies: list[list[str]], choice: tuple[str, dict[str, str]]
) -> None:
    start = code("cell-0", "a = 1\nb = 2\nxs = [3]\n\ndef f(p):\n    return p")
    cells = notebook(start, *(code(f"cell-{i}", "\n".join(body)) for i, body in enumerate(bodies, 1)))
    recipe, params = choice
    try:
        made = refactor(recipe, cells, None, **params)
    except NotebookRefused:
        return
    if not made.operations:
        return
    groups = [*made.groups, *_rest(cells, made)] if made.groups else None
    original = Original(cells, execute=True, groups=groups)
    report = _loop().run_until_complete(verify(made.after, PYTHON, original=original))
    bad = [each for each in report.verdicts if each.verdict in ("changed", "new_error")]
    assert not bad, (recipe, params, [cell.source for cell in made.after], bad)
