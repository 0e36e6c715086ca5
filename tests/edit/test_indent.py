"""REPLACE follows the indentation of the place, or the edit is refused."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import EditRefused, edit_bytes

RIGHT = {
    "prefix added": ("if a:\n    b()\n", "b()", "if c:\n    b()", "if a:\n    if c:\n        b()\n"),
    "prefix removed": ("a()\nb()\n", "  a()\n  b()", "  a()\n  if c:\n      d()", "a()\nif c:\n    d()\n"),
    "spaces to tabs": ("f(\n\t\ta\n)\n", "        a", "        b\n            c", "f(\n\t\tb\n\t\t\tc\n)\n"),
    "spaces to tabs, outward": (
        "f {\n\tg {\n\t\ta\n\t}\n}\n",
        "    g {\n        a\n    }",
        "    g {\n        a\n    }\n}\nh {\n    b",
        "f {\n\tg {\n\t\ta\n\t}\n}\nh {\n\tb\n}\n",
    ),
    "tabs to spaces": (
        "def f():\n  if a:\n    b()\n",
        "\tif a:\n\t\tb()",
        "\tif a:\n\t\tb()\n\telse:\n\t\tc()",
        "def f():\n  if a:\n    b()\n  else:\n    c()\n",
    ),
    "another step": (
        "def f():\n    if a:\n        b()\n",
        "  if a:\n    b()",
        "  if a:\n    b()\n    if c:\n      d()",
        "def f():\n    if a:\n        b()\n        if c:\n            d()\n",
    ),
    "alignment after tabs": (
        "f {\n\ta(1)\n\tb()\n}\n",
        "    a(1)\n    b()",
        "    if (x) {\n        a(1,\n          2)\n    }\n    b()",
        "f {\n\tif (x) {\n\t\ta(1,\n\t\t  2)\n\t}\n\tb()\n}\n",
    ),
    "outward of one level": (
        "class A:\n    def f():\n        if a:\n            b()\n",
        "        b()",
        "        b()\n    else:\n        c()",
        "class A:\n    def f():\n        if a:\n            b()\n        else:\n            c()\n",
    ),
    "first line bare": ("if a:\n    b()\n    c()\n", "b()\n    c()", "b()\n    d()", "if a:\n    b()\n    d()\n"),
    "first line bare, one line": ("if a:\n    b()\n", "b()", "b()\n    c()", "if a:\n    b()\n    c()\n"),
    "REPLACE is right already": (
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "    def f(self):\n        return 2",
        "class A:\n    def f(self):\n        return 2\n",
    ),
    "string content stays": (
        'class A:\n    def f(self):\n        q = """\nSELECT 1\n"""\n        return q\n',
        'q = """\nSELECT 1\n"""\nreturn q',
        'q = """\nSELECT 2\n"""\nlog(q)\nreturn q',
        'class A:\n    def f(self):\n        q = """\nSELECT 2\n"""\n        log(q)\n        return q\n',
    ),
    "blank lines stay empty": ("if a:\n    b()\n", "b()", "b()\n   \nc()", "if a:\n    b()\n\n    c()\n"),
    "exact is never moved": ("if a:\n    b()\n", "    b()", "  c()", "if a:\n  c()\n"),
}

UNCERTAIN = {
    "too little to take off": ("a()\nb()\n", "    a()\n    b()", "    a()\n  b()"),
    "SEARCH nests otherwise": ("if a:\n    x()\n    y()\n", "if a:\n    x()\ny()", "if a:\n    x()\nz()"),
    "levels fall together": ("if a:\n  x()\n  y()\n", "if a:\n    x()\n  y()", "if a:\n    x()\n  z()"),
    "REPLACE at the file's level": ("if a:\n    b()\n", "b()", "    c()"),
    "below a step that may be a prefix": ("if a:\n    b()\n", "  b()", "c()\n  b()"),
    "no unit to go by": ("if a:\n    b()\n", "b()", "if c:\n\tb()"),
    "mixed tabs and spaces": ("f\n\ta\n", "    a", "    a\n\tb"),
    "no such level": ("if a:\n    if b:\n        c()\n", "  if b:\n    c()", "  if b:\n    c()\n   d()"),
    "several lines bare": ("if a:\n    b()\n    c()\n", "b()\n    c()", "b()\nd()\n    c()"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_repaired(name: str) -> None:
    text, search, replace, expected = RIGHT[name]
    assert edit_bytes(text.encode(), [(search, replace)]).decode() == expected


@pytest.mark.parametrize("name", UNCERTAIN)
def test_refused(name: str) -> None:
    text, search, replace = UNCERTAIN[name]
    with pytest.raises(EditRefused) as caught:
        edit_bytes(text.encode(), [(search, replace)])
    assert caught.value.kind == "indentation_unrepairable"
    assert caught.value.places
