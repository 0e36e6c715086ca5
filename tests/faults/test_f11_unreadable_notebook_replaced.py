"""f11: a notebook that cannot be read is an error with a sentence, and its bytes stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import create_notebook, edit_cells, read_cells, repair_notebook


def notebook(**changes: object) -> bytes:
    return json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | changes).encode()


def cell(**changes: object) -> bytes:
    made = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "outputs": [], "execution_count": None}
    return notebook(cells=[made | changes])


GOOD = notebook()
CORRUPT = {
    "empty": b"",
    "blank": b"  \n",
    "nul": b"\0" * 4096,
    "nul padded": GOOD + b"\0" * 512,
    "truncated": cell()[:-30],
    "half a string": GOOD[:10],
    "trailing garbage": GOOD + b"}",
    "two documents": GOOD + GOOD,
    "trailing comma": GOOD[:-1] + b",}",
    "single quotes": GOOD.replace(b'"', b"'"),
    "comment": b"// notebook\n" + GOOD,
    "merge markers": b"<<<<<<< HEAD\n" + GOOD + b"\n=======\n" + GOOD + b"\n>>>>>>> theirs\n",
    "control character": cell(source="a b").replace(b"a b", b"a\x01b"),
    "latin-1": cell(source="x").replace(b'"x"', b'"\xe9"'),
    "utf-16": GOOD.decode().encode("utf-16"),
    "a list": b"[]",
    "a number": b"4",
    "html": b"<!DOCTYPE html><title>404</title>",
    "git-lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "cells an object": notebook(cells={}),
    "no cells": json.dumps({"metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode(),
    "cells twice": GOOD[:-1] + b', "cells": []}',
    "cell a string": notebook(cells=["x"]),
    "no source": notebook(cells=[{"cell_type": "code", "id": "a", "metadata": {}, "outputs": []}]),
    "unknown type": cell(cell_type="heading"),
    "outputs an object": cell(outputs={}),
    "output a string": cell(outputs=["x"]),
    "source of numbers": cell(source=[1, 2]),
    "version text": notebook(nbformat="4"),
    "version 3": json.dumps({"worksheets": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}).encode(),
    "version 5": notebook(nbformat=5),
    "deep": notebook(metadata="x").replace(b'"x"', b"[" * 100_000 + b"]" * 100_000),
}
TOOLS = {tool.name: tool for tool in (read_cells, edit_cells, create_notebook, repair_notebook)}
CALLS = [
    ("read_cells", {}),
    ("read_cells", {"cells": ["a"]}),
    ("edit_cells", {"ops": [{"op": "insert", "type": "code", "source": "x"}]}),
    ("edit_cells", {"ops": [{"op": "delete", "cells": [{"id": "a", "expected_hash": "0" * 12}]}]}),
    ("create_notebook", {"cells": []}),
    ("repair_notebook", {}),
]


@pytest.mark.parametrize("name", CORRUPT)
async def test_f11_corrupt_notebooks_are_refused_untouched(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.ipynb"
    path.write_bytes(CORRUPT[name])
    async with conversation_on(root, TOOLS, folder=tmp_path / "c", mode="auto") as conversation:
        for tool, arguments in CALLS:
            result = await call(conversation, tool, path="a.ipynb", **arguments)
            assert result.is_error, tool
            text = text_of(result)
            assert "Traceback" not in text
            assert "fault of its own" not in text
            assert result.details["refused"]["kind"] in ("corrupt", "version", "exists")
            assert "a.ipynb" in text
    assert path.read_bytes() == CORRUPT[name]
    assert [entry.name for entry in root.iterdir()] == ["a.ipynb"]


async def test_f11_the_good_one_is_accepted(tmp_path: Path) -> None:
    write_notebook(tmp_path / "a.ipynb", sample())
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", mode="auto") as conversation:
        assert not (await call(conversation, "read_cells", path="a.ipynb")).is_error
