"""rename, hoist-imports, to-script, fix-lint: golden results and refusals."""

# ruff: noqa: E501  (sources of cells, one a line)

from __future__ import annotations

import pytest
from refactor.recipe_helpers import code, notebook, refactor, result, sources, text

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.refactor.plan import Context

# rename


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
