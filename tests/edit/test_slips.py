"""Slips of models beyond indentation: what is repaired, and what looks like it and is not."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import EditRefused, edit_bytes

APPLIED = {
    "edge blank that the file has stays": ("\na\n\nb\n", "\n\na", "\n\nA", "\nA\n\nb\n"),
    "edge blanks and indentation": ("if x:\n    b()\n", "\nb()\n", "\nc()\n", "if x:\n    c()\n"),
    "spurious trailing blanks": ("a = 1\nb\n", "a = 1  ", "a = 3  ", "a = 3\nb\n"),
    "wanted trailing blanks": ("one\ntwo\n", "two", "two  \nthree", "one\ntwo  \nthree\n"),
    "numbers": ("a\nb\nc\n", "     2\tb", "     2\tB\n     3\tB2", "a\nB\nB2\nc\n"),
    "numbers, line dropped": ("a\nb\nc\n", "1\ta\n2\tb\n3\tc", "1\ta\n3\tc", "a\nc\n"),
    "numbers and blank lines": ("a\n\nb\n", "1 | a\n2 |\n3 | b", "1 | A\n2 |\n3 | b", "A\n\nb\n"),
    "typed typography": ("it's = 1\n", "it’s = 1", "it’s = 2", "it's = 2\n"),
    "typography of the file": ("x = “a”\ny = 1\n", 'x = "a"\ny = 1', 'x = "a"\ny = “2”', "x = “a”\ny = “2”\n"),
    "no-break indentation": ("if a:\n    b = 1\n", "\u00a0\u00a0\u00a0\u00a0b = 1", "\u00a0\u00a0\u00a0\u00a0b = 2",
                             "if a:\n    b = 2\n"),
    "elided twice": ("a\n1\nb\n2\nc\n", "a\n...\nb\n...\nc", "A\n...\nb\n...\nC", "A\n1\nb\n2\nC\n"),
    "elided by a comment": ("f {\n  x\n  y\n}\n", "f {\n  // ... existing code ...\n}",
                            "g {\n  // ... existing code ...\n}", "g {\n  x\n  y\n}\n"),
    "part of a line": ("v = call(1) + 2\n", "call(1)", "call(3)", "v = call(3) + 2\n"),
    "part of a crlf file": ("v = f(1,\r\n  2)\r\n", "f(1,\n  2)", "f(1,\n  3)", "v = f(1,\r\n  3)\r\n"),
}  # fmt: skip

REFUSED = {
    "numbers of other lines": ("a\nb\nc\n", "2\ta\n3\tb", "2\tA\n3\tb", "not_found"),
    "numbers on some lines": ("a\nb\nc\n", "     2\tb", "     2\tb\nnew", "not_found"),
    "numbers that may be content": ("10 apples\n", "1 10 apples", "1 apples", "not_found"),
    "full-width punctuation": ("f（a）\n", "f(a)", "f(b)", "not_found"),
    "escapes of two kinds": ('say("hi")\n', 'say(\\"hi\\")', 'say("a\\n")', "not_found"),
    "elided, piece twice": ("f\nend\ng\nend\n", "f\n...\nend", "F\n...\nend", "ambiguous"),
    "elided, counts differ": ("f\n1\nend\n", "f\n...\nend", "F\nend", "omission_placeholder"),
    "elided, wrong order": ("a\nb\n", "b\n...\na", "B\n...\nA", "omission_placeholder"),
    "name cut": ("x = not_found\n", "found", "lost", "not_found"),
    "number cut": ("x = 1.5\n", "= 1", "= 2", "not_found"),
    "operator cut": ("if a != b:\n", "= b", "= c", "not_found"),
    "dashed name cut": ("outline-offset: 3px\n", "offset: 3px", "offset: 2px", "not_found"),
    "joined emoji cut": ("a 👩‍👧 b\n", "👧 b", "👦 b", "not_found"),
    "escape cut": ("x = '\\n'\n", "n'", "t'", "not_found"),
    "line whose end was forgotten": ("run(a, b)\n", "run(a", "run(c", "not_found"),
    "commented out": ("# x = 1\ny\n", "x = 1", "x = 2", "not_found"),
    "attribute cut": ("self.x = 1\n", "x = 1", "x = 2", "not_found"),
    "blank line inside": ("a\n\nb\n", "a\nb", "c", "not_found"),
    "spacing inside": ("f( a )\n", "f(a)", "f(b)", "not_found"),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIED)
def test_repaired(name: str) -> None:
    text, search, replace, expected = APPLIED[name]
    assert edit_bytes(text.encode(), [(search, replace)], filename="a.txt").decode() == expected


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, search, replace, kind = REFUSED[name]
    with pytest.raises(EditRefused) as caught:
        edit_bytes(text.encode(), [(search, replace)], filename="a.txt")
    assert caught.value.kind == kind


@pytest.mark.parametrize("search", ["\\n", "     2\t", "\\n\\n", "\u200b"])
def test_a_reading_that_is_blank_places_nothing(search: str) -> None:
    with pytest.raises(EditRefused):
        edit_bytes(b"a\n\nb\n", [(search, "x")])
