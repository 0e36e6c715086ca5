"""f23: writing a file changes the bytes it was told to change, and no other: encodings, marks and line ends stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.effects import commit
from jupyter_agent.tools import all_tools
from jupyter_agent.workspace import Workspace

CONTENTS = {
    "latin-1": "caf\u00e9 = 1\nx = 2\n".encode("latin-1"),
    "utf-8 with mark": b"\xef\xbb\xbfx = 1\n",
    "utf-16": "x = 1\n".encode("utf-16"),
    "crlf": b"x = 1\r\ny = 2\r\n",
    "mixed line ends": b"x = 1\r\ny = 2\nz = 3\r",
    "no final newline": b"x = 1",
    "form feed and separators": b"x\x0c = 1\x1c\xe2\x80\xa8\n",
    "not text": bytes(range(256)),
    "lone continuation bytes": b"x = '\x80\xbf'\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", CONTENTS)
async def test_f23_text_and_back_is_the_same_bytes(tmp_path: Path, name: str) -> None:
    data = CONTENTS[name]
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    workspace = Workspace(tmp_path)
    content = workspace.read("a.txt")
    assert content.text.encode("utf-8", "surrogateescape") == data
    await commit(workspace.write("a.txt", data + b"added"))
    assert path.read_bytes() == data + b"added"
    await commit(workspace.write("a.txt", data))
    assert path.read_bytes() == data


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("odd", [b"caf\xe9 \x80", b"\xef\xbb\xbfmark", "漢 \u2028 é".encode(), b"form\x0cfeed \x1b[0m"])
@pytest.mark.parametrize("last", [b"", b"end"])
async def test_f23_an_edit_changes_its_lines_and_no_other_byte(
    tmp_path: Path, line_end: bytes, odd: bytes, last: bytes
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    data = odd + line_end + b"one  " + line_end + b"two" + line_end + odd + line_end + last
    (root / "a.txt").write_bytes(data)
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        result = await call(conversation, "edit_file", path="a.txt", blocks=[{"search": "two", "replace": "2\n3"}])
    assert not result.is_error, text_of(result)
    assert (root / "a.txt").read_bytes() == data.replace(b"two", b"2" + line_end + b"3")
