"""Dead cells, copied code, and the graph as text, Mermaid and JSON."""

from __future__ import annotations

import json
import re

import pytest

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.notebook.flow_clones import dead_cells, duplicates
from jupyter_agent.notebook.flow_render import describe, duration, to_mermaid, to_text


def notebook(*sources: str) -> list[Cell]:
    return [Cell(f"c{i}", i, "code", source, execution_count=i + 1) for i, source in enumerate(sources)]


def dead(*sources: str) -> list[str]:
    return [each.cell for each in dead_cells(analyse(notebook(*sources)))]


def test_cells_that_feed_only_dead_cells_are_dead() -> None:
    assert dead("a = 1", "b = a + 1", "c = b + 1", "print('x')") == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    "source",
    [
        "print(1)", "x", "open('f', 'w').write('x')", "import mylib", "!ls", "%matplotlib inline", "assert a == 1",
        "raise ValueError", "exec('a')", "df.to_csv('out.csv')", "globals()", "a = = 1", "%%bash\nls", "x = input()",
        "requests.get(u)", "from m import *", "await f()", "plt.plot()",
    ],
)  # fmt: skip
def test_cells_with_an_effect_live(source: str) -> None:
    assert "c0" not in dead(source)


@pytest.mark.parametrize("source", ["", "# nothing", "x = 1", "def f():\n    raise ValueError", "import os, math",
                                    "y = [i ** 2 for i in range(3)]", "class A:\n    x = 1"])  # fmt: skip
def test_cells_without_an_effect_are_dead(source: str) -> None:
    assert dead(source, "print(1)") == ["c0"]


def test_nothing_that_binds_is_dead_where_any_name_may_be_read() -> None:
    assert dead("a = 1", "eval(input())") == []


def test_a_cell_with_outputs_lives() -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "x"}
    assert dead_cells(analyse([Cell("a", 0, "code", "x = 1", outputs=[output])])) == ()


def test_a_name_that_hides_a_builtin_is_needed() -> None:
    assert dead("list = (1, 2)", "print(list)") == []


def test_a_binder_that_a_cell_above_relies_on_lives() -> None:
    assert dead("print(window)", "window = 3") == []


def test_exact_and_renamed_copies_are_told_apart() -> None:
    block = "{0} = data['{1}'].dropna()\n{0} = {0}[{0} > 0]\nprint({0}.mean())"
    exact = duplicates(analyse(notebook(block.format("x", "a"), "y = 1", block.format("x", "a"))))
    assert [(each.kind, [p.cell for p in each.places]) for each in exact] == [("exact", ["c0", "c2"])]
    renamed = duplicates(analyse(notebook(block.format("x", "a"), block.format("y", "a"))))
    assert [each.kind for each in renamed] == ["renamed"]
    assert duplicates(analyse(notebook(block.format("x", "a"), block.format("y", "b"))), minimum=3) == ()


def test_copies_inside_larger_cells_have_their_lines() -> None:
    graph = analyse(notebook("a = 1\nb = a + 1\nprint(b)", "z = 5\n\na = 1\nb = a + 1\nprint(b)\nz"))
    (group,) = duplicates(graph)
    assert [(p.cell, p.start, p.end) for p in group.places] == [("c0", 1, 3), ("c1", 3, 5)]


def test_text_says_what_is_wrong_and_what_to_rerun() -> None:
    text = to_text(analyse(notebook("x = 1", "print(x + gone)", "exec('y = 1')", "unused = 2")), {"c0"})
    assert "needs c0 for x" in text
    assert "c1: reads gone" in text
    assert "unknown: line 1: exec()" in text
    assert "Rerun (" in text


def test_mermaid_escapes_labels_and_has_one_node_a_cell() -> None:
    text = to_mermaid(analyse(notebook('s = "a]|{}<b>`"', "print(s)", "größe = 1")))
    assert text.startswith("flowchart TD\n")
    assert len(re.findall(r"^    c\d\[", text, re.M)) == 3
    assert 'c0 -->|"s"| c1' in text
    for line in re.findall(r'\["(.*)"\]', text):
        assert not set(line.replace("<br/>", "")) & set('"[]{}|<>`')


def test_json_is_plain() -> None:
    facts = describe(analyse(notebook("x = 1", "x.foo(y)", "%run z.py")), {"c0"})
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cells"][1]["maybe_changes"] == ["x", "y"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
