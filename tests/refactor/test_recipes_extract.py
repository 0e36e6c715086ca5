"""extract-function and extract-module: golden results and refusals."""

# ruff: noqa: E501  (sources of cells, one a line)

from __future__ import annotations

import pytest
from refactor.recipe_helpers import code, new_sources, notebook, refactor, result, sources, stream, text

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.refactor.plan import Context

# extract-function


def test_extract_takes_parameters_and_results_from_the_data_flow() -> None:
    cells = notebook(
        "import numpy as np\nSCALE = 2\ndf = load()\nlimit = 3",
        code(
            "b",
            "# keep what counts\ntmp = df[df.x > limit]  # filter\n\nclean = tmp * SCALE\nmean = np.mean(clean)\nclean.head()",
            outputs=(result("table"),),
            execution_count=2,
        ),
        "print(mean)",
    )
    made = refactor("extract-function", cells, cell="b", name="prepare")
    assert new_sources(made, cells) == [
        "def prepare(df, limit):\n    tmp = df[df.x > limit]  # filter\n\n    clean = tmp * SCALE\n    mean = np.mean(clean)\n"
        "    return clean, mean"
    ]
    assert sources(made)["b"] == "# keep what counts\nclean, mean = prepare(df, limit)\nclean.head()"
    assert made.after[2].outputs == (result("table"),)


def test_extract_replaces_copies_with_other_names_and_constants() -> None:
    block = "{0} = data['{1}'].dropna()\nprint(f'{1}: {{{0}.mean():.2f}}')"
    cells = notebook(
        "data = load()",
        code("b", block.format("one", "IBM"), outputs=(stream("IBM: 1.00\n"),)),
        text("m", "## next"),
        code("c", "z = 1\n" + block.format("two", "AAPL") + "\nprint(two)"),
        "print(one)",
    )
    made = refactor("extract-function", cells, cell="b", name="column_mean", arguments="ticker")
    assert new_sources(made, cells) == [
        "def column_mean(data, ticker):\n    one = data[ticker].dropna()\n    print(f'{ticker}: {one.mean():.2f}')\n    return one"
    ]
    assert sources(made)["b"] == "one = column_mean(data, 'IBM')"
    assert sources(made)["c"] == "z = 1\ntwo = column_mean(data, 'AAPL')\nprint(two)"
    assert made.after[2].outputs == (stream("IBM: 1.00\n"),)


def test_extract_keeps_strings_tabs_and_unicode() -> None:
    cells = notebook(
        "größe = 2", "if größe:\n\ttext = '''\n  kept\n\tas is'''\n\tprint(größe, text)\nüber = größe", "über"
    )
    made = refactor("extract-function", cells, cell="b", name="zeige")
    assert new_sources(made, cells) == [
        "def zeige(größe):\n\tif größe:\n\t\ttext = '''\n  kept\n\tas is'''\n\t\tprint(größe, text)\n\tüber = größe\n"
        "\treturn über"
    ]


def test_extract_of_awaiting_code_is_a_coroutine() -> None:
    cells = notebook("from net import fetch\nurls = []", "pages = [await fetch(u) for u in urls]\nn = len(pages)", "n")
    made = refactor("extract-function", cells, cell="b", name="get_all")
    assert new_sources(made, cells) == [
        "async def get_all(urls):\n    pages = [await fetch(u) for u in urls]\n    n = len(pages)\n    return n"
    ]
    assert sources(made)["b"] == "n = await get_all(urls)"


def test_extract_of_lines_only() -> None:
    cells = notebook("a = 1\nb = a + 1\nc = b * 2\nprint(c)")
    made = refactor("extract-function", cells, cell="a", name="double", lines="2-3")
    assert sources(made)["a"] == "a = 1\nc = double(a)\nprint(c)"


def test_extract_of_neighbours_merges_them() -> None:
    cells = notebook(
        code("a", "x = 1", execution_count=1),
        code("b", "y = x + 1\nprint(y)", execution_count=2, outputs=(stream("2\n"),)),
        code("c", "z = y * y\nprint(z)", execution_count=3, outputs=(stream("4\n"),)),
        code("d", "print(z)", execution_count=4),
    )
    made = refactor("extract-function", cells, cells="b,c", name="step")
    assert new_sources(made, cells) == [
        "def step(x):\n    y = x + 1\n    print(y)\n\n    z = y * y\n    print(z)\n    return z"
    ]
    assert sources(made)["b"] == "z = step(x)"
    assert [list(cell.outputs) for cell in made.after if cell.id == "b"] == [[stream("2\n4\n")]]
    assert made.groups == ((("b", "c"), ("b",)),)


def test_extract_passes_through_what_is_bound_on_some_paths_only() -> None:
    cells = notebook("x = 1\nflag = True", "if flag:\n    x = 2", "print(x)")
    made = refactor("extract-function", cells, cell="b", name="choose")
    assert sources(made)["b"] == "x = choose(flag, x)"


@pytest.mark.parametrize(
    ("cells", "params", "reason"),
    [
        (["x = 1", "%time y = x", "y"], {}, "%time does not work in a function"),
        (["x = 1", "!ls\ny = x", "y"], {"lines": "1-2"}, "does not work in a function"),
        (["x = 1", "%%time\ny = x", "y"], {}, "%%time does not work"),
        (["x = 1", "exec('y = x')"], {}, "cannot be followed"),
        (["x = 1", "from os import *\ny = sep", "y"], {"lines": "1-2"}, "cannot be followed"),
        (["def show():\n    print(k)", "k = 1\nshow()\nz = k", "z"], {}, "uses the notebook's k directly"),
        (["x = 1", "def inner():\n    return y\ny = x", "inner()"], {}, "would keep the value of that call"),
        (["x = 1", "if x:\n    y = 2", "print(y)"], {}, "may have no value"),
        (["x = 1", "del x"], {}, "deletes x"),
        (["x = 1", "y = x; z = y\nw = z", "w"], {"lines": "2"}, None),
        (["x = 1", "def f():\n    pass\nx"], {"name": "x"}, "already uses the name x"),
        (["x = 1", "y = 2"], {"name": "print"}, "builtin"),
        (["x = 1", "y = 2"], {"name": "1x"}, "is none"),
        (["x = 1", "# only a comment"], {}, "no statements"),
        (["x = 1", "y = [\n  x\n]\nz = y"], {"lines": "2-3"}, "cut through"),
        (["x = 1", "x = = 1"], {}, "syntax error"),
    ],
)
def test_extract_refuses(cells: list[str], params: dict[str, str], reason: str | None) -> None:
    params = {"cell": "b", "name": "f_new", **params}
    if reason is None:
        refactor("extract-function", notebook(*cells), None, **params)
        return
    with pytest.raises(NotebookRefused, match=reason):
        refactor("extract-function", notebook(*cells), None, **params)


def test_extract_refuses_a_function_that_sets_what_the_block_reads() -> None:
    cells = notebook("n = 0\ndef bump():\n    global n\n    n += 1", "bump()\nprint(n)")
    with pytest.raises(NotebookRefused, match="uses the notebook's n"):
        refactor("extract-function", cells, cell="b", name="go")


# extract-module


def test_module_takes_classes_whose_bodies_call_and_loops_over_underscore() -> None:
    cells = notebook(
        "import random\nfrom functools import lru_cache",
        "class Base:\n    def run(self):\n        raise ValueError([random.random() for _ in range(3)])",
        "class Child(Base):\n    made = dict(a=1)\n\n    def __init__(self):\n        super().__init__()",
        "@lru_cache(maxsize=None)\ndef f(x, y=abs(-2)):\n    return x",
        "Child().made, f(1)",
    )
    made = refactor("extract-module", cells, cells="b,c,d", path="made_classes.py")
    (file,) = made.files
    assert "import random\n" in file.content
    assert "@lru_cache(maxsize=None)\ndef f" in file.content
    assert sources(made)["b"] == "from made_classes import Base, Child, f"
    with pytest.raises(NotebookRefused, match="_ means something else"):
        refactor("extract-module", notebook("def f():\n    return _"), cells="a", path="made_classes.py")


def test_module_brings_the_star_import_that_its_names_may_come_from() -> None:
    cells = notebook(
        "from typing import *\nimport re", "def f(xs: List[str]) -> Optional[str]:\n    return xs[0]", "f('a')"
    )
    (file,) = refactor("extract-module", cells, cells="b", path="made_stars.py").files
    assert file.content.split("\n\n")[1] == "from typing import *"
    with pytest.raises(NotebookRefused, match="uses List, which no cell defines"):
        refactor("extract-module", [cells[1], cells[0], cells[2]], cells="b", path="made_stars.py")


def test_names_of_a_star_import_stay_what_they_are_in_a_function() -> None:
    cells = notebook("from numpy import *", "size = 4", "xs = arange(size)\nys = xs + 1", "ys")
    made = refactor("extract-function", cells, cell="c", name="make")
    assert new_sources(made, cells) == ["def make(size):\n    xs = arange(size)\n    ys = xs + 1\n    return ys"]


def test_module_takes_definitions_and_the_imports_they_need() -> None:
    cells = notebook(
        "import numpy as np\nimport os\nfrom math import pi as PI",
        code("b", "from __future__ import annotations\nRATE = 0.1\n\n\ndef grow(x: float) -> float:\n    return np.exp(RATE * x)",
             execution_count=2),
        code("c", "class Box:\n    '''A box.'''\n    def area(self):\n        return PI * grow(1)"),
        "print(grow(2), Box().area(), RATE)",
    )  # fmt: skip
    made = refactor("extract-module", cells, Context(name="growth.ipynb"), cells="b,c", path="growing.py")
    (file,) = made.files
    assert file.path == "growing.py"
    assert file.content == (
        '"""Definitions of growth.ipynb."""\n\nfrom __future__ import annotations\n\nimport numpy as np\n'
        "from math import pi as PI\n\n\nRATE = 0.1\n\n\ndef grow(x: float) -> float:\n    return np.exp(RATE * x)\n\n\n"
        "class Box:\n    '''A box.'''\n    def area(self):\n        return PI * grow(1)\n"
    )
    assert sources(made)["b"] == "from growing import Box, RATE, grow"
    assert "c" not in sources(made)
    compile(file.content, "growing.py", "exec")


@pytest.mark.parametrize(
    ("cells", "path", "reason"),
    [
        (["k = load()", "def f():\n    return k", "f()"], "m.py", "uses k of cell a"),
        (["import a_lib", "def f():\n    return undefined_name", "f()"], "m.py", "which no cell defines"),
        (["x = 1", "def f():\n    return 1\nprint(f())"], "m.py", "does more than define"),
        (["x = 1", "%matplotlib inline\ndef f(): pass"], "m.py", "works in a notebook only"),
        (["x = 1", "def f():\n    return 1", "f = 3"], "m.py", "cell c binds f too"),
        (["x = 1", "def f():\n    global x\n    x = 2"], "m.py", "would set the module's"),
        (["x = 1", "def f(): pass"], "random.py", "would hide the library"),
        (["x = 1", "def f(): pass"], "my-tools.py", "is not a name"),
        (["x = 1", "def f(): pass"], "../m.py", "inside the notebook's folder"),
        (["x = 1", "def f(): pass"], "m.txt", "give a .py file"),
        (["x = 1", "def f(): pass"], "there.py", "exists already"),
        (["import tools", "def f(): pass"], "tools.py", "imports a module tools already"),
        (["x = 1", "y = await g()"], "m.py", "."),
        (["f()", "def f(): pass"], "m.py", "above its definition"),
    ],
)
def test_module_refuses(cells: list[str], path: str, reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("extract-module", notebook(*cells), Context(existing=frozenset({"there.py"})), cells="b", path=path)
