"""Windows, counts, replace_all, hunks, warnings."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import EditRefused, Tier, edit, edit_bytes, edit_text

TWICE = b"a\nb\na\n"


def test_window_makes_a_block_unique() -> None:
    assert edit_bytes(TWICE, [("a", "A")], start_line=2) == b"a\nb\nA\n"
    assert edit_bytes(TWICE, [("a", "A")], end_line=2) == b"A\nb\na\n"
    assert edit_bytes(TWICE, [("a", "A")], start_line=3, end_line=99) == b"a\nb\nA\n"


@pytest.mark.parametrize("last", ["a", "a\n"])
def test_window_of_the_last_line(last: str) -> None:
    data = ("a\nb\n" + last).encode()
    assert edit_bytes(data, [("a", "A")], start_line=3) == ("a\nb\n" + last.upper()).encode()


def test_window_holds_for_tolerant_tiers() -> None:
    data = "“x”\nif y:\n    stop()\n“x”\n    stop()\n".encode()
    assert edit_bytes(data, [("stop()", "go()")], end_line=3) == data.replace(b"stop", b"go", 1)
    assert edit_bytes(data, [('"x"', "z")], start_line=2).startswith("“x”\n".encode())


def test_counts() -> None:
    assert edit_bytes(TWICE, [("a", "A")], expected_count=2) == b"A\nb\nA\n"
    assert edit_bytes(TWICE, [("a", "A")], replace_all=True) == b"A\nb\nA\n"
    with pytest.raises(EditRefused, match="2 places, expected 3"):
        edit_bytes(TWICE, [("a", "A")], expected_count=3)
    with pytest.raises(EditRefused, match="1 place"):
        edit_bytes(TWICE, [("b", "A")], expected_count=2)


def test_replace_all_with_tolerance_fits_each_place() -> None:
    data = b"if a:\n    stop()\nif b:\n        stop()\n"
    result = edit_bytes(data, [("stop()", "go()\ngo()")], replace_all=True)
    assert result == b"if a:\n    go()\n    go()\nif b:\n        go()\n        go()\n"


def test_replace_all_of_overlapping_places_is_refused() -> None:
    with pytest.raises(EditRefused, match="overlaps itself"):
        edit_bytes(b"x\nx\nx\n", [("x\nx", "y")], replace_all=True)


def test_replace_all_renames_words_and_only_words() -> None:
    assert edit_bytes(b"foo = 1\na.foo(food)\n", [("foo", "bar")], replace_all=True) == b"bar = 1\na.bar(food)\n"


def test_replace_all_of_a_word_that_is_also_a_line_is_refused() -> None:
    with pytest.raises(EditRefused, match="one word"):
        edit_bytes(b"foo\nuse(foo)\n", [("foo", "bar")], replace_all=True)


def test_hunks_tell_lines_before_and_after() -> None:
    result = edit(b"a\nb\nc\nd\ne\n", [("d", ""), ("b", "b1\nb2")])
    assert [(h.block, h.start_line, h.end_line, h.new_start_line, h.new_end_line) for h in result.hunks] == [
        (1, 2, 2, 2, 3),
        (0, 4, 4, 5, 4),
    ]
    assert result.data == b"a\nb1\nb2\nc\ne\n"
    assert result.warnings == ()


def test_a_line_that_becomes_blank_is_no_deletion() -> None:
    result = edit(b"a\nx\nb\n", [("x ", " ")])
    assert result.data == b"a\n\nb\n"
    assert (result.hunks[0].start_line, result.hunks[0].end_line, result.hunks[0].new_end_line) == (2, 2, 2)
    assert edit(b"a\nx", [("x ", " ")]).data == b"a\n"


def test_old_mac_line_ends() -> None:
    assert edit(b"a\rb\rc", [("b\nc", "")]).data == b"a"
    assert edit(b"a\rb\ra\r", [("a", "x\ny")], start_line=3).data == b"a\rb\rx\ry\r"
    assert edit(b"  a\rb\r", [("a", "c")]).data == b"  c\rb\r"


def test_warnings_name_the_tolerance_and_its_penalty() -> None:
    result = edit(b"if a:\n    b()\n", [("b()", "c()")])
    assert result.warnings == (
        "Block 1 was placed by tolerating indentation (SEARCH has none, the text 4 spaces) (penalty 10).",
    )
    assert result.hunks[0].tiers == (Tier.INDENTATION,)
    assert result.hunks[0].penalty == 10


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf_16_with_a_mark_is_edited_in_its_encoding(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = (mark + "key=1\r\nname=ü\r\n").encode(encoding)
    assert edit_bytes(data, [("name=ü", "name=é\nmore=😀")]).decode("utf-16") == "key=1\r\nname=é\r\nmore=😀\r\n"


def test_what_cannot_be_kept_is_refused() -> None:
    for data in (b"\xff\xfe\x00", b"\xff\xfea\x00\n\x00\x00\xd8", "x = 1\n".encode("utf-32")):
        with pytest.raises(EditRefused) as caught:
            edit_bytes(data, [("x = 1", "x = 2")])
        assert caught.value.kind == "encoding"


def test_a_file_in_another_encoding_takes_no_new_characters() -> None:
    data = "# Größe\nx = 1\n".encode("latin-1")
    assert edit_bytes(data, [("x = 1", "x = 2")]) == data.replace(b"1", b"2")
    with pytest.raises(EditRefused, match="not UTF-8"):
        edit_bytes(data, [("x = 1", "x = 'ä'")])
    broken = "# Größe\nx = 1\n".encode() + b"\xff\n"
    assert edit_bytes(broken, [("x = 1", "x = 'ä'")]) == broken.replace(b"1", "'ä'".encode())


def test_cell_source() -> None:
    source, result = edit_text("a\r\nb\r\nc", [("b\r\n", "B")])
    assert source == "a\nB\nc"
    assert result.hunks[0].start_line == 2
    assert edit_text("x", [("x", "")])[0] == ""
    with pytest.raises(EditRefused):
        edit_text("x = '\ud800'", [("x", "y")])
