"""Execution order, hidden state, stale cells and the plan of cells to run again."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.notebook.flow_state import (
    hidden_state,
    never_run,
    order_violations,
    repeated_counts,
    rerun_plan,
    stale,
)

ERROR = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": []}


def notebook(*cells: tuple[str, int | None] | str, **metadata: dict[str, Any]) -> list[Cell]:
    """Cells a, b, c, …: a source run in order, or (source, execution count); keywords give a cell's metadata."""
    found: list[Cell] = []
    for i, each in enumerate(cells):
        source, count = (each, i + 1) if isinstance(each, str) else each
        name = "abcdefghijkl"[i]
        found.append(Cell(name, i, "code", source, metadata.get(name, {}), execution_count=count))
    return found


def test_a_notebook_run_from_top_to_bottom_hides_nothing() -> None:
    graph = analyse(notebook("x = 1", "y = x", "print(y)"))
    assert hidden_state(graph) == ()
    assert stale(graph) == {}
    assert never_run(graph) == ()


def test_name_of_a_deleted_cell() -> None:
    (hidden,) = hidden_state(analyse(notebook("print(gone)")))
    assert (hidden.cell, hidden.name, hidden.kind) == ("a", "gone", "gone")


def test_name_that_failed_or_never_ran_is_undefined_not_gone() -> None:
    failed = Cell("a", 0, "code", "print(x)", outputs=[ERROR], execution_count=1)
    assert [each.kind for each in hidden_state(analyse([failed]))] == ["undefined"]
    assert [each.kind for each in hidden_state(analyse(notebook(("print(x)", None))))] == ["undefined"]


def test_name_that_a_function_sets_before_it_reads_it_is_missed_nowhere() -> None:
    run = "def run():\n    global memory\n    memory = {}\n    return fetch(1)"
    graph = analyse(notebook(run, "def fetch(n):\n    return memory.get(n)", "run()", "run(); memory"))
    assert hidden_state(graph) == ()
    assert {(edge.source, edge.target) for edge in graph.edges if edge.name == "memory"} == {("c", "d")}
    assert {each.name for each in hidden_state(analyse(notebook("def fetch():\n    return memory", "fetch()")))} == {
        "memory"
    }


def test_name_bound_only_below() -> None:
    (hidden,) = hidden_state(analyse(notebook(("print(x)", 2), ("x = 1", 1))))
    assert (hidden.cell, hidden.kind, hidden.other) == ("a", "later", "b")


def test_name_that_only_a_star_import_can_have_bound() -> None:
    (hidden,) = hidden_state(analyse(notebook("from numpy import *", "array([1])")))
    assert (hidden.cell, hidden.kind, hidden.other) == ("b", "unknown", "a")


def test_cell_that_saw_the_value_of_a_later_cell() -> None:
    graph = analyse(notebook(("x = 1", 1), ("print(x)", 3), ("x = 2", 2)))
    (hidden,) = order_violations(graph)
    assert (hidden.cell, hidden.name, hidden.other) == ("b", "x", "c")
    assert set(stale(graph)) == {"b"}


def test_cell_run_before_what_it_needs_was_run_again() -> None:
    graph = analyse(notebook(("x = 1", 3), ("y = x", 2), ("y", 4)))
    assert [each.cell for each in order_violations(graph)] == ["b"]
    assert set(stale(graph)) == {"b", "c"}


def test_cell_run_twice_that_changes_in_place_is_seen_by_its_count() -> None:
    graph = analyse(notebook(("xs = []", 1), ("xs.append(1)", 3), ("print(xs)", 2)))
    assert set(stale(graph)) == {"c"}


def test_unrun_source_makes_its_dependents_stale() -> None:
    graph = analyse(notebook("x = 1", ("x = x + 1", None), "print(x)"))
    assert never_run(graph) == ("b",)
    assert set(stale(graph)) == {"c"}


def test_counts_of_two_kernel_lives() -> None:
    assert repeated_counts(analyse(notebook(("x = 1", 1), ("y = 1", 2), ("z", 1)))) == ("a", "c")


def test_changed_cell_makes_dependents_stale_and_nothing_else() -> None:
    graph = analyse(notebook("x = 1", "y = x", "z = 3", "print(y)"))
    assert list(stale(graph, {"a"})) == ["a", "b", "d"]
    assert rerun_plan(graph, {"a"}).cells == ("a", "b", "d")


def test_plan_restores_what_a_changed_cell_had_changed_in_place() -> None:
    graph = analyse(notebook("xs = [1]", "xs.append(2)", "total = sum(xs)", "other = 5"))
    plan = rerun_plan(graph, {"b"})
    assert plan.cells == ("a", "b", "c"), "running b alone would append twice"


def test_plan_restores_a_name_that_a_later_cell_bound_anew() -> None:
    graph = analyse(notebook("df = 1", "print(df)", "df = 2", "print(df)"))
    assert rerun_plan(graph, {"b"}).cells == ("a", "b"), "d showed what c made: that stays true"


def test_plan_knows_from_the_counts_what_the_kernel_holds() -> None:
    graph = analyse(notebook(("df = 1", 5), ("print(df)", 6), ("df = 2", 3), ("print(df)", 4)))
    assert rerun_plan(graph, {"d"}).cells == ("c", "d"), "a ran after c, so the kernel holds its value"


def test_plan_does_not_spread_through_reused_names_of_loops_and_plots() -> None:
    plot = "fig, ax = subplots()\nfor i in range(3):\n    ax.plot(i)"
    graph = analyse(notebook("from matplotlib.pyplot import subplots", plot, plot, plot))
    assert rerun_plan(graph, {"c"}).cells == ("c",)


def test_plan_for_a_cell_that_reads_its_own_name() -> None:
    graph = analyse(notebook("x = 1", "x = x * 2", "print(x)"))
    assert rerun_plan(graph, {"b"}).cells == ("a", "b", "c")


def test_plan_of_a_new_cell_at_the_end_runs_only_it() -> None:
    graph = analyse(notebook("xs = []", "xs.append(1)", ("xs.append(2)", None)))
    assert rerun_plan(graph, {"c"}).cells == ("c",)


def test_plan_includes_what_was_never_run() -> None:
    graph = analyse(notebook(("import math", None), ("r = 2", None), ("math.pi * r", None), ("unrelated = 1", None)))
    assert rerun_plan(graph, {"c"}).cells == ("a", "b", "c")


def test_plan_for_a_fresh_kernel_includes_everything_needed() -> None:
    graph = analyse(notebook("x = 1", "y = x", "z = 3", "print(y)", "print(z)"))
    assert rerun_plan(graph, {"d"}, fresh=True).cells == ("a", "b", "d")


def test_plan_names_possibilities() -> None:
    graph = analyse(notebook("df = load()", "mystery(df)", "print(df)"))
    plan = rerun_plan(graph, {"b"})
    assert "c" in plan.cells
    assert "c" in plan.uncertain
    assert "c" not in rerun_plan(graph, {"b"}, certain_only=True).cells


def test_a_cell_that_may_bind_any_name_makes_all_readers_below_suspect() -> None:
    graph = analyse(notebook("x = 1", "exec(code)", "print(x)", "z = 1"))
    plan = rerun_plan(graph, {"b"})
    assert plan.cells == ("a", "b", "c") or plan.cells == ("b", "c")
    assert "c" in plan.uncertain


def test_cost_and_tags_of_a_plan() -> None:
    timing = {
        "iopub.execute_input": "2026-01-01T10:00:00.000000Z",
        "shell.execute_reply": "2026-01-01T10:00:02.500000Z",
    }
    graph = analyse(
        notebook(
            "x = 1",
            "y = train(x)",
            "print(y)",
            b={"execution": timing, "tags": ["agent:never-rerun"]},
            c={"execution": {"iopub.execute_input": "yesterday"}},
        )
    )
    plan = rerun_plan(graph, {"a"})
    assert plan.cells == ("a", "b", "c")
    assert plan.seconds == pytest.approx(2.5)
    assert plan.untimed == ("a", "c")
    assert plan.blocked == {"b": "agent:never-rerun"}
    assert plan.reasons["b"] == "needs x from cell a"
