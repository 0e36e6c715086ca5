"""Only errors that an edit brought are reported, with the lines around; each language by its own grammar."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jupyter_agent.edit import trees
from jupyter_agent.edit.syntax import check_cell, check_syntax
from jupyter_agent.notebook.flow_source import to_python

LANGUAGES = {
    "a.py": ("x = 1\n", "x = (1\n"),
    "a.js": ("let a = 1;\n", "let a = ;\n"),
    "a.ts": ("let a: number = 1;\n", "let a: = 1;\n"),
    "a.tsx": ("const a = <b>x</b>;\n", "const a = <b>x</c;\n"),
    "a.json": ('{"a": 1}\n', '{"a" 1}\n'),
    "a.yaml": ("a: 1\n", "a: [1\nb: 2\n"),
    "a.toml": ("a = 1\n", "a = \n"),
    "a.html": ("<p>a</p>\n", "<p>a</p></b\n"),
    "a.css": ("a { b: c; }\n", "a { b: c;\n"),
    "a.sh": ("if x; then y; fi\n", "if x; then y;\n"),
    "a.c": ("int a() { return 0; }\n", "int a() { return 0;\n"),
    "a.cpp": ("int a() { return 0; }\n", "int a( { return 0; }\n"),
    "a.rs": ("fn a() {}\n", "fn a( {}\n"),
    "a.go": ("package a\n", "package\n"),
    "a.java": ("class A {}\n", "class A {\n"),
}


@pytest.mark.parametrize("filename", LANGUAGES)
def test_language(filename: str) -> None:
    good, bad = (text.encode() for text in LANGUAGES[filename])
    assert check_syntax(None, good, filename) == []
    assert check_syntax(good, bad, filename)
    assert check_syntax(bad, b"\n" + bad, filename) == [], "an old error that moved is not new"


@pytest.mark.parametrize("filename", ["a.txt", "Makefile", "a.md", "a.unknown"])
def test_unknown_languages_are_left_alone(filename: str) -> None:
    assert check_syntax(None, b"(((", filename) == []


def test_the_lines_around_are_shown() -> None:
    problem = check_syntax(b"a = 1\nb = 2\n", b"a = 1\nb = 2\nc = (\nd = 4\ne = 5\nf = 6\n", "a.py")[0]
    assert problem.line == 3
    assert problem.context.split("\n") == [
        "     1\ta = 1",
        "     2\tb = 2",
        ">    3\tc = (",
        "     4\td = 4",
        "     5\te = 5",
    ]


@pytest.mark.parametrize(
    "source", ["print 'a'\n", "if a:\nb()\n", "def f():\nreturn 1\n", "return 1\n", "x = 1\n  y = 2\n"]
)
def test_python_is_stricter_than_its_grammar(source: str) -> None:
    assert check_syntax(b"", source.encode(), "a.py")


def test_a_second_error_behind_an_old_one_is_found() -> None:
    old = b"print 'a'\nx = 1\n"
    problems = check_syntax(old, old + b"y = (1\n\ndef f(:\n    pass\n", "a.py")
    assert problems
    assert all(problem.line > 2 for problem in problems)


def program(functions: int) -> bytes:
    return "\n".join(f"def f_{number}(a):\n    return a + {number}\n" for number in range(functions)).encode()


def test_a_large_python_file_is_checked_where_it_changed() -> None:
    good = program(5000)
    for bad, line in (
        (good.replace(b"a + 4000\n", b"(a + 4000\n"), 12002),
        (good.replace(b"def f_4000(a):\n    return", b"def f_4000(a):\nreturn"), 12002),
        (good + b"return 1\n", 15000),
        (b"x = (\n" + good, 1),
    ):
        problems = check_syntax(good, bad, "a.py")
        assert [problem.line for problem in problems][:1] == [line]
        assert check_syntax(bad, bad + b"\n", "a.py") == []
        assert check_syntax(bad, good, "a.py") == []


def test_a_large_file_is_parsed_again_only_where_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = "\n".join(f"function f_{number}(a) {{ return a + {number}; }}" for number in range(5000)).encode()
    check_syntax(None, good, "a.js")
    edited = []
    original = trees._edited
    monkeypatch.setattr(trees, "_edited", lambda *given: edited.append(1) or original(*given))
    bad = good.replace(b"a + 4000;", b"a + (4000;")
    assert [problem.line for problem in check_syntax(good, bad, "a.js")] == [4001]
    assert edited == [1]


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nx = 1\n!ls {x}\ny?",
        "await x",
        "%%time\nx = 1",
        "%%sql\nSELECT 1",
        "%%sql\nSELECT * FROM t WHERE a = :a AND b = {{ b }} AND c = $c AND d = %(d)s",
        "%%sql\nPRAGMA table_info(t)",
        "%%latex\n$\\frac{1}",
        "%%writefile a.txt\nx = (",
        "%%bash\nif x; then y; fi",
        "%timeit \\\n    f(1)\nx = 1",
        "",
    ],
)
def test_cells_that_are_fine(source: str) -> None:
    assert check_cell(None, source, to_python=python_of) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("%matplotlib inline\nx = (", 2),
        ("%%time\nx = (", 2),
        ("%%bash\ny\nif x; then", 3),
        ("\n%%javascript\nlet a = ;", 3),
        ("%%html\n<p>a</p></b", 2),
        ("%%sql\nSELECT :a;\nSELEC 2", 3),
        ("%%writefile a.py\nx = (", 2),
        ("%timeit \\\n    f(1)\nx = (", 3),
        ("%%script bash --no-raise\nif x; then", 2),
    ],
)
def test_cells_with_an_error(source: str, line: int) -> None:
    assert [problem.line for problem in check_cell("", source, to_python=python_of)] == [line]
    assert check_cell(source, source + "\n", to_python=python_of) == []


def test_cells_of_another_kernel() -> None:
    assert check_cell(None, "f(x = 1", to_python=python_of, language="R") == []
    assert check_cell(None, "int a( {", to_python=python_of, language="cpp")


def python_of(source: str) -> str:
    return to_python(source).text


def test_the_engine_is_cheap_to_import() -> None:
    """Heavy modules come with the first use, not with the import."""
    code = "import sys, jupyter_agent.edit; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for name in ("tree_sitter", "IPython", "difflib", "tomllib", "asyncio", "importlib.metadata", "pathlib"):
        assert name not in loaded or name in sys.builtin_module_names
