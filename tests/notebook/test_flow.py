"""Names and edges of cells with the syntax of real notebooks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import RANDOM_STATE, CellFlow, Graph, analyse


def notebook(*sources: str, counts: Iterable[int | None] | None = None) -> list[Cell]:
    """Cells a, b, c, …, run once from top to bottom unless `counts` says otherwise."""
    numbers = list(counts) if counts is not None else list(range(1, len(sources) + 1))
    return [
        Cell("abcdefghijklmnopqrstuvwxyz"[i], i, "code", source, execution_count=numbers[i])
        for i, source in enumerate(sources)
    ]


def one(source: str) -> CellFlow:
    return analyse(notebook(source)).cells[0]


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.target, edge.name) for edge in graph.edges}


READS_AND_WRITES = [
    ("x = y + 1", {"y"}, {"x"}),
    ("x = 1\ny = x", set(), {"x", "y"}),
    ("x += 1", {"x"}, {"x"}),
    ("import os.path, numpy as np\nfrom m import a, b as c", set(), {"os", "np", "a", "c"}),
    ("for i in items:\n    total = i\nelse:\n    done = True", {"items"}, {"done"}),
    ("if flag:\n    x = 1\nelse:\n    x = 2\nprint(x)", {"flag"}, {"x"}),
    ("if flag:\n    x = 1\nelse:\n    raise ValueError\nx", {"flag"}, {"x"}),
    ("try:\n    import ujson as json\nexcept ImportError:\n    import json\njson", set(), {"json"}),
    ("try:\n    x = f()\nfinally:\n    y = 2\nx", {"f"}, {"x", "y"}),
    ("try:\n    pass\nexcept E as error:\n    print(error)", {"E"}, set()),
    ("while True:\n    x = next(source)\n    if x:\n        break", {"source"}, {"x"}),
    ("with open(path) as file, lock:\n    text = file.read()", {"path", "lock"}, {"file", "text"}),
    ("[x * k for x in xs if x > lo]", {"k", "xs", "lo"}, set()),
    ("x = [x for x in x]", {"x"}, {"x"}),
    ("[last := v for v in vs]\nlast", {"vs"}, {"last"}),
    ("if (n := len(data)) > 10:\n    print(n)", {"data"}, {"n"}),
    ("f = lambda x, y=default: x + y + outer", {"default"}, {"f"}),
    ("sorted(xs, key=lambda x: x + offset)", {"xs", "offset"}, set()),
    ("def f(a, b=default) -> Result:\n    c = a + g\n    return c", {"default", "Result"}, {"f"}),
    ("def f():\n    return g\nf()", {"g"}, {"f"}),
    ("def f():\n    return g\ng = 1\nf()", set(), {"f", "g"}),
    ("@decorate(arg)\ndef f(): pass", {"decorate", "arg"}, {"f"}),
    ("class C(Base, metaclass=Meta):\n    x = start\n    y = x\n    def m(self):\n        return x",
     {"Base", "Meta", "start"}, {"C"}),
    ("match command:\n    case Point(x=0):\n        y = 1\n"
     "    case [a, *rest]:\n        y = a\n    case _:\n        y = 2",
     {"command", "Point"}, {"y"}),
    ("f'{name!r:>{width}} {{not}}'", {"name", "width"}, set()),
    ("a, (b, *c) = pair", {"pair"}, {"a", "b", "c"}),
    ("d['k'].x = v", {"d", "v"}, set()),
    ("x: int = 3\ny: Type", {"Type"}, {"x"}),
    ("from __future__ import annotations\ndef f(a: Unknown): pass", set(), {"annotations", "f"}),
    ("del x", {"x"}, set()),
    ("global x\nx = 1", set(), {"x"}),
    ("def f():\n    global counter\n    counter = start\nf()\ncounter", {"start"}, {"f"}),
    ("await fetch(url)", {"fetch", "url"}, set()),
    ("async with session() as s:\n    r = await s.get(u)", {"session", "u"}, {"s", "r"}),
    ("print(len(str(__name__)), get_ipython(), display, _)", set(), set()),
    ("größe = 数 + 1", {"数"}, {"größe"}),
    ("assert ok, message", {"ok", "message"}, set()),
]  # fmt: skip


@pytest.mark.parametrize(("source", "reads", "writes"), READS_AND_WRITES)
def test_reads_and_writes(source: str, reads: set[str], writes: set[str]) -> None:
    flow = one(source)
    assert flow.source.error is None
    assert flow.reads == reads
    assert flow.writes == writes


MAGICS = [
    ("%matplotlib inline\nx = y", {"y"}, {"x"}),
    ("!pip install thing\nx = 1", set(), {"x"}),
    ("if flag:\n    !ls\n    x = 1\nelse:\n    %cd ..\n    x = 2", {"flag"}, {"x"}),
    ("%time x = f(y)", {"f", "y"}, {"x"}),
    ("%timeit -n 10 -r3 x = f(y)", {"f", "y"}, set()),
    ("%%time\nx = f(y)", {"f", "y"}, {"x"}),
    ("%%timeit n = 5\nx = n + y", {"y"}, set()),
    ("%%capture out\nprint(y)", {"y"}, {"out"}),
    ("%%time\n%%capture\n!ls\nx = y", {"y"}, {"x"}),
    ("files = !ls {folder}\na, b = %sx true", set(), {"files", "a", "b"}),
    ("x = 1\nx?\n??f\nprint?", set(), {"x"}),
    ("%%bash --out result\necho $x", set(), {"result"}),
    ("%%R -i frame -o model\nmodel <- lm(y ~ x, frame)", {"frame"}, {"model"}),
    ("%store x", {"x"}, set()),
    ("!echo a \\\n  b\nx = 1", set(), {"x"}),
    ("text = '''\n%notmagic\n!no\n'''\nx = (a\n% b)", {"a", "b"}, {"text", "x"}),
    ("pip install pandas", set(), set()),
    (">>> x = 1\n>>> y = x", set(), {"x", "y"}),
    ("  x = 1\n  if x:\n      y = 2\n  else:\n      y = 3", set(), {"x", "y"}),
]


@pytest.mark.parametrize(("source", "reads", "writes"), MAGICS)
def test_ipython_syntax(source: str, reads: set[str], writes: set[str]) -> None:
    flow = one(source)
    assert flow.source.error is None
    assert flow.reads == reads
    assert flow.writes == writes
    assert not flow.unknown
    assert flow.source.text.count("\n") == source.count("\n"), "lines must be kept"


def test_columns_are_kept_where_a_magic_runs_a_statement() -> None:
    from jupyter_agent.notebook.flow_source import to_python

    source = "# comment\nif a:\n    %time  total = compute(ärger)\n    %prun -s cumulative other = go(x)"
    text = to_python(source).text
    for name in ("total", "compute", "ärger", "other", "go", "(x)"):
        line = next(i for i, each in enumerate(source.split("\n")) if name in each)
        assert text.split("\n")[line].index(name) == source.split("\n")[line].index(name)


UNKNOWN = [
    ("from numpy import *", "import *"),
    ("exec(code)", "exec()"),
    ("eval('x + 1')", "eval()"),
    ("globals()['x'] = 1", "globals()"),
    ("%run other.ipynb", "%run"),
    ("%load_ext rpy2.ipython", "%load_ext"),
    ("%pylab", "%pylab"),
    ("%%somemagic\nwhatever", "%%somemagic"),
    ("get_ipython().run_cell('x = 1')", "run_cell"),
    ("get_ipython().user_ns['x'] = 1", "user_ns"),
    ("def f():\n    exec('x = 1')\nf()", "exec()"),
    ("x = = 1", "syntax error"),
    ("print 'python 2'", "syntax error"),
]


@pytest.mark.parametrize(("source", "what"), UNKNOWN)
def test_what_cannot_be_followed_is_marked(source: str, what: str) -> None:
    assert any(what in each.what for each in one(source).unknown)


@pytest.mark.parametrize("source", ["%load_ext autoreload\n%autoreload 2", "import foo", "getattr(a, 'b')"])
def test_what_can_be_followed_is_not_marked(source: str) -> None:
    assert not one(source).unknown


CHANGES = [
    ("xs.append(1)", {"xs"}, set()),
    ("d['k'] = 1", {"d"}, set()),
    ("obj.a.b = 1", {"obj"}, set()),
    ("df.loc[0, 'x'] = 1", {"df"}, set()),
    ("x += 1", {"x"}, set()),
    ("del d['k']", {"d"}, set()),
    ("df.dropna(inplace=True)", {"df"}, set()),
    ("df.dropna(inplace=False)", set(), set()),
    ("df.head()", set(), set()),
    ("df.plot()", set(), set()),
    ("ax.plot(x)", {"ax"}, set()),
    ("model.fit(X, y)", {"model"}, set()),
    ("thing.frobnicate(x)", set(), {"thing", "x"}),
    ("helper(df)", set(), {"helper", "df"}),
    ("import numpy as np\nnp.sum(a)", set(), set()),
    ("import random\nrandom.shuffle(deck)", {"deck"}, set()),
    ("import mylib\nmylib.clean(df)", set(), {"df"}),
    ("ys = xs\nys.append(1)", {"xs", "ys"}, set()),
    ("for row in rows:\n    row.append(1)", {"row"}, {"rows"}),
    ("def f(a, b):\n    b.append(a)\nf(x, y)", {"y"}, set()),
    ("def f(a):\n    a[0] = 1\nf(a=y)", {"y"}, set()),
    ("def f(a):\n    b = a\n    b.pop()\nf(y)", {"y"}, set()),
    ("def f(a):\n    return a.mean()\nf(y)", set(), set()),
    ("def f():\n    cache['x'] = 1\nf()", {"cache"}, set()),
    ("print(x)\nlen(x)", set(), set()),
]


@pytest.mark.parametrize(("source", "changes", "maybe"), CHANGES)
def test_changes_of_objects(source: str, changes: set[str], maybe: set[str]) -> None:
    flow = one(source)
    assert flow.changes == changes
    assert flow.maybe_changes == maybe


def test_edges_go_through_functions_methods_aliases_and_changes() -> None:
    graph = analyse(
        notebook(
            "k = 2",
            "def scale(v):\n    return v * k",
            "def twice(v):\n    return scale(scale(v))",
            "xs = [1]",
            "ys = xs",
            "ys.append(twice(3))",
            "print(xs)",
            "class Box:\n    def get(self):\n        return k",
            "box = Box()",
            "box.get()",
        )
    )
    found = edges(graph)
    assert {("a", "f", "k"), ("b", "f", "scale"), ("c", "f", "twice"), ("e", "f", "ys")} <= found
    assert ("f", "g", "xs") in found
    assert ("a", "j", "k") in found
    assert ("a", "b", "k") not in found, "defining a function does not run it"


def test_a_parameter_or_local_of_the_same_name_is_another_name() -> None:
    graph = analyse(notebook("x = 1", "def f(x):\n    y = x\n    return y", "f(3)", "[x for x in range(3)]"))
    assert edges(graph) == {("b", "c", "f")}


def test_rebinding_cuts_the_edge_and_a_branch_does_not() -> None:
    graph = analyse(notebook("x = 1", "x = 2", "x", "if c:\n    x = 3", "x"))
    assert {edge for edge in edges(graph) if edge[1] == "c"} == {("b", "c", "x")}
    assert {edge for edge in edges(graph) if edge[1] == "e"} == {("b", "e", "x"), ("d", "e", "x")}


def test_seed_reaches_the_cells_that_draw() -> None:
    graph = analyse(notebook("import numpy as np", "np.random.seed(1)", "a = np.random.rand()", "b = 2"))
    assert ("b", "c", RANDOM_STATE) in edges(graph)
    assert not [edge for edge in graph.edges if edge.target == "d"]


def test_deleted_name_is_gone() -> None:
    graph = analyse(notebook("x = 1", "del x", "x"))
    assert graph["c"].undefined == {"x"}


def test_other_languages_are_unknown() -> None:
    graph = analyse(notebook("x <- 1", "print(x)"), language="R")
    assert all(flow.unknown for flow in graph.cells)
    assert not graph.edges


def test_markdown_and_raw_cells_are_no_part() -> None:
    cells = [Cell("m", 0, "markdown", "x = 1"), Cell("c", 1, "code", "y = x"), Cell("r", 2, "raw", "y")]
    assert [flow.id for flow in analyse(cells).cells] == ["c"]


@pytest.mark.parametrize(
    "source",
    ["", "\n\n", "#", "%", "!", "?", "%%", "%%\n", "x = !", "'''", "(", "\\", "x = %", "\t", "\ud800", "\x00", "%time",
     "%timeit -n", "%%timeit", "%%capture", "x?\\", "!\\\n", "'\\\n%x'", "lambda: (yield)", "return 1", "f'{'", "?x?",
     ")" * 50, "(" * 300, "a." * 400 + "b", "-" * 3000 + "1", "%%time\n%%bash\necho"],
)  # fmt: skip
def test_no_source_raises(source: str) -> None:
    analyse(notebook(source, "x"))
