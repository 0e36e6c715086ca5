"""extract-function, extract-module, rename, hoist-imports, to-script, fix-lint: golden results and refusals."""

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


def test_rename_behind_a_star_import_that_stands_above_every_binding() -> None:
    cells = notebook("from typing import *\nx = 1", "y = x + 1")
    assert sources(refactor("rename", cells, old="x", new="z")) == {
        "a": "from typing import *\nz = 1",
        "b": "y = z + 1",
    }
    for cells in (
        notebook("x = 1", "from typing import *", "x"),
        notebook("x = 1\nfrom typing import *\nx"),
        notebook("from typing import *\nprint(x)", "x = 1"),
        notebook("from typing import *", "def f():\n    return x", "f()", "x = 1"),
    ):
        with pytest.raises(NotebookRefused, match=r"import \* may bind any name, so it may bind x"):
            refactor("rename", cells, old="x", new="z")


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


# rename


def test_rename_respects_scopes_and_reaches_every_use() -> None:
    cells = notebook(
        "import numpy as old, os\nfor old in range(3): pass",
        "def f(x, old=old):\n    return old + x\n\ndef g():\n    global old\n    old = 1\n    return [old for q in 'ab']",
        "class C:\n    def old(self):\n        return old\n    attr = 1",
        "f(1, old=old).old, {'old': old}, [old for old in [1]], (lambda old: old)(2), (lambda: old)()",
        "print(f'{old!r:>{old}} old {{old}} {f(old, \"old\")}')  # old",
        "if (old := 3) and old: del old",
        "try: pass\nexcept E as old: print(old)\nmatch v:\n    case {'k': old, **rest}: old\n    case [*old]: old",
        "!echo {old} $old old\nold?\n%time print(old)\nlines = !cat {old.path}",
        text("m", "`old` is old\n```\nold = 1\n```"),
    )
    made = refactor("rename", cells, old="old", new="new")
    assert sources(made) == {
        "a": "import numpy as new, os\nfor new in range(3): pass",
        "b": "def f(x, old=new):\n    return old + x\n\ndef g():\n    global new\n    new = 1\n    return [new for q in 'ab']",
        "c": "class C:\n    def old(self):\n        return new\n    attr = 1",
        "d": "f(1, old=new).old, {'old': new}, [old for old in [1]], (lambda old: old)(2), (lambda: new)()",
        "e": "print(f'{new!r:>{new}} old {{old}} {f(new, \"old\")}')  # old",
        "f": "if (new := 3) and new: del new",
        "g": "try: pass\nexcept E as new: print(new)\nmatch v:\n    case {'k': new, **rest}: new\n    case [*new]: new",
        "h": "!echo {new} $new old\nnew?\n%time print(new)\nlines = !cat {new.path}",
        "m": "`old` is old\n```\nold = 1\n```",
    }  # fmt: skip


def test_rename_with_text_also_changes_comments_strings_and_markdown_code() -> None:
    cells = notebook(
        "old = 1  # old things, not bold",
        "df.query('x > @old')\nprint('old', f'old {old}', r\"\"\"old\nolder\"\"\")",
        text("m", "the old `old` and `old.x`, old\n```python\nold = 1\n```\n    old"),
    )
    made = refactor("rename", cells, old="old", new="new", text="true")
    assert sources(made) == {
        "a": "new = 1  # new things, not bold",
        "b": "df.query('x > @new')\nprint('new', f'new {new}', r\"\"\"new\nolder\"\"\")",
        "m": "the old `new` and `new.x`, old\n```python\nnew = 1\n```\n    old",
    }


def test_rename_of_functions_imports_and_unicode_names() -> None:
    cells = notebook(
        "from m import thing\nimport thing2", "async def größe(): pass\nawait größe()\nthing(ñ)", "ñ = '日本' + größe"
    )
    assert sources(refactor("rename", cells, old="größe", new="size"))["b"] == (
        "async def size(): pass\nawait size()\nthing(ñ)"
    )
    assert sources(refactor("rename", cells, old="größe", new="size"))["c"] == "ñ = '日本' + size"
    assert (
        sources(refactor("rename", cells, old="thing", new="tool"))["a"] == "from m import thing as tool\nimport thing2"
    )


@pytest.mark.parametrize(
    ("cells", "params", "reason"),
    [
        (["x = 1", "y = 2"], {"old": "x", "new": "y"}, "already uses the name y"),
        (["x = 1", "def f(y): pass"], {"old": "x", "new": "y"}, "already uses the name y"),
        (["x = 1"], {"old": "x", "new": "class"}, "not a name that Python allows"),
        (["x = 1"], {"old": "x", "new": "list"}, "builtin"),
        (["print(x)"], {"old": "x", "new": "z"}, "no cell binds x"),
        (["def f(x): pass"], {"old": "x", "new": "z"}, "no cell binds x"),
        (["x = 1", "exec('x')"], {"old": "x", "new": "z"}, "in a way that is not seen"),
        (["x = 1", "print(f'{x=}')"], {"old": "x", "new": "z"}, "would change the output"),
        (["x = 1", "df.query('a > @x')"], {"old": "x", "new": "z"}, "text=true"),
        (["x = 1", "%store x"], {"old": "x", "new": "z"}, "not understood"),
        (["x = 1", "%%R -i x\nplot(x)"], {"old": "x", "new": "z"}, "not understood"),
        (["x = 1", "x = = 1"], {"old": "x", "new": "z"}, "syntax error"),
        (["import x.y"], {"old": "x", "new": "z"}, "cannot be renamed"),
        (["x = 1", "class C:\n    x = 2\n    y = x"], {"old": "x", "new": "z"}, "attribute x of its own"),
        (["x = 1"], {"old": "x", "new": "x"}, "same name"),
    ],
)
def test_rename_refuses(cells: list[str], params: dict[str, str], reason: str) -> None:
    with pytest.raises(NotebookRefused, match=reason):
        refactor("rename", notebook(*cells), None, **params)


# hoist-imports


def test_hoist_moves_imports_with_their_comments_and_leaves_the_rest() -> None:
    cells = notebook(
        text("t", "# Title"),
        code("a", "%matplotlib inline\nimport os\n", execution_count=1),
        code("b", "import numpy as np  # arrays\nfrom math import (\n    pi,\n    e,\n)\n\nx = np.ones(3)\nx", execution_count=2,
             outputs=(result("ones"),)),
        "import os",
        "try:\n    import ujson as json\nexcept ImportError:\n    import json",
        "def f():\n    import re\n    return re",
        "import string; import re",
        "y = 1\ny\nimport textwrap",
        "%%time\nimport glob",
    )  # fmt: skip
    made = refactor("hoist-imports", cells)
    after = sources(made)
    assert (
        after["a"]
        == "%matplotlib inline\nimport os\nimport numpy as np  # arrays\nfrom math import (\n    pi,\n    e,\n)"
    )
    assert after["b"] == "x = np.ones(3)\nx"
    assert "d" not in after
    assert after["e"] == cells[4].source
    assert after["f"] == cells[5].source
    assert after["g"] == "import string; import re"
    assert after["h"] == "y = 1\ny\nimport textwrap"
    assert after["i"] == "%%time\nimport glob"
    assert made.after[2].outputs == (result("ones"),)


def test_hoist_makes_a_cell_where_none_only_imports() -> None:
    cells = notebook(text("t", "# Title"), text("s", "## One"), "x = 1\nprint(x)", "import math\nprint(math.pi)")
    made = refactor("hoist-imports", cells)
    assert [cell.source for cell in made.after] == [
        "# Title",
        "## One",
        "import math",
        "x = 1\nprint(x)",
        "print(math.pi)",
    ] or [cell.source for cell in made.after] == [
        "import math",
        "# Title",
        "## One",
        "x = 1\nprint(x)",
        "print(math.pi)",
    ]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["import os", "plt = 1", "import matplotlib.pyplot as plt"], "another meaning"),
        (["import os", "sys.path.insert(0, 'x')", "import mylib"], "may prepare it"),
        (["import os", "!pip install pandas", "import pandas"], "may prepare it"),
        (["import os", "os.environ['X'] = '1'\nimport torch"], "may prepare it"),
        (["import os", "print(sum([1]))", "from numpy import sum"], "above reads sum"),
        (["import os", "from math import *"], "its effect is on the code around it"),
        (["import os", "from . import helper"], "relative"),
    ],
)
def test_hoist_leaves_what_may_change(cells: list[str], reason: str) -> None:
    made = refactor("hoist-imports", notebook(*cells))
    assert made.operations == ()
    assert any(reason in note for note in made.notes), made.notes


# to-script


def test_script_is_jupytext_percent_form() -> None:
    cells = notebook(
        text("m", "# Title\n\nwords"),
        code("a", "%matplotlib inline\nimport os\nx = !ls\nos?", metadata={"tags": ["parameters"], "execution": {}}),
        code("b", "%%bash -s x\nls\n"),
        text("r", "raw text", "raw"),
        code("c", "# %% looks like a cell\ny = 1"),
    )
    context = Context(name="my.ipynb", metadata={"kernelspec": {"display_name": "Python 3: x", "name": "python3"}})
    made = refactor("to-script", cells, context)
    (file,) = made.files
    assert file.path == "my.py"
    assert file.content == (
        "# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n#       extension: .py\n"
        "#       format_name: percent\n#       format_version: '1.3'\n#   kernelspec:\n"
        '#     display_name: "Python 3: x"\n#     name: python3\n# ---\n\n'
        "# %% [markdown]\n# # Title\n#\n# words\n\n"
        '# %% tags=["parameters"]\n# %matplotlib inline\nimport os\n# x = !ls\n# os?\n\n'
        '# %% magic_args="-s x" language="bash"\n# ls\n\n'
        "# %% [raw]\n# raw text\n\n# %%\n# # %% looks like a cell\ny = 1\n"
    )
    assert made.operations == ()
    compile(file.content, "my.py", "exec")


def test_script_does_not_overwrite() -> None:
    with pytest.raises(NotebookRefused, match="exists already"):
        refactor("to-script", notebook("x = 1"), Context(name="a.ipynb", existing=frozenset({"a.py"})))


# fix-lint


def test_lint_applies_safe_fixes_and_leaves_magics() -> None:
    cells = notebook(
        "import os, sys\nimport json",
        "%matplotlib inline\nx = f'plain'\nif not x in ['a']:\n    print(os.sep)",
        "%%bash\nls",
        code("d", "x", outputs=(result("plain"),), execution_count=4),
    )
    made = refactor("fix-lint", cells)
    assert sources(made)["b"] == "%matplotlib inline\nx = 'plain'\nif x not in ['a']:\n    print(os.sep)"
    assert "json" not in sources(made)["a"]
    assert sources(made)["c"] == "%%bash\nls"
    assert made.after[3].outputs == (result("plain"),)


def test_lint_keeps_names_that_code_which_cannot_be_followed_may_use() -> None:
    made = refactor("fix-lint", notebook("import json", "exec(open('x').read())"))
    assert sources(made)["a"] == "import json"


def test_lint_leaves_a_cell_with_a_syntax_error_and_the_names_it_may_use() -> None:
    cells = notebook(
        "import os\nimport sys", "x = = os", "if (y := 1) == None:\n    pass\nprint(f'y')", "if not y in [1]: y"
    )
    made = refactor("fix-lint", cells)
    assert sources(made) == {
        "a": "import os\nimport sys",
        "b": "x = = os",
        "c": "if (y := 1) == None:\n    pass\nprint('y')",
        "d": "if y not in [1]: y",
    }
    assert "cell b has a syntax error and stays as it is" in made.notes


def test_lint_refuses_a_syntax_error() -> None:
    with pytest.raises(NotebookRefused, match="cell a has a syntax error"):
        refactor("fix-lint", notebook("x = = 1"))
