"""A hundred refactorings that change an output on purpose are all caught; those that change none are all called same.

One notebook of a hundred cells, run before and after, so that a hundred verdicts cost three kernels.
"""

from __future__ import annotations

import pytest

from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.verify import Original, verify

SETUP = """
import json, math, sys, warnings
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from datetime import date, datetime, timedelta
from fractions import Fraction
from IPython.display import HTML, JSON, SVG, Latex, Markdown, clear_output, display, update_display
frame = pd.DataFrame({"city": ["Bern", "Basel", "Genf", "Chur"], "people": [134, 178, 203, 38]})
frame["area"] = [51.6, 23.9, 15.9, 54.3]
days = pd.date_range("2024-01-01", periods=6, freq="D")
rng = np.random.default_rng(7)
noise = rng.normal(size=200)
"""

# One source and what a careless refactoring makes of it, `{}` standing for the part that differs.
TEMPLATES: list[tuple[str, list[tuple[str, str]]]] = [
    ("print({})", [("sum(range(10))", "sum(range(11))"), ("3", "3.0"), ("True", "1"), ("None", "0"), ("-0.0", "0.0")]),
    ("print({})", [("'total: 5'", "'total:  5'"), ("'Total'", "'total'"), ("'a\\nb'", "'b\\na'"), ("'é'", "'e'")]),
    ("print(1){}", [("", "\nprint(2)"), ("\nprint(3)", ""), ("", "; print()"), ("", "\nprint('x', file=sys.stderr)")]),
    (
        "{}",
        [
            ("[1, 2, 3]", "(1, 2, 3)"),
            ("[3, 1]", "sorted([3, 1])"),
            ("{'a': 1}", "{'a': 2}"),
            ("'x'", "'y'"),
            ("1", "1;"),
        ],
    ),
    ("{}", [("2 / 3", "2 / 3 * (1 + 1e-8)"), ("1e-30", "2e-30"), ("math.pi", "3.14159"), ("math.nan", "math.inf")]),
    ("{}", [("-math.e", "math.e"), ("round(2 / 3, 3)", "round(2 / 3, 4)"), ("Fraction(1, 3)", "Fraction(2, 3)")]),
    ("print(f'{{2 / 3:{}}}')", [(".2f", ".3f"), (".1%", ".0%"), ("8.2f", "9.2f"), (".2e", ".2f")]),
    ("np.arange(12).reshape({})", [("3, 4", "4, 3"), ("2, 6", "6, 2")]),
    ("np.array([1.5, {}])", [("2.5", "2.6"), ("0.1 + 0.2", "0.30001"), ("np.nan", "0")]),
    ("np.full(2000, 7)[{}]", [("::1", ":1999"), ("::2", "::3")]),
    ("frame{}", [("", ".T"), ("", ".head(3)"), ("", "[::-1]"), ("", ".assign(people=frame.people + 1)")]),
    (
        "frame{}",
        [("", ".rename(columns={'people': 'inhabitants'})"), ("", ".set_index('city')"), ("", ".drop(columns='area')")],
    ),
    (
        "frame{}",
        [("", ".astype({'people': float})"), ("", "[['people', 'city', 'area']]"), ("", ".replace('Genf', 'Geneva')")],
    ),
    ("frame.sort_values('{}')", [("people", "area"), ("city", "people")]),
    ("frame.people.{}()", [("mean", "median"), ("sum", "max"), ("cumsum", "cumprod")]),
    ("frame.merge(frame.iloc[:{}], on='city')", [("3", "2")]),
    ("frame.describe(){}", [("", ".round(1)")]),
    ("frame.style.highlight_max('people', color='{}')", [("red", "blue")]),
    ("pd.Series([1.0, None]).{}", [("fillna(0)", "ffill()"), ("dropna()", "fillna(0)")]),
    ("days[{}]", [("0", "1"), ("-1", "-2")]),
    ("print(days[2]{})", [("", " + timedelta(seconds=1)"), (".date()", ".isoformat()")]),
    ("print(date(2020, 2, {}))", [("28", "29")]),
    ("print(datetime(2021, 5, 4, 12, {}))", [("30", "31")]),
    ("plt.plot([1, 3, {}]);", [("2", "2.1"), ("5", "4")]),
    (
        "plt.plot([1, 2], {});",
        [("color='red'", "color='blue'"), ("lw=1", "lw=2"), ("ls='-'", "ls='--'"), ("alpha=1", "alpha=0.9")],
    ),
    ("plt.scatter([1, 2, 3], [3, 1, {}]);", [("2", "2.05")]),
    ("plt.hist(noise, bins={});", [("10", "11"), ("20", "21")]),
    ("plt.bar(['a', 'b'], [{}]);", [("2, 1", "1, 2"), ("100, 50", "100, 51")]),
    ("plt.plot([1, 2]); plt.title('{}');", [("2020", "2021"), ("Sales", "sales")]),
    ("plt.plot([1, 2], label='a'); {};", [("plt.legend()", "None"), ("plt.xlabel('x')", "plt.xlabel('y')")]),
    (
        "plt.plot([1, 10]); plt.{};",
        [("yscale('log')", "yscale('linear')"), ("ylim(0, 10)", "ylim(0, 11)"), ("grid()", "tight_layout()")],
    ),
    ("plt.imshow(np.eye({}));", [("4", "5")]),
    ("plt.imshow(noise.reshape(10, 20), cmap='{}');", [("viridis", "plasma")]),
    ("HTML('<b>{}</b>')", [("1", "2"), ("a", "<i>a</i>")]),
    ("HTML('<table><tr><td>{}</td></tr></table>')", [("1", "2"), ("1", "1</td><td>1")]),
    ("display(Markdown('# {}'))", [("a", "b")]),
    ("Latex('$x^{}$')", [("2", "3")]),
    ("JSON({{'a': {}}})", [("1", "2")]),
    ('SVG(\'<svg xmlns="http://www.w3.org/2000/svg"><circle r="{}"/></svg>\')', [("1", "2")]),
    ("display(1); {}", [("display(2)", "display(3)"), ("print(2)", "display(2)")]),
    ("{}", [("print('a'); display(1)", "display(1); print('a')")]),
    ("h = display('first', display_id='d'); update_display('{}', display_id='d')", [("second", "third")]),
    ("print('gone'); clear_output(); print('{}')", [("left", "lost")]),
    ("warnings.warn('{}')", [("careful", "carefree")]),
    ("for i in range(3): print(f'{{i}}/3', end='{}')", [("\\\\r", "\\\\n"), (" ", ",")]),
]

RAISING: list[tuple[str, str]] = [
    ("raise ValueError('a')", "raise ValueError('b')"),
    ("raise ValueError('a')", "raise TypeError('a')"),
    ("1 / 0", "1 / 1"),
    ("print(1); 1 / 0", "print(2); 1 / 0"),
]

SAME: list[tuple[str, str]] = [
    ("print(1)\nprint(2)", "for i in (1, 2): print(i)"),
    ("0.1 + 0.2", "0.3"),
    ("sum([0.1] * 10)", "0.1 * 10"),
    ("object()", "(lambda: object())()"),
    ("%time sum(range(10))", "%time sum(range(9, -1, -1))"),
    ("print(datetime.now())", "now = datetime.now()\nprint(now)"),
    ("print(date.today())", "print(datetime.now().date())"),
    ("frame", "frame.copy()"),
    ("frame.style.highlight_max('people')", "frame.style.highlight_max(subset=['people'])"),
    ("plt.plot([1, 2]);", "fig, ax = plt.subplots()\nax.plot([1, 2]);"),
    ("plt.plot(noise);", "def draw(values):\n    plt.plot(values)\n\ndraw(noise);"),
    ("plt.plot([0.1 + 0.2, 1]);", "plt.plot([0.3, 1]);"),
    ("display(frame)", "frame"),
    ("print(1, file=sys.stderr); print(2)", "print(2); print(1, file=sys.stderr)"),
    ("print('a', end=''); print('b')", "print('ab')"),
    ("for i in range(3): print(f'{i}/2', end='\\r')", "print('2/2', end='')"),
]


def planted() -> list[tuple[str, str]]:
    return [(template.format(old), template.format(new)) for template, parts in TEMPLATES for old, new in parts]


def cells(sources: list[tuple[str, str, bool]]) -> list[Cell]:
    setup = Cell("setup", 0, "code", SETUP)
    tagged = {True: {"tags": ["raises-exception"]}, False: {}}
    made = [Cell(id, index, "code", source, tagged[raises]) for index, (id, source, raises) in enumerate(sources, 1)]
    return [setup, *made]


@pytest.mark.timeout(400)
async def test_planted_changes_are_caught_and_equal_refactorings_are_not_blamed() -> None:
    changes = [(*pair, False) for pair in planted()] + [(*pair, True) for pair in RAISING]
    assert len(changes) >= 100
    pairs = [(f"changed-{number}", *pair) for number, pair in enumerate(changes)]
    pairs += [(f"same-{number}", old, new, False) for number, (old, new) in enumerate(SAME)]
    before = cells([(id, old, raises) for id, old, _, raises in pairs])
    after = cells([(id, new, raises) for id, _, new, raises in pairs])
    metadata = {"kernelspec": {"name": "python3", "language": "python"}}
    report = await verify(after, metadata, original=Original(before, execute=True))
    found = {item.cells[0]: item for item in report.verdicts}
    sources = {id: (old, new, found[id].verdict, found[id].reason) for id, old, new, _ in pairs}
    missed = {id: sources[id] for id in sources if id.startswith("changed") and found[id].verdict != "changed"}
    blamed = {
        id: (*sources[id], found[id].difference)
        for id in sources
        if id.startswith("same") and found[id].verdict != "same"
    }
    assert not missed
    assert not blamed
    assert found["setup"].verdict == "same"
    assert report.runs == 3
