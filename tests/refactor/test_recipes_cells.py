"""split-cell, merge-cells, order-cells, remove-dead, parameterize, strip-outputs: golden results and refusals."""

from __future__ import annotations

import pytest
from refactor.recipe_helpers import code, new_sources, notebook, refactor, result, sources, stream, text

from jupyter_agent.errors import NotebookRefused, UsageError
from jupyter_agent.notebook.document import Delete, Insert, Move, SetTags
from jupyter_agent.refactor.plan import Context
from jupyter_agent.refactor.registry import RECIPES, plan

R = Context(language="R")


# split-cell


def test_split_gives_each_output_to_the_part_that_made_it() -> None:
    cells = notebook(
        code(
            "a",
            "import math\n\n# the area\nr = 2\nprint('r', r)\nmath.pi * r",
            outputs=(stream("r 2\n"), result("6.28", 3)),
            execution_count=3,
            metadata={"tags": ["keep", "parameters"], "collapsed": False, "execution": {"x": "1"}},
        )
    )
    made = refactor("split-cell", cells, cell="a", at="3,6")
    assert [cell.source for cell in made.after] == ["import math", "# the area\nr = 2\nprint('r', r)", "math.pi * r"]
    assert [list(cell.outputs) for cell in made.after] == [[], [stream("r 2\n")], [result("6.28", 3)]]
    assert made.after[0].id == "a"
    assert made.after[1].metadata == {"tags": ["keep"], "collapsed": False}
    assert made.groups == ((("a",), tuple(cell.id for cell in made.after)),)


def test_split_silences_a_value_that_was_not_shown() -> None:
    made = refactor("split-cell", notebook("x = [1]\nx.pop()  # take one\ny = x"), cell="a", at="3")
    assert [cell.source for cell in made.after] == ["x = [1]\nx.pop();  # take one", "y = x"]


def test_split_drops_outputs_that_cannot_be_told_apart_and_says_so() -> None:
    cells = notebook(code("a", "print(1)\nprint(2)", outputs=(stream("1\n2\n"),), execution_count=1))
    made = refactor("split-cell", cells, cell="a", at="2")
    assert not any(cell.outputs for cell in made.after)
    assert made.cleared == ("a",)
    assert "run the new cells again" in made.notes[0]


def test_split_of_markdown_keeps_the_attachments_each_part_uses() -> None:
    picture = {"image/png": "aGk="}
    cells = notebook(text("m", "# T\n![a](attachment:a.png)\nmore\n![b](attachment:b.png)",
                          attachments={"a.png": picture, "b.png": picture}))  # fmt: skip
    made = refactor("split-cell", cells, cell="m", at="3")
    assert [set(cell.attachments) for cell in made.after] == [{"a.png"}, {"b.png"}]
    assert [cell.type for cell in made.after] == ["markdown", "markdown"]


@pytest.mark.parametrize(
    ("source", "at", "reason"),
    [
        ("def f():\n    return 1", "2", "inside the statement that starts in line 1"),
        ("@decorator\ndef f(): pass", "2", "inside the statement"),
        ("x = '''\na\n'''", "2", "inside the statement"),
        ("%%time\nx = 1\ny = 2", "3", "covers the whole cell"),
        ("%%bash\nls\nls", "3", "not Python"),
        ("x = 1\n!echo a \\\n  b", "3", "inside the statement"),
        ("x = 1\n\ny", "2,3", "empty cell"),
        ("x = = 1\ny", "2", "syntax error"),
        ("x = 1", "2", "line numbers from 2 to 1"),
        ("x = 1\ny = 2", "two", "at=LINE"),
        ("x = 1\ny = Out[3]", "2", "IPython's history"),
        ("x = 1\nprint(_i2)", "2", "IPython's history"),
    ],
)
def test_split_refuses(source: str, at: str, reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("split-cell", notebook(source), cell="a", at=at)


# merge-cells


def test_merge_joins_sources_outputs_and_tags() -> None:
    cells = notebook(
        code("a", "x = 1\nprint(x)", outputs=(stream("1\n"),), execution_count=4, metadata={"tags": ["one"]}),
        code("b", "%matplotlib inline\nprint(2)", outputs=(stream("2\n"),), execution_count=5),
        code("c", "x", outputs=(result("1", 6),), execution_count=6, metadata={"tags": ["two"]}),
        "y = 2",
    )
    made = refactor("merge-cells", cells, cells="c,a,b")
    assert sources(made) == {"a": "x = 1\nprint(x)\n\n%matplotlib inline\nprint(2)\n\nx", "d": "y = 2"}
    assert list(made.after[0].outputs) == [stream("1\n2\n"), result("1", 6)]
    assert made.after[0].execution_count == 6
    assert made.after[0].tags == ("one", "two")


@pytest.mark.parametrize(
    ("source", "merged"),
    [
        ("x = 1\nx + 1  # why", "x = 1\ndisplay(x + 1)  # why"),
        ("1, 2", "display((1, 2))"),
        ("(1), *x", "display(((1), *x))"),
        ("(\n    a  # one\n    + b\n)", "(\n    display(a  # one\n    + b)\n)"),
        ("(y := 2)", "(display(y := 2))"),
        ("(n for n in x)", "display((n for n in x))"),
        ("await f()", "display(await f())"),
        ("größe; [größe,\n 1]", "größe; display([größe,\n 1])"),
    ],
)
def test_merge_displays_the_values_that_were_shown(source: str, merged: str) -> None:
    cells = notebook(
        code("a", source, outputs=(stream("…"), result("2", 4)), execution_count=4),
        code("b", "z", outputs=(result("3", 5),), execution_count=5),
    )
    made = refactor("merge-cells", cells, cells="a,b")
    assert sources(made) == {"a": f"{merged}\n\nz"}
    shown = {"output_type": "display_data", "data": {"text/plain": "2"}, "metadata": {}}
    assert list(made.after[0].outputs) == [stream("…"), shown, result("3", 5)]
    assert any("display(…)" in note for note in made.notes)


def test_merge_leaves_alone_what_showed_nothing() -> None:
    cells = notebook(code("a", "x.update(y)", execution_count=1), code("b", "x", execution_count=2))
    assert sources(refactor("merge-cells", cells, cells="a,b")) == {"a": "x.update(y)\n\nx"}


def test_the_last_value_shown_stands_in_the_way_only_of_recipes_that_move_it() -> None:
    shows, reads = code("a", "x = 1\nx", outputs=(result("1"),), execution_count=1), code("c", "print(_)")
    cells = notebook(shows, code("b", "import os\ny = 2\ny", execution_count=2), reads)
    for recipe, params in (
        ("split-cell", {"cell": "a", "at": "2"}),
        ("hoist-imports", {}),
        ("parameterize", {"name": "y"}),
        ("merge-cells", {"cells": "b,c"}),
    ):
        assert refactor(recipe, cells, None, **params).operations, recipe
    with pytest.raises(NotebookRefused, match="cell c reads _, IPython's history"):
        refactor("merge-cells", cells, cells="a,b")


def test_merge_writes_out_the_percent_of_a_magic_that_stood_alone() -> None:
    cells = notebook(
        code("a", "x = 1", execution_count=1), code("b", "ls $x", execution_count=2), code("c", "pip list")
    )
    assert sources(refactor("merge-cells", cells, cells="a,b")) == {"a": "x = 1\n\n%ls $x", "c": "pip list"}
    kept = refactor(
        "merge-cells", notebook(code("a", "ls = 1\nls", execution_count=1), code("b", "# pip")), cells="a,b"
    )
    assert sources(kept) == {"a": "ls = 1\nls\n\n# pip"}


@pytest.mark.parametrize("other", ["def display(x): pass", "display = print", "from sklearn import display"])
def test_merge_needs_ipythons_display(other: str) -> None:
    shows = code("a", "x", outputs=(result("1"),), execution_count=1)
    with pytest.raises(NotebookRefused, match="another meaning"):
        refactor("merge-cells", notebook(shows, code("b", "y = 1", execution_count=2), code("c", other)), cells="a,b")
    fine = notebook(shows, code("b", "y = 1", execution_count=2), code("c", "from IPython.display import display"))
    assert refactor("merge-cells", fine, cells="a,b").operations


def test_merge_of_cells_run_out_of_order_clears_and_says_so() -> None:
    cells = notebook(
        code("a", "print(1)", outputs=(stream("1\n"),), execution_count=9),
        code("b", "print(2)", outputs=(stream("2\n"),), execution_count=2),
    )
    made = refactor("merge-cells", cells, cells="a,b")
    assert not made.after[0].outputs
    assert made.cleared == ("a",)


def test_merge_markdown_in_any_language() -> None:
    made = refactor("merge-cells", notebook(text("m", "# A"), text("n", "B")), R, cells="m,n")
    assert sources(made) == {"m": "# A\n\nB"}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([code("a", "%who_ls", outputs=(result("1"),), execution_count=1), code("b", "y")], "does not show"),
        ([code("a", "df.head()"), code("b", "y = 1")], "was not run"),
        ([code("a", "x = 1"), code("b", "%%time\ny = 1")], "cover the whole"),
        ([code("a", "x = 1"), code("b", "from __future__ import annotations")], "__future__"),
        ([code("a", "x = 1", metadata={"tags": ["skip-execution"]}), code("b", "y = 1")], "skip-execution"),
        ([code("a", "x = 1"), text("b", "y")], "one type"),
        ([code("a", "x = = 1"), code("b", "y = 1")], "syntax error"),
        ([code("a", "1/0", outputs=({"output_type": "error"},)), code("b", "y = 1")], "ends in an error"),
    ],
)
def test_merge_refuses(cells: list, reason: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(NotebookRefused, match=reason):
        refactor("merge-cells", notebook(*cells), cells="a,b")


def test_merge_refuses_cells_that_do_not_follow_each_other() -> None:
    with pytest.raises(NotebookRefused, match="cell b stands between"):
        refactor("merge-cells", notebook("x = 1", "y = 2", "z = 3"), cells="a,c")


# order-cells


def test_order_moves_the_one_cell_that_stands_too_low() -> None:
    output = (stream("3\n"),)
    cells = notebook(
        text("t", "# Title"),
        code("a", "import math", execution_count=1),
        code("b", "print(w)", outputs=output, execution_count=3),
        text("m", "about c"),
        code("c", "y = 2", execution_count=4),
        code("d", "w = 3", execution_count=2, metadata={"tags": ["x"], "custom": {"k": 1}}),
    )
    made = refactor("order-cells", cells)
    assert [cell.id for cell in made.after] == ["t", "a", "d", "b", "m", "c"]
    assert [type(op) for op in made.operations] == [Move]
    assert made.after[2].metadata == {"tags": ["x"], "custom": {"k": 1}}
    assert made.after[3].outputs == output


def test_order_leaves_what_a_star_import_above_may_bind() -> None:
    cells = [code("a", "from typing import *", execution_count=1), code("b", "x: List = []", execution_count=2)]
    assert not refactor("order-cells", notebook(*cells)).operations


def test_order_with_nothing_to_do_is_no_operation() -> None:
    made = refactor("order-cells", notebook("x = 1", "x"))
    assert made.operations == ()


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["print(x)", "x = 1", "x = 2"], "which cells b, c bind"),
        (["print(x)\ny = 1", "x = y"], "need each other"),
        (["print(x)", "exec('x = 1')", "x = 2"], "."),
        (["x = = 1", "y"], "syntax error"),
    ],
)
def test_order_refuses_what_is_ambiguous(cells: list[str], reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("order-cells", notebook(*cells))


def test_order_refuses_when_a_cell_saw_another_value() -> None:
    cells = notebook(
        code("a", "x = 1", execution_count=1),
        code("b", "print(x)", execution_count=3),
        code("c", "x = 2", execution_count=2),
    )
    with pytest.raises(NotebookRefused, match="Which value is meant"):
        refactor("order-cells", cells)


# remove-dead


def test_remove_dead_deletes_only_what_nothing_needs() -> None:
    cells = notebook(
        "import os\nimport math",
        "r = 2",
        "unused = r * 3\nmore = unused",
        "# a note to the reader",
        "",
        text("m", "# text"),
        "print(math.pi * r)",
    )
    made = refactor("remove-dead", cells)
    assert [cell.id for cell in made.after] == ["a", "b", "d", "m", "g"]
    assert [type(op) for op in made.operations] == [Delete]
    assert any("only comments" in note for note in made.notes)


def test_remove_dead_deletes_a_named_cell_of_comments() -> None:
    made = refactor("remove-dead", notebook("# old\n# code", "print(1)"), cells="a")
    assert [cell.id for cell in made.after] == ["b"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["x = 1", "print(x)"], "cell b needs x"),
        (["print(1)"], "has an effect"),
        (["exec('x')"], "cannot be followed"),
    ],
)
def test_remove_dead_refuses_living_cells(cells: list[str], reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("remove-dead", notebook(*cells), cells="a")


# parameterize


def test_parameterize_tags_a_cell_of_constants() -> None:
    cells = notebook(
        text("m", "# T"), code("a", "rate = 0.1  # a year\nyears = 10", metadata={"tags": ["x"]}), "print(rate)"
    )
    made = refactor("parameterize", cells, cell="a")
    assert made.after[1].tags == ("x", "parameters")
    assert [type(op) for op in made.operations] == [SetTags]


def test_parameterize_collects_constants_with_their_comments() -> None:
    cells = notebook(
        code("a", "import math\nrate = 0.1  # a year", execution_count=1),
        code("b", "years = [\n    1,\n    2,\n]", execution_count=2),
        "print(rate, years)",
    )
    made = refactor("parameterize", cells, name="rate,years")
    (new,) = new_sources(made, cells)
    assert new == "rate = 0.1  # a year\nyears = [\n    1,\n    2,\n]"
    assert sources(made) | {made.after[0].id: ""} == {
        made.after[0].id: "",
        "a": "import math",
        "c": "print(rate, years)",
    }
    assert made.after[0].tags == ("parameters",)


@pytest.mark.parametrize(
    ("cells", "params", "reason"),
    [
        (["x = f()", "x"], {"cell": "a"}, "does more than bind"),
        (["x = 1", "x = 2"], {"name": "x"}, "exactly one cell"),
        (["x = y = 1"], {"name": "x"}, "one `x = constant`"),
        (["if a:\n    x = 1"], {"name": "x"}, "one `x = constant`"),
        (["x = 1; y = 2"], {"name": "x"}, "shares its line"),
        (["print(x)", "x = 1"], {"name": "x"}, "above its binding"),
        (["x = [1]\nx\ny = 1"], {"name": "y"}, "would show a value"),
        (["x = 1", "y = 2"], {}, "cells of constants only: a, b"),
    ],
)
def test_parameterize_refuses(cells: list[str], params: dict[str, str], reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("parameterize", notebook(*cells), None, **params)


# strip-outputs


def test_strip_outputs_in_any_language_keeps_everything_else() -> None:
    cells = notebook(
        code("a", "print(1)", outputs=(stream("1\n"),), execution_count=1, metadata={"tags": ["x"]}),
        text("m", "text"),
        code("b", "x", outputs=(result("1"),), execution_count=2),
    )
    made = refactor("strip-outputs", cells, R)
    assert [(cell.id, list(cell.outputs), cell.execution_count) for cell in made.after] == [
        ("a", [], None), ("m", [], None), ("b", [], None)]  # fmt: skip
    assert made.after[0].metadata == {"tags": ["x"]}
    assert [c.id for c in refactor("strip-outputs", cells, R, cells="b").after if c.outputs] == ["a"]


# all of them


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES.values() if recipe.python_only])
def test_python_only_recipes_say_so(name: str) -> None:
    params = {p.name: p.example for p in RECIPES[name].parameters if p.required} | {"cell": "a", "cells": "a,b"}
    known = {p.name for p in RECIPES[name].parameters}
    params = {key: value for key, value in params.items() if key in known}
    if name == "extract-function":
        params.pop("cells")
    with pytest.raises(NotebookRefused, match="in R"):
        plan(name, notebook("x <- 1\ny <- 2", "print(x)"), params, R)


def test_unknown_recipes_and_parameters_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="The recipes are: split-cell"):
        plan("tidy-up", [])
    with pytest.raises(UsageError, match="no parameter 'nmae'"):
        plan("extract-function", [], {"nmae": "x"})
    with pytest.raises(UsageError, match="rename needs old"):
        plan("rename", [], {"new": "x"})


def test_an_unknown_cell_is_named_with_those_that_are_there() -> None:
    with pytest.raises(NotebookRefused, match="The cells are, in order: a, b") as refusal:
        plan("split-cell", notebook("x = 1", "y = 2"), {"cell": "7", "at": "2"})
    assert refusal.value.kind == "unknown_cell"


def test_every_recipe_has_a_sentence_and_examples() -> None:
    for recipe in RECIPES.values():
        assert recipe.summary.endswith((".", ",", ":")) or len(recipe.doc) > len(recipe.summary)
        assert all(parameter.doc for parameter in recipe.parameters)


def test_the_same_recipe_gives_the_same_ids() -> None:
    cells = notebook("x = 1\ny = 2")
    first, second = (refactor("split-cell", cells, cell="a", at="2") for _ in range(2))
    assert [cell.id for cell in first.after] == [cell.id for cell in second.after]
    assert any(isinstance(op, Insert) for op in first.operations)
