"""f23: an edit keeps what surrounds it: encoding, byte-order mark, line ends, the final newline or its absence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.edit import edit_bytes

SURROUNDINGS = {
    "crlf": (b"one\r\n", b"three\r\n", b"\r\n"),
    "mark and crlf": (b"\xef\xbb\xbfone\r\n", b"three\r\n", b"\r\n"),
    "no final newline": (b"one\n", b"three", b"\n"),
    "latin-1": ("Größe\n".encode("latin-1"), b"three\n", b"\n"),
    "broken utf-8": (b"\xff\xfe\x80\n", b"three\xc3\n", b"\n"),
    "form feed and separators": (b"a\x0cb\x1c\xc2\x85\xe2\x80\xa8c\n", b"three\n", b"\n"),
    "lone carriage returns": (b"a\rb\n", b"\rthree\n", b"\n"),
    "mixed line ends": (b"one\r\n", b"three\n", b"\r\n"),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
@pytest.mark.parametrize("block_end", ["\n", "\r\n"])
def test_f23_surroundings_stay(name: str, block_end: str) -> None:
    before, after, end = SURROUNDINGS[name]
    if name == "broken utf-8":
        before = b"#" + before  # not a UTF-16 mark
    blocks = [("two", block_end.join(["2a", "2b"]))]
    assert edit_bytes(before + b"two" + end + after, blocks) == before + b"2a" + end + b"2b" + end + after


@given(before=st.binary(max_size=40), after=st.binary(max_size=40), end=st.sampled_from([b"\n", b"\r\n"]))
def test_f23_any_bytes_around_an_edit_stay(before: bytes, after: bytes, end: bytes) -> None:
    head, line = b"#" + before + end, b"the one line with this text"
    result = edit_bytes(head + line + end + after, [(line.decode(), "x")])
    assert result == head + b"x" + end + after
