"""For generated notebooks every recipe keeps what the notebook shows, or refuses; stored outputs stay true."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from refactor.recipe_helpers import code, flat, notebook, refactor, run

from jupyter_agent.errors import AgentError
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.notebook.transaction import apply
from jupyter_agent.refactor.plan import Plan

NUMBERS = st.sampled_from(["a", "b", "c"])
LISTS = st.sampled_from(["xs", "ys"])
DIGIT = st.integers(0, 9).map(str)

STATEMENT = st.one_of(
    st.builds("{} = {}".format, NUMBERS, DIGIT),
    st.builds("{} = {} + {}".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("{} += {}  # add".format, NUMBERS, DIGIT),
    st.builds("{} = [{}, {}]".format, LISTS, NUMBERS, DIGIT),
    st.builds("{} = {}".format, LISTS, LISTS),
    st.builds("{}.append({})".format, LISTS, NUMBERS),
    st.builds("{}[0] = {}".format, LISTS, NUMBERS),
    st.builds("print({})".format, NUMBERS),
    st.builds("print({})".format, LISTS),
    st.builds("print(f'{{{}}} and {{len({})}}')".format, NUMBERS, LISTS),
    st.builds("if {} % 2:\n    {} = {}\nelse:\n    {}.append({})".format, NUMBERS, NUMBERS, DIGIT, LISTS, DIGIT),
    st.builds("for a in {}[:3]:\n    {} = a\n    print(a)".format, LISTS, NUMBERS),
    st.builds("def f(a, b=2):\n    c = a + b\n    return c + len({})".format, LISTS),
    st.builds("def g(p):\n    p.append({})\n    return p".format, NUMBERS),
    st.builds("def h():\n    global {0}\n    {0} = {1} + 1".format, NUMBERS, NUMBERS),
    st.builds("{} = f({}, b={})".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("g({})".format, LISTS),
    st.just("h()"),
    st.builds("{} = [c + {} for c in {}]".format, LISTS, NUMBERS, LISTS),
    st.builds("{} = (lambda a: a + {})({})".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("try:\n    {} = {}[1]\nexcept IndexError as error:\n    {} = 5".format, NUMBERS, LISTS, NUMBERS),
    st.builds("class K:\n    a = {}\n    def m(self):\n        return a + self.a".format, NUMBERS),
    st.builds("{} = K().m()".format, NUMBERS),
    st.builds("total = sum({0})\nmean = total / (len({0}) + 1)\nprint('mean', round(mean, 2))".format, LISTS),
    st.builds("word = 'w{0}'\nprint(f'w{0}: {{word}}', {0})".format, DIGIT),
    st.sampled_from(["import math", "import json", "from math import pi", "import os.path as osp", "import string"]),
    st.just("print(math.floor(pi + 0.5)) if 'math' in dir() and 'pi' in dir() else None"),
    st.builds("text = '''\n  {}\n'''\nprint(text)".format, DIGIT),
    st.builds("if (c := {}) > 3:\n    print('c', c)".format, NUMBERS),
    st.builds("dead_{} = {}".format, st.sampled_from("uvw"), DIGIT),
    st.builds("match {}:\n    case 1 | 2:\n        b = 1\n    case a:\n        b = a".format, NUMBERS),
)
ENDING = st.one_of(st.just(""), NUMBERS.map("\n{}".format), LISTS.map("\n{}".format), LISTS.map("\nlen({});".format))
CELL = st.builds(
    lambda statements, ending: "\n".join(statements) + ending, st.lists(STATEMENT, min_size=1, max_size=4), ENDING
)
START = "a = 1\nb = 2\nc = 3\nxs = [1, 2]\nys = [3]"
FUNCTIONS = (
    "def f(a, b=2):\n    return a + b\n\ndef g(p):\n    p.append(0)\n\ndef h():\n    pass\n\n"
    "class K:\n    def m(self):\n        return 0"
)


@st.composite
def notebooks(draw: Any) -> list[Cell]:
    """Executed notebooks: every cell has the outputs of a run from the top. Copies of cells are likely."""
    bodies = draw(st.lists(CELL, min_size=2, max_size=6))
    if draw(st.booleans()):
        copied = draw(st.sampled_from(bodies))
        exchanged = draw(st.sampled_from([{}, {"1": "4"}, {"xs": "ys", "ys": "xs"}, {"a": "b", "b": "a"}]))
        bodies.append(re.sub(r"\b\w+\b", lambda word: exchanged.get(word[0], word[0]), copied))
    cells = [code(f"cell-{i}", body) for i, body in enumerate([START, FUNCTIONS, *bodies])]
    return executed(cells)


def executed(cells: list[Cell]) -> list[Cell]:
    cells = notebook(*cells)
    outputs = run(cells)
    return [replace(cell, outputs=tuple(outputs[cell.id]), execution_count=cell.index + 1) for cell in cells]


def check(recipe: str, cells: list[Cell], /, **params: str) -> None:
    before = run(cells)
    if any(output["output_type"] == "error" for outputs in before.values() for output in outputs):
        return
    try:
        made = refactor(recipe, cells, **params)
    except AgentError as refusal:
        event(f"{recipe}: refused")
        sentence = str(refusal)
    else:
        event(f"{recipe}: {'applied' if made.operations else 'nothing to do'}")
        check_plan(recipe, cells, made, before)
        return
    assert sentence.endswith((".", ")"))


def check_plan(recipe: str, cells: list[Cell], made: Plan, before: dict[str, list[Output]]) -> None:
    after = run(made.after, made.file_bytes)
    assert flat(after) == flat(before), (recipe, [cell.source for cell in made.after])
    for cell in made.after:
        if cell.type == "code" and cell.outputs:
            assert flat({"": cell.outputs}) == flat({"": after[cell.id]}), (recipe, cell.source)
    known = {cell.id for cell in cells}
    if made.operations and recipe != "strip-outputs":
        kept = [cell for cell in made.after if cell.id in known]
        assert all(cell.outputs for cell in kept if before.get(cell.id) and len(after[cell.id])) or made.notes


SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(notebooks(), st.data())
def test_split_cell(cells: list[Cell], data: Any) -> None:
    cell = data.draw(st.sampled_from(cells))
    lines = cell.source.count("\n") + 1
    at = data.draw(st.lists(st.integers(2, max(2, lines)), min_size=1, max_size=2, unique=True).map(sorted))
    check("split-cell", cells, cell=cell.id, at=",".join(map(str, at)))


@SETTINGS
@given(notebooks(), st.data())
def test_merge_cells(cells: list[Cell], data: Any) -> None:
    start = data.draw(st.integers(0, len(cells) - 2))
    end = data.draw(st.integers(start + 2, len(cells)))
    check("merge-cells", cells, cells=",".join(cell.id for cell in cells[start:end]))


@settings(SETTINGS, max_examples=120)
@given(notebooks(), st.data())
def test_extract_function(cells: list[Cell], data: Any) -> None:
    cell = data.draw(st.sampled_from(cells[1:]))
    params = {"cell": cell.id, "name": "extracted"}
    if data.draw(st.booleans()):
        lines = cell.source.count("\n") + 1
        first = data.draw(st.integers(1, lines))
        params["lines"] = f"{first}-{data.draw(st.integers(first, lines))}"
    check("extract-function", cells, **params)


@SETTINGS
@given(notebooks(), st.data())
def test_extract_function_of_neighbours(cells: list[Cell], data: Any) -> None:
    start = data.draw(st.integers(1, len(cells) - 2))
    check("extract-function", cells, cells=f"{cells[start].id},{cells[start + 1].id}", name="extracted")


@SETTINGS
@given(notebooks(), st.data())
def test_extract_module(cells: list[Cell], data: Any) -> None:
    chosen = data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=3, unique_by=lambda cell: cell.id))
    check("extract-module", cells, cells=",".join(cell.id for cell in chosen), path="made_by_test.py")


@settings(SETTINGS, max_examples=100)
@given(notebooks(), st.data())
def test_rename(cells: list[Cell], data: Any) -> None:
    old = data.draw(st.sampled_from(["a", "b", "c", "xs", "ys", "f", "g", "K", "math", "pi", "osp", "word", "total"]))
    new = data.draw(st.sampled_from(["renamed", "größe", "n"]))
    check("rename", cells, old=old, new=new)


@SETTINGS
@given(notebooks())
def test_hoist_imports(cells: list[Cell]) -> None:
    check("hoist-imports", cells)


@SETTINGS
@given(notebooks())
def test_remove_dead(cells: list[Cell]) -> None:
    check("remove-dead", cells)


@SETTINGS
@given(notebooks(), st.data())
def test_parameterize(cells: list[Cell], data: Any) -> None:
    bound = sorted(set(re.findall(r"^(\w+) = ", "\n".join(cell.source for cell in cells), re.M)))
    names = data.draw(st.lists(st.sampled_from(bound), min_size=1, max_size=2, unique=True))
    check("parameterize", cells, name=",".join(names))


@settings(SETTINGS, max_examples=15)
@given(notebooks())
def test_fix_lint(cells: list[Cell]) -> None:
    check("fix-lint", cells)


@SETTINGS
@given(notebooks(), st.data())
def test_order_cells_restores_a_shuffled_notebook_or_refuses(cells: list[Cell], data: Any) -> None:
    """The cells ran in the order of their counts; shuffled, they must come out showing the same, or be refused."""
    before = run(cells)
    if any(output["output_type"] == "error" for outputs in before.values() for output in outputs):
        return
    order = list(range(len(cells)))
    for _ in range(data.draw(st.integers(1, 2))):
        order.insert(data.draw(st.integers(0, len(order) - 1)), order.pop(data.draw(st.integers(0, len(order) - 1))))
    shuffled = notebook(*(cells[i] for i in order))
    try:
        made = refactor("order-cells", shuffled)
    except AgentError:
        event("order-cells: refused")
        return
    event(f"order-cells: {'applied' if made.operations else 'nothing to do'}")
    after = run(made.after)
    for cell_id, outputs in after.items():
        assert flat({"": outputs}) == flat({"": before[cell_id]}), [cell.source for cell in made.after]


@SETTINGS
@given(notebooks())
def test_to_script_runs_to_the_same_effect_as_the_cells(cells: list[Cell]) -> None:
    made = refactor("to-script", cells)
    script = made.file_bytes["notebook.py"].decode()
    printed = "".join(o["text"] for outs in run(cells).values() for o in outs if o["output_type"] == "stream")
    if any(o["output_type"] == "error" for outs in run(cells).values() for o in outs):
        return
    shown = run(notebook(script))["a"]
    assert "".join(o["text"] for o in shown if o["output_type"] == "stream") == printed


@SETTINGS
@given(notebooks(), st.sampled_from(["hoist-imports", "remove-dead", "strip-outputs"]))
def test_operations_lead_back(cells: list[Cell], recipe: str) -> None:
    """What a plan's operations do can be undone by operations of the same kind."""
    from jupyter_agent.refactor.plan import operations_between

    made = refactor(recipe, cells)
    back = operations_between(made.after, cells)
    if back:
        assert [c.source for c in apply(made.after, back).after] == [c.source for c in cells]
        assert [list(c.outputs) for c in apply(made.after, back).after] == [list(c.outputs) for c in cells]
