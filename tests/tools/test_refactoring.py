"""verify_notebook and refactor_notebook over real kernels, and run_code in a scratch copy: as the model calls them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from conversations import code_cell, conversation, notebook_file

from jupyter_agent.call import run_call
from jupyter_agent.conversation import Conversation
from jupyter_agent.refactor.registry import RECIPES
from jupyter_agent.tool import ToolResult
from jupyter_agent.tools import all_tools
from jupyter_agent.tools.refactoring import Recipe
from jupyter_agent.undo import undo_turn


class Desk:
    def __init__(self, made: Conversation, notebook: Path) -> None:
        self.made, self.notebook = made, notebook

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await run_call(self.made, "call", name, arguments)


def printed(id: str, source: str, *text: str, count: int = 1) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [line]} for line in text]
    cell: dict[str, Any] = code_cell(id, source, outputs=outputs, execution_count=count)
    return cell


@asynccontextmanager
async def desk(folder: Path, *cells: dict[str, Any], **options: Any) -> AsyncIterator[Desk]:
    notebook = notebook_file(folder / "a.ipynb", cells=cells)
    async with conversation(folder, notebook=notebook, ledger=False, **options) as (made, _, _server):
        made.begin_turn()
        yield Desk(made, notebook)


def text_of(result: ToolResult) -> str:
    return "\n".join(block["text"] for block in result.content if block["type"] == "text")


SUM = [
    printed("one", "import math\nfirst = 3"),
    printed("two", "second = first + 1\nprint(second)", "4\n", count=2),
    printed("three", "print(math.floor(second / 2))", "2\n", count=3),
]


def test_the_tools_are_found_not_always_sent() -> None:
    tools = all_tools()
    assert not tools["verify_notebook"].always
    assert not tools["refactor_notebook"].always


def test_the_recipes_that_the_model_reads_about_are_those_there_are() -> None:
    said = get_args(Recipe)[1]
    for recipe in RECIPES.values():
        assert recipe.name in said
        for parameter in recipe.parameters:
            assert parameter.name in said, f"{recipe.name} {parameter.name}"


async def test_verify_says_what_reproduces_and_changes_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM) as made:
        before = made.notebook.read_bytes()
        result = await made.call("verify_notebook")
        assert text_of(result).startswith("proven: 3 same")
        assert result.details["status"] == "proven"
        assert not result.is_error
        assert made.notebook.read_bytes() == before


async def test_verify_shows_the_cell_that_differs(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM[:2], printed("three", "print(second)", "5\n")) as made:
        result = await made.call("verify_notebook")
        assert result.is_error
        assert text_of(result).startswith("failed: 1 changed, 2 same")
        assert "three: changed" in text_of(result)
        assert "+4" in text_of(result)


async def test_verify_against_another_notebook_inside_the_root(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM) as made:
        notebook_file(tmp_path / "b.ipynb", cells=[*SUM[:2], printed("three", "print(9)", "9\n")])
        result = await made.call("verify_notebook", against="b.ipynb")
        assert result.details["status"] == "failed"
        outside = await made.call("verify_notebook", against="../../etc/passwd")
        assert outside.details["refused"]["kind"] == "outside"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("verify_notebook", {}),
        ("refactor_notebook", {"recipe": "rename", "parameters": {"old": "first", "new": "begin"}}),
    ],
)
async def test_running_code_is_asked_for(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    async with desk(tmp_path, *SUM, mode="review") as made:
        result = await made.call(name, **arguments)
        assert result.details["refused"]["kind"] == "denied"
        assert f"--allow {name}" in text_of(result)


async def test_refactor_is_a_dry_run_unless_write_is_asked_for(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM) as made:
        before = made.notebook.read_bytes()
        result = await made.call("refactor_notebook", recipe="rename", parameters={"old": "second", "new": "next_one"})
        assert text_of(result).startswith("ok dry run, proven; write=true applies it")
        assert "+print(next_one)" in text_of(result)
        assert result.details["status"] == "proven"
        assert made.notebook.read_bytes() == before


async def test_refactor_writes_what_was_proved_and_undo_takes_it_back(tmp_path: Path) -> None:
    cells = [code_cell("f", "def half(x):\n    return x / 2"), printed("use", "print(half(4))", "2.0\n")]
    async with desk(tmp_path, *cells) as made:
        before = made.notebook.read_bytes()
        result = await made.call(
            "refactor_notebook", recipe="extract-module", parameters={"cells": ["f"], "path": "halves.py"}, write=True
        )
        assert text_of(result).startswith("ok written, proven"), text_of(result)
        assert "from halves import half" in made.notebook.read_text()
        assert "def half" in (tmp_path / "halves.py").read_text()
        report = await undo_turn(made.made)
        assert report.restored
        assert made.notebook.read_bytes() == before
        assert not (tmp_path / "halves.py").exists()


async def test_what_cannot_be_proved_is_not_written(tmp_path: Path) -> None:
    cells = [code_cell("fail", "raise ValueError('always')"), code_cell("later", "import os")]
    async with desk(tmp_path, *cells) as made:
        before = made.notebook.read_bytes()
        result = await made.call("refactor_notebook", recipe="hoist-imports", write=True)
        assert result.is_error
        assert result.details["refused"]["kind"] == "unproven"
        assert made.notebook.read_bytes() == before
        unproved = await made.call("refactor_notebook", recipe="hoist-imports", write=True, verify=False)
        assert text_of(unproved).startswith("ok written, unverified")
        assert made.notebook.read_bytes() != before


async def test_bad_recipes_and_parameters_are_sentences(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM) as made:
        unknown = await made.call("refactor_notebook", recipe="nonsense")
        assert unknown.details["refused"]["kind"] == "arguments"
        assert "hoist-imports" in text_of(unknown)
        missing = await made.call("refactor_notebook", recipe="rename", parameters={"old": "first"})
        assert "needs new" in text_of(missing)
        declined = await made.call("refactor_notebook", recipe="merge-cells", parameters={"cells": ["one", "zz"]})
        assert declined.details["refused"]["kind"] == "unknown_cell"


async def test_two_steps_in_a_row_are_one_change(tmp_path: Path) -> None:
    async with desk(tmp_path, *SUM) as made:
        result = await made.call(
            "refactor_notebook",
            recipe="merge-cells,rename",
            parameters={"cells": ["one", "two"], "old": "first", "new": "start"},
            write=True,
        )
        assert text_of(result).startswith("ok written, proven"), text_of(result)
        cells = json.loads(made.notebook.read_text())["cells"]
        assert [cell["id"] for cell in cells] == ["one", "three"]
        assert "start + 1" in "".join(cells[0]["source"])
        assert cells[0]["outputs"][0]["text"] == ["4\n"]


# ------------------------------------------------------------------------------------------------------------- scratch

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies of kernels are made on Linux only")


@linux
async def test_scratch_code_leaves_the_kernel_alone(tmp_path: Path) -> None:
    async with desk(tmp_path, code_cell("c1", "x = 1")) as made:
        await made.call("run_cells", cells="all")
        result = await made.call("run_code", code="x = 5\nprint('inside', x)\nx * 2", scratch=True)
        assert text_of(result).startswith("ok (")
        assert "inside 5" in text_of(result)
        assert "10" in text_of(result)
        assert "1" in text_of(await made.call("run_code", code="print(x)"))
        failed = await made.call("run_code", code="a = 1\n1/0", scratch=True)
        assert text_of(failed).startswith("error: ZeroDivisionError: division by zero in run_code line 2")
        late = await made.call("run_code", code="import time\ntime.sleep(60)", scratch=True, timeout=1)
        assert text_of(late).startswith("error: TimeoutError: still running after 1 s")
        assert late.is_error


@linux
async def test_scratch_refuses_with_the_reason_and_an_offer(tmp_path: Path) -> None:
    async with desk(tmp_path, code_cell("c1", "import sqlite3\ndb = sqlite3.connect(':memory:')")) as made:
        await made.call("run_cells", cells="all")
        result = await made.call("run_code", code="db.execute('select 1')", scratch=True)
        assert result.details["error"]["kind"] == "unsupported"
        assert "db is a sqlite3.Connection" in text_of(result)
        assert "fresh kernel" in text_of(result)
