"""read_file, edit_file, write_file as a model calls them, over real files and the real permission layer."""

from __future__ import annotations

import base64
import json
import sqlite3
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.conversation import Conversation
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tool import ToolResult
from jupyter_agent.tools import all_tools


@asynccontextmanager
async def desk(tmp_path: Path, **options: Any) -> AsyncIterator[Conversation]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    async with conversation_on(root, all_tools(), folder=tmp_path / "conversation", **options) as conversation:
        yield conversation


def refused(result: ToolResult) -> str:
    assert result.is_error
    kind: str = result.details["refused"]["kind"]
    return kind


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + b"\x7f" * (3 * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


# ------------------------------------------------------------------------------------------------------- reading


async def test_lines_are_numbered_and_paged(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.py").write_text("".join(f"x{n} = {n}\n" for n in range(1, 1001)))
        first = text_of(await call(made, "read_file", path="a.py")).split("\n")
        assert first[0] == "ok a.py lines 1-200 of 1,000; start_line=201 shows more"
        assert first[1] == "     1\tx1 = 1"
        assert len(first) == 201
        part = await call(made, "read_file", path="a.py", start_line=201, end_line=203)
        assert text_of(part).split("\n")[1:] == ["   201\tx201 = 201", "   202\tx202 = 202", "   203\tx203 = 203"]
        last = await call(made, "read_file", path="a.py", start_line=-2)
        assert text_of(last).split("\n")[0] == "ok a.py lines 999-1000 of 1,000"
        assert "no line 2,000" in text_of(await call(made, "read_file", path="a.py", start_line=2000))


@pytest.mark.parametrize(("name", "tokens"), [("a.py", 24_000), ("a.txt", 8_000)])
async def test_a_range_is_capped_by_the_kind_of_file(tmp_path: Path, name: str, tokens: int) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / name).write_text("some = 'ordinary line of text'\n" * 20_000)
        result = await call(made, "read_file", path=name, start_line=1, end_line=20_000)
        assert 0.8 * tokens < len(text_of(result)) / 2.85 < 1.1 * tokens
        assert f"start_line={result.details['end'] + 1} shows more" in text_of(result)


async def test_a_very_long_line_is_cut_and_does_not_count_as_read(tmp_path: Path) -> None:
    async with desk(tmp_path, ledger=True) as made:
        (tmp_path / "root" / "a.js").write_text("short\n" + "x" * 100_000 + "\nend\n")
        text = text_of(await call(made, "read_file", path="a.js"))
        assert len(text) < 4_000
        assert "98,000 more characters" in text
        assert refused(await call(made, "write_file", path="a.js", content="y\n", percentage_to_change=100)) == "unread"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "ok a.txt is empty"),
        (b"one", "     1\tone"),
        (b"\xef\xbb\xbfmark\r\ncrlf\r\n", "     1\tmark\n     2\tcrlf"),
        ("utf-16 ü\n".encode("utf-16"), "     1\tutf-16 ü"),
        (b"old\rmac\r", "     1\told\n     2\tmac"),
        (b"caf\xe9\n", "     1\tcaf\ufffd"),
    ],
)
async def test_encodings_and_line_ends(tmp_path: Path, data: bytes, expected: str) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.txt").write_bytes(data)
        text = text_of(await call(made, "read_file", path="a.txt"))
        assert text.endswith(expected)
        json.dumps(text).encode()


@pytest.mark.parametrize(
    ("name", "data", "kind", "says"),
    [
        ("a.bin", b"\0\1\2" * 100, "binary", "run_bash"),
        ("a.ipynb", b"{}", "notebook", "read_cells(path='a.ipynb')"),
        ("missing.py", None, "missing", "find_files"),
        ("folder", None, "not_regular", "find_files"),
        ("../outside.txt", None, "outside", "inside it"),
        ("a.secret", b"x", "ignored", ".agentignore"),
    ],
)
async def test_what_is_not_read_is_refused_with_advice(
    tmp_path: Path, name: str, data: bytes | None, kind: str, says: str
) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "folder").mkdir()
        (tmp_path / "root" / ".agentignore").write_text("*.secret\n")
        if data is not None:
            (tmp_path / "root" / name).write_bytes(data)
        result = await call(made, "read_file", path=name)
        assert refused(result) == kind
        assert says in text_of(result)


async def test_images_come_as_images_within_bounds(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "small.png").write_bytes(png(30, 20))
        (tmp_path / "root" / "large.png").write_bytes(png(4000, 1000))
        (tmp_path / "root" / "broken.png").write_bytes(png(30, 20)[:-20])
        small = await call(made, "read_file", path="small.png")
        assert [block["type"] for block in small.content] == ["text", "image"]
        assert base64.b64decode(small.content[1]["source"]["data"]) == png(30, 20)
        large = await call(made, "read_file", path="large.png")
        data = base64.b64decode(large.content[1]["source"]["data"])
        assert struct.unpack(">II", data[16:24]) == (1568, 392)
        broken = await call(made, "read_file", path="broken.png")
        assert [block["type"] for block in broken.content] == ["text"]
        assert "not shown" in text_of(broken)


async def test_data_files_come_as_schema_size_and_head(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with desk(tmp_path) as made:
        (root / "a.csv").write_text(
            "id,price,colour\n" + "".join(f"{n},{n / 2},{'red' if n % 2 else ''}\n" for n in range(50))
        )
        text = text_of(await call(made, "read_file", path="a.csv"))
        assert "CSV, 50 rows × 3 columns, delimiter ','" in text
        assert "  id: integer, 0 to 49" in text
        assert "  price: number, 0 to 24.5" in text
        assert "  colour: text, one of red, 25 of 50 empty" in text
        assert "first rows:\nid,price,colour\n0,0.0," in text
        lines = text_of(await call(made, "read_file", path="a.csv", start_line=2, end_line=2))
        assert lines.endswith("     2\t0,0.0,")
        (root / "a.tsv").write_text("a\tb\n1\t2\n")
        assert "TSV, 1 rows × 2 columns" in text_of(await call(made, "read_file", path="a.tsv"))
        (root / "semicolon.csv").write_text('a;b\n"1;5";2\n')
        assert "about 1 rows × 2 columns, delimiter ';'" in text_of(await call(made, "read_file", path="semicolon.csv"))
        (root / "a.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": null}\nbroken\n')
        text = text_of(await call(made, "read_file", path="a.jsonl"))
        assert "about 3 lines, 1 of the first broken" in text
        assert "  a: integer or null" in text
        assert "  b: text, missing in 1 of 2" in text
        with sqlite3.connect(root / "a.db") as database:
            database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, photo BLOB)")
            database.executemany("INSERT INTO people VALUES (?, ?, ?)", [(n, f"p{n}", b"\0" * n) for n in range(20)])
        database.close()
        before = sorted(path.name for path in root.iterdir())
        text = text_of(await call(made, "read_file", path="a.db"))
        assert "table people (20 rows): id INTEGER key, name TEXT, photo BLOB" in text
        assert "  1 | p1 | <1 bytes>" in text
        assert sorted(path.name for path in root.iterdir()) == before


async def test_a_large_csv_is_summarised_without_reading_it_into_memory(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        with (tmp_path / "root" / "big.csv").open("w") as file:
            file.write("a,b\n")
            for _ in range(300):
                file.write("1234567,some text\n" * 5_000)
        result = await call(made, "read_file", path="big.csv")
        assert "about 1,500,000 rows × 2 columns" in text_of(result)


async def test_parquet_is_described_by_the_kernel_or_said_not_to_be(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.parquet").write_bytes(b"PAR1nonsense")
        result = await call(made, "read_file", path="a.parquet")
        assert "cannot be read" in text_of(result) or "lacks a library" in text_of(result)


async def test_a_deny_rule_keeps_a_file_from_being_read(tmp_path: Path) -> None:
    from jupyter_agent.permission import parse_rule

    async with desk(tmp_path) as made:
        (tmp_path / "root" / "private.txt").write_text("x")
        made.gate.rules = (parse_rule("read_file(private*)", "deny"),)
        assert refused(await call(made, "read_file", path="private.txt")) == "denied"


# ------------------------------------------------------------------------------------------------------- editing

SOURCE = "import os\n\n\ndef f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 1\n"


async def test_an_edit_lands_and_shows_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "root" / "a.py"
    async with desk(tmp_path) as made:
        path.write_text(SOURCE)
        blocks = [{"search": "def f(x):\n    return x + 1", "replace": "def f(x):\n    return x + 2"}]
        result = await call(made, "edit_file", path="a.py", blocks=blocks)
        assert path.read_text() == SOURCE.replace("x + 1", "x + 2", 1)
        assert text_of(result).startswith("ok edited a.py at lines ")
        assert "-    return x + 1\n+    return x + 2" in text_of(result)
        assert result.details["syntax"] == []
        undone = [event for event in made.events if event.type == "change"]
        assert [event.target for event in undone] == [str(path)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"blocks": [{"search": "    return x + 1", "replace": "    return 0"}], "start_line": 8},
        {"text": "<<<<<<< SEARCH\n    return x + 1\n=======\n    return 0\n>>>>>>> REPLACE", "start_line": 8},
        {"old_string": "def g(x):\n    return x + 1", "new_string": "def g(x):\n    return 0"},
        {"edits": [{"old_string": "def g(x):\n    return x + 1", "new_string": "def g(x):\n    return 0"}]},
        {"blocks": {"search": "def g(x):\n    return x + 1", "replace": "def g(x):\n    return 0"}},
    ],
)
async def test_every_way_of_writing_an_edit(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.py").write_text(SOURCE)
        result = await call(made, "edit_file", path="a.py", **arguments)
        assert not result.is_error, text_of(result)
        assert (tmp_path / "root" / "a.py").read_text().endswith("def g(x):\n    return 0\n")


async def test_what_cannot_be_placed_is_refused_and_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "root" / "a.py"
    async with desk(tmp_path) as made:
        path.write_text(SOURCE)
        blocks = [{"search": "    return x + 1", "replace": "    return x - 1"}]
        result = await call(made, "edit_file", path="a.py", blocks=blocks)
        assert refused(result) == "ambiguous"
        assert path.read_text() == SOURCE
        assert "5" in text_of(result)
        assert "9" in text_of(result)
        handle = text_of(result).split("retry_of='")[1].split("'")[0]
        again = await call(made, "edit_file", path="a.py", retry_of=handle, start_line=8)
        assert not again.is_error
        assert path.read_text() == SOURCE.replace("x + 1", "x - 1").replace("x - 1", "x + 1", 1)


async def test_a_refused_edit_is_matched_against_the_file_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "root" / "a.py"
    async with desk(tmp_path) as made:
        path.write_text("y = 1\n")
        result = await call(made, "edit_file", path="a.py", blocks=[{"search": "x = 1", "replace": "x = 2"}])
        handle = text_of(result).split("retry_of='")[1].split("'")[0]
        path.write_text("x = 1\n")
        assert not (await call(made, "edit_file", path="a.py", retry_of=handle)).is_error
        assert path.read_text() == "x = 2\n"
        assert refused(await call(made, "edit_file", path="a.py", retry_of="out-99")) == "arguments"


async def test_a_new_syntax_error_is_reported_and_an_old_one_is_not(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.py").write_text("x = 1\ny = 2\n")
        result = await call(made, "edit_file", path="a.py", blocks=[{"search": "x = 1", "replace": "x = (1"}])
        assert not result.is_error
        assert "new syntax error, line 1" in text_of(result)
        result = await call(made, "edit_file", path="a.py", blocks=[{"search": "y = 2", "replace": "y = 3"}])
        assert "syntax error" not in text_of(result)


async def test_notebooks_and_binaries_are_not_edited_as_text(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.ipynb").write_text('{"cells": []}')
        (tmp_path / "root" / "a.bin").write_bytes(b"\0x")
        blocks = [{"search": '{"cells": []}', "replace": "{}"}]
        result = await call(made, "edit_file", path="a.ipynb", blocks=blocks)
        assert refused(result) == "notebook"
        assert "edit_cells" in text_of(result)
        assert (
            refused(await call(made, "edit_file", path="a.bin", blocks=[{"search": "x", "replace": "y"}])) == "binary"
        )
        assert (
            refused(await call(made, "write_file", path="a.ipynb", content="{}", percentage_to_change=100))
            == "notebook"
        )


async def test_an_unread_or_changed_file_is_shown_and_then_may_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "root" / "a.py"
    blocks = [{"search": "x = 1", "replace": "x = 2"}]
    async with desk(tmp_path, ledger=True) as made:
        path.write_text("x = 1\n")
        result = await call(made, "edit_file", path="a.py", blocks=blocks)
        assert refused(result) == "unread"
        assert "     1\tx = 1" in text_of(result)
        assert path.read_text() == "x = 1\n"
        assert not (await call(made, "edit_file", path="a.py", blocks=blocks)).is_error
        assert not (
            await call(made, "edit_file", path="a.py", blocks=[{"search": "x = 2", "replace": "x = 1"}])
        ).is_error
        path.write_text("x = 1\ny = 'theirs'\n")
        result = await call(made, "edit_file", path="a.py", blocks=blocks)
        assert refused(result) == "changed"
        assert "theirs" in text_of(result)
        assert not (await call(made, "edit_file", path="a.py", blocks=blocks)).is_error
        assert path.read_text() == "x = 2\ny = 'theirs'\n"


async def test_the_ledger_is_kept_by_the_conversation(tmp_path: Path) -> None:
    async with desk(tmp_path, ledger=True) as made:
        (tmp_path / "root" / "a.py").write_text("x = 1\n")
        await call(made, "read_file", path="a.py")
    async with desk(tmp_path, ledger=True) as made:
        blocks = [{"search": "x = 1", "replace": "x = 2"}]
        assert not (await call(made, "edit_file", path="a.py", blocks=blocks)).is_error


async def test_in_review_without_a_person_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "root" / "a.py"
    async with desk(tmp_path, mode="review") as made:
        path.write_text("x = 1\n")
        blocks = [{"search": "x = 1", "replace": "x = 2"}]
        assert refused(await call(made, "edit_file", path="a.py", blocks=blocks)) == "denied"
        assert refused(await call(made, "write_file", path="new.py", content="")) == "denied"
        assert path.read_text() == "x = 1\n"
        assert not (tmp_path / "root" / "new.py").exists()


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".mcp.json", "x.pth", "tests/test_a.py", ".bashrc"])
async def test_protected_files_ask_although_edits_are_accepted(tmp_path: Path, name: str) -> None:
    async with desk(tmp_path, mode="accept-edits") as made:
        assert refused(await call(made, "write_file", path=name, content="x\n")) == "denied"
        assert not (tmp_path / "root" / name).exists()


# ------------------------------------------------------------------------------------------------------- writing


async def test_a_new_file_needs_no_percentage(tmp_path: Path) -> None:
    async with desk(tmp_path, ledger=True) as made:
        result = await call(made, "write_file", path="pkg/new.py", content="x = 1\n")
        assert text_of(result) == "ok created pkg/new.py, 1 line"
        assert (tmp_path / "root" / "pkg" / "new.py").read_text() == "x = 1\n"
        blocks = [{"search": "x = 1", "replace": "x = 2"}]
        assert not (await call(made, "edit_file", path="pkg/new.py", blocks=blocks)).is_error


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, "arguments"),
        ({"percentage_to_change": 50}, "use_edit"),
        ({"percentage_to_change": 101}, "arguments"),
        ({"percentage_to_change": 60, "content": "import os\n"}, "dropped_code"),
        (
            {"percentage_to_change": 90, "content": SOURCE.replace("def g", "# … rest unchanged\ndef h")},
            "omission_placeholder",
        ),
        (
            {"percentage_to_change": 90, "content": "import os\n# ... remaining code unchanged ...\n"},
            "omission_placeholder",
        ),
        ({"percentage_to_change": 100, "content": "import os\n\n...\n"}, "omission_placeholder"),
        ({"percentage_to_change": 100, "content": "\ud800"}, "arguments"),
    ],
)
async def test_rewrites_that_lose_code_are_refused(tmp_path: Path, arguments: dict[str, Any], kind: str) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.py").write_text(SOURCE)
        result = await call(made, "write_file", **{"path": "a.py", "content": SOURCE, **arguments})
        assert refused(result) == kind
        assert (tmp_path / "root" / "a.py").read_text() == SOURCE
        if kind == "dropped_code":
            assert "f, g" in text_of(result)


async def test_a_rewrite_needs_the_whole_file_read(tmp_path: Path) -> None:
    old = "".join(f"x{n} = {n}\n" for n in range(500))
    async with desk(tmp_path, ledger=True) as made:
        path = tmp_path / "root" / "a.py"
        path.write_text(old)
        await call(made, "read_file", path="a.py")
        result = await call(made, "write_file", path="a.py", content="new\n", percentage_to_change=100)
        assert refused(result) == "unread"
        assert "Lines 201-500" in text_of(result)
        await call(made, "read_file", path="a.py", start_line=201, end_line=500)
        assert not (await call(made, "write_file", path="a.py", content="new\n", percentage_to_change=100)).is_error
        assert path.read_text() == "new\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"one\r\ntwo\r\n"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfone\ntwo\n"),
        ("a\nb\n".encode("utf-16"), "one\ntwo\n".encode("utf-16")),
        (b"a\rb\r", b"one\rtwo\r"),
        (b"a\rb\n", b"one\ntwo\n"),
        (b"a\r\nb\n", b"one\ntwo\n"),
    ],
)
async def test_a_rewrite_keeps_encoding_mark_and_line_ends(tmp_path: Path, before: bytes, after: bytes) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.txt").write_bytes(before)
        result = await call(made, "write_file", path="a.txt", content="one\ntwo\n", percentage_to_change=100)
        assert not result.is_error, text_of(result)
        assert (tmp_path / "root" / "a.txt").read_bytes() == after


async def test_a_folder_and_a_range_that_ends_before_it_starts(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        (tmp_path / "root" / "a.py").write_text("x = 1\ny = 2\n")
        for path in (".", str(tmp_path / "root")):
            result = await call(made, "read_file", path=path)
            assert refused(result) == "not_regular"
            assert "is a folder" in text_of(result)
        assert refused(await call(made, "read_file", path="a.py", start_line=2, end_line=1)) == "arguments"
