"""What the plan leaves out need not run: proved by running generated notebooks.

A notebook is run, one cell is changed, and only the plan's cells run again in the namespace that is there. Every
cell's last output must then be what a fresh run of the whole notebook gives.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.notebook.flow_state import rerun_plan, stale

NAMES = st.sampled_from(["a", "b", "c", "xs", "ys"])
NUMBER = st.integers(0, 9).map(str)
LISTS = st.sampled_from(["xs", "ys"])
NUMBERS = st.sampled_from(["a", "b", "c"])

STATEMENT = st.one_of(
    st.builds("{} = {}".format, NUMBERS, NUMBER),
    st.builds("{} = {} + {}".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("{} += {}".format, NUMBERS, NUMBER),
    st.builds("{} = [{}]".format, LISTS, NUMBERS),
    st.builds("{} = {}".format, LISTS, LISTS),
    st.builds("{} = {} + [{}]".format, LISTS, LISTS, NUMBER),
    st.builds("{}.append({})".format, LISTS, NUMBERS),
    st.builds("{}[0] = {}".format, LISTS, NUMBERS),
    st.builds("{} += [{}]".format, LISTS, NUMBER),
    st.builds("display({})".format, NAMES),
    st.builds("display(len({}) + {})".format, LISTS, NUMBERS),
    st.builds("if {} % 2:\n    {} = {}\nelse:\n    {}.append({})".format, NUMBERS, NUMBERS, NUMBER, LISTS, NUMBER),
    st.builds("for c in {}[:3]:\n    {} = c".format, LISTS, NUMBERS),
    st.builds("def f(p):\n    return p + {}".format, NUMBERS),
    st.builds("def g(p):\n    p.append({})".format, NUMBERS),
    st.builds("def h():\n    global {0}\n    {0} = {1} + 1".format, NUMBERS, NUMBERS),
    st.builds("class K:\n    def m(self):\n        return {}".format, NUMBERS),
    st.builds("{} = f({})".format, NUMBERS, NUMBERS),
    st.builds("g({})".format, LISTS),
    st.just("h()"),
    st.just("k = K()"),
    st.builds("{} = k.m()".format, NUMBERS),
    st.builds("{} = [v + {} for v in {}]".format, LISTS, NUMBERS, LISTS),
    st.builds("try:\n    {} = {}[1]\nexcept IndexError:\n    {} = {}".format, NUMBERS, LISTS, NUMBERS, NUMBER),
    st.builds("t = lambda: {}".format, NUMBERS),
    st.just("display(t())"),
    st.builds("fs = [lambda: {}, f]".format, NUMBERS),
    st.just("display(fs[0]())"),
)
CELL = st.lists(STATEMENT, min_size=1, max_size=3).map("\n".join)
PRELUDE = "a = 1\nb = 2\nc = 3\nxs = [1]\nys = [2, 3]"
FUNCTIONS = (
    "def f(p):\n    return p\ndef g(p):\n    p.append(0)\ndef h():\n    pass\n"
    "class K:\n    def m(self):\n        return 0\nk = K()\nt = lambda: 0\nfs = [lambda: 1, f]"
)


def run(source: str, namespace: dict[str, Any]) -> list[str]:
    shown: list[str] = []
    namespace["display"] = lambda value: shown.append(repr(value) if isinstance(value, int | list) else "object")
    try:
        exec(compile(source, "cell", "exec"), namespace)
    except RecursionError:
        raise
    except Exception as error:
        shown.append(type(error).__name__)
    return shown


def cells(sources: list[str], ran: bool = True) -> list[Cell]:
    return [Cell(f"c{i}", i, "code", each, execution_count=i + 1 if ran else None) for i, each in enumerate(sources)]


@settings(max_examples=120, deadline=None)
@given(st.lists(CELL, min_size=2, max_size=7), CELL, st.data())
def test_the_plan_is_enough(bodies: list[str], replacement: str, data: Any) -> None:
    before = [PRELUDE, FUNCTIONS, *bodies]
    index = data.draw(st.integers(2, len(before) - 1))
    after = [*before]
    after[index] = replacement
    live: dict[str, Any] = {}
    outputs = [run(source, live) for source in before]
    fresh: dict[str, Any] = {}
    expected = [run(source, fresh) for source in after]
    if any("Error" in each for output in (*outputs, *expected) for each in output):
        return  # A cell that stops half-way leaves a state that nobody planned for.
    graph = analyse(cells(after))
    # Names that only the old source bound are unknown to the new graph: the caller analyses both.
    old = analyse(cells(before))
    touched = old.cells[index].touches - graph.cells[index].touches
    if touched:
        return
    plan = rerun_plan(graph, {f"c{index}"})
    counts = list(range(1, len(after) + 1))
    for cell in plan.cells:
        position = int(cell[1:])
        outputs[position] = run(after[position], live)
        counts[position] = max(counts) + 1
    assert outputs == expected, (after, plan)
    assert set(stale(graph, {f"c{index}"})) <= set(plan.cells)
    # The kernel is now not as a run from the top leaves it: the next plan has to see that from the counts.
    again = data.draw(st.integers(2, len(after) - 1))
    ran = [Cell(f"c{i}", i, "code", each, execution_count=counts[i]) for i, each in enumerate(after)]
    second = rerun_plan(analyse(ran), {f"c{again}"})
    for cell in second.cells:
        outputs[int(cell[1:])] = run(after[int(cell[1:])], live)
    assert outputs == expected, (after, plan, second)


@settings(max_examples=100, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=6), st.permutations(range(8)))
def test_cells_called_fresh_show_what_a_run_from_the_top_shows(bodies: list[str], order: list[int]) -> None:
    sources = [PRELUDE, FUNCTIONS, *bodies]
    order = [0, 1, *(i for i in order if 2 <= i < len(sources))]
    live: dict[str, Any] = {}
    outputs: dict[int, list[str]] = {}
    for i in order:
        outputs[i] = run(sources[i], live)
    fresh: dict[str, Any] = {}
    expected = [run(source, fresh) for source in sources]
    if any("Error" in each for output in (*outputs.values(), *expected) for each in output):
        return
    counts = {i: count + 1 for count, i in enumerate(order)}
    graph = analyse([Cell(f"c{i}", i, "code", s, execution_count=counts[i]) for i, s in enumerate(sources)])
    old = stale(graph)
    for i, source in enumerate(sources):
        if f"c{i}" not in old:
            assert outputs[i] == expected[i], (sources, order, source)
