"""Recipes on a notebook with the awkward things of real life, in a real kernel and in a real file.

The fixture runs the notebook once in a fresh kernel; each recipe's result is then run in another and compared.
"""

# ruff: noqa: E501  (sources of cells, one a line)

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refactor.recipe_helpers import code, notebook, refactor, text

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.document import Cell, Delete, Operation, Restore, Target
from jupyter_agent.refactor.plan import Context, Plan
from jupyter_agent.refactor.registry import RECIPES, plan
from jupyter_agent.refactor.verify import Original, verify
from jupyter_agent.refactor.verify_run import run_fresh
from jupyter_agent.testing.effects import grant

PYTHON = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}

AWKWARD = notebook(
    text("title", "# Awkward\n`total` is ![x](attachment:x.png)", attachments={"x.png": {"image/png": "aGk="}}),
    code("imports", "%matplotlib inline\nimport asyncio\nimport functools"),
    code("numbers", "rate = 0.5  # a year\nyears = 3", metadata={"tags": ["keep-me"]}),
    code("shell", "import os.path  # for later\nword = 'echoed'\n!echo {word} $word {{word}}\nlines = !echo one two\nprint(lines[0])"),
    code("timed", "%%time\ntotal = sum(i * rate for i in range(years))"),
    code("shown", "import math\nprint(f'{total:.{years}f} {{total}} {total!r:>6}')\nmath.floor(total)"),
    code("async", "async def double(x):\n\tawait asyncio.sleep(0)\n\treturn 2 * x\n\nvalues = [await double(i) for i in range(years)]\nvalues"),
    code("decorated", "@functools.lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"),
    code("classes", "class Account:\n    rate = 2\n\n    def __init__(self, amount):\n        self.amount = amount\n\n"
         "    def grown(self):\n        return self.amount * rate * self.rate"),
    code("walrus", "if (größe := len(values)) > 2:\n    print('größe', größe, [größe for größe in 'ab'])\nelse:\n    print('klein')"),
    code("counter", "count = 0\n\ndef bump():\n    global count\n    count += 1\n    return count\n\nbump(), bump()"),
    text("raw", "raw *text*", "raw"),
    code("plot", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(2, 1))\nax.plot(values)\nplt.show()"),
    code("widget", "from IPython.display import display\n\ndisplay({'application/vnd.jupyter.widget-view+json': "
         "{'model_id': 'x', 'version_major': 2}, 'text/plain': 'W'}, raw=True)"),
    code("copy1", "a_sum = Account(10).grown() + rate\nprint('account', 'ten', round(a_sum, 2))"),
    code("copy2", "b_sum = Account(20).grown() + rate\nprint('account', 'two', round(b_sum, 2))"),
    code("strings", "text = '''\n  indented {rate}\n\ttabbed'''\nprint(text, a_sum < b_sum, fib(10))"),
    code("unused", "leftover = [n ** 2 for n in range(3)]"),
    code("comments", "# old idea\n# rate = 0.7"),
    code("bash", "%%bash\necho from bash"),
    code("end", "count + total"),
)  # fmt: skip

CASES: dict[str, Mapping[str, str]] = {
    "split-cell": {"cell": "shown", "at": "3"},
    "merge-cells": {"cells": "copy1,copy2"},
    "extract-function": {"cell": "copy1", "name": "report", "arguments": "amount,label"},
    "extract-module": {"cells": "decorated", "path": "made_fibonacci.py"},
    "rename": {"old": "rate", "new": "zinssatz"},
    "hoist-imports": {},
    "order-cells": {},
    "remove-dead": {},
    "parameterize": {"name": "rate,years"},
    "to-script": {},
    "fix-lint": {},
}


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
    made = refactor(recipe, executed, None, **CASES[recipe])
    if recipe in ("order-cells", "to-script"):
        assert not made.operations
    else:
        assert made.operations, made.notes
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


def _written(path: Path, cells: list[Cell], *, minor: int, newline: str, indent: int | str) -> bytes:
    """A notebook file in the style of some other program: its own indentation, line ends and (below 4.5) no ids."""
    document: dict[str, Any] = {"nbformat": 4, "nbformat_minor": minor, "metadata": PYTHON, "cells": []}
    for cell in cells:
        entry: dict[str, Any] = {"metadata": dict(cell.metadata), "cell_type": cell.type, "source": cell.source}
        if minor >= 5:
            entry["id"] = cell.id
        if cell.type == "code":
            entry |= {"outputs": list(cell.outputs), "execution_count": cell.execution_count}
        if cell.attachments:
            entry["attachments"] = dict(cell.attachments)
        document["cells"].append(entry)
    data = (json.dumps(document, indent=indent, ensure_ascii=False) + "\n").replace("\n", newline).encode()
    path.write_bytes(data)
    return data


@pytest.mark.parametrize(("minor", "newline", "indent"), [(5, "\n", 1), (2, "\r\n", "\t")])
@pytest.mark.parametrize("recipe", [name for name in CASES if name not in ("order-cells", "to-script")])
async def test_in_a_file_only_the_change_is_written_and_undo_restores_the_bytes(
    recipe: str, minor: int, newline: str, indent: int | str, executed: list[Cell], tmp_path: Path
) -> None:
    path = tmp_path / "awkward.ipynb"
    before = _written(path, executed, minor=minor, newline=newline, indent=indent)
    document = await open_notebook(path, root=tmp_path)
    cells = await document.cells()
    by_name = {old.id: new.id for old, new in zip(executed, cells, strict=True)}
    params = {
        key: ",".join(by_name.get(part, part) for part in value.split(",")) for key, value in CASES[recipe].items()
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
