"""run_cells, run_code, read_output, inspect_variables, control_kernel over a real kernel and a notebook file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conversations import conversation, notebook_file

from jupyter_agent.call import run_call
from jupyter_agent.conversation import Conversation
from jupyter_agent.events import Event, Note
from jupyter_agent.tool import ToolResult


class Desk:
    """A conversation without a model: tools are called as a model would call them."""

    def __init__(self, made: Conversation, events: list[Event], notebook: Path) -> None:
        self.made, self.events, self.notebook = made, events, notebook

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await run_call(self.made, "call", name, arguments)

    def saved(self, cell: str) -> dict[str, Any]:
        cells = json.loads(self.notebook.read_text())["cells"]
        return next(each for each in cells if each["id"] == cell)


@asynccontextmanager
async def desk(folder: Path, *sources: str, **options: Any) -> AsyncIterator[Desk]:
    notebook = notebook_file(folder / "a.ipynb", *sources)
    async with conversation(folder, notebook=notebook, ledger=False, **options) as (made, events, _):
        yield Desk(made, events, notebook)


def text_of(result: ToolResult) -> str:
    return "\n".join(block["text"] for block in result.content if block["type"] == "text")


def first_line(result: ToolResult) -> str:
    return text_of(result).split("\n", 1)[0]


async def test_outputs_land_in_the_result_and_in_the_document(tmp_path: Path) -> None:
    async with desk(tmp_path, "x = 20", "print('seen')\nx + 3") as made:
        result = await made.call("run_cells", cells="all")
        assert first_line(result).startswith("ok 2 cells ran in a.ipynb")
        assert not result.is_error
        assert "seen" in text_of(result)
        assert "23" in text_of(result)
        assert [cell["status"] for cell in result.details["cells"]] == ["ok", "ok"]
        assert result.details["ran_in"] == str(made.notebook)
        await (await made.made.notebook()).save()
        cell = made.saved("c2")
        assert [output["output_type"] for output in cell["outputs"]] == ["stream", "execute_result"]
        assert cell["execution_count"] == 2
        assert set(cell["metadata"]["execution"]) >= {"iopub.status.busy", "shell.execute_reply"}


async def test_error_is_named_in_the_first_line_with_cell_and_line(tmp_path: Path) -> None:
    async with desk(tmp_path, "def half(x):\n    return x / 0", "a = 1\nhalf(a)", "after = 1") as made:
        result = await made.call("run_cells", cells="all")
        assert first_line(result) == "error: ZeroDivisionError: division by zero in cell c1 line 2"
        assert result.is_error
        assert "not run: c3" in text_of(result)
        assert result.details["not_run"] == ["c3"]
        assert [cell["status"] for cell in result.details["cells"]] == ["ok", "error"]


async def test_error_without_stopping(tmp_path: Path) -> None:
    async with desk(tmp_path, "1/0", "print('reached')") as made:
        result = await made.call("run_cells", cells=["c1", "c2"], stop_on_error=False)
        assert first_line(result) == "error: ZeroDivisionError: division by zero in cell c1 line 1"
        assert "reached" in text_of(result)


async def test_from_cell_runs_from_there(tmp_path: Path) -> None:
    async with desk(tmp_path, "a = 1", "print('b')", "print('c')") as made:
        result = await made.call("run_cells", from_cell="c2")
        assert [cell["id"] for cell in result.details["cells"]] == ["c2", "c3"]


async def test_stale_runs_what_depends_on_the_change(tmp_path: Path) -> None:
    async with desk(tmp_path, "x = 1", "y = 2", "print(x)") as made:
        await made.call("run_cells", cells="all")
        edit = {"op": "edit", "cell": "c1", "blocks": [{"search": "x = 1", "replace": "x = 5"}]}
        await made.call("edit_cells", ops=[edit])
        result = await made.call("run_cells", cells="stale")
        assert [cell["id"] for cell in result.details["cells"]] == ["c1", "c3"]
        assert "5" in text_of(result)


async def test_unknown_cell_is_an_error_and_nothing_runs(tmp_path: Path) -> None:
    async with desk(tmp_path, "print(1)") as made:
        result = await made.call("run_cells", cells=["c1", "zz"])
        assert result.is_error
        assert "c1" in text_of(result)
        kernel = await made.made.kernel()
        assert (await kernel.state()).status == "none"


async def test_review_without_a_person_runs_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, "print(1)", mode="review") as made:
        result = await made.call("run_cells", cells="all")
        assert result.details["refused"]["kind"] == "denied"
        assert (await (await made.made.kernel()).state()).status == "none"


async def test_timeout_keeps_the_cell_and_the_person_is_told_when_it_ends(tmp_path: Path) -> None:
    code = "import time\nprint('begun', flush=True)\ntime.sleep(1.5)\nprint('ended')"
    async with desk(tmp_path, code, "later = 1") as made:
        await made.call("control_kernel", action="start")
        result = await made.call("run_cells", cells="all", timeout=0.7)
        assert first_line(result).startswith("running cell c1 for ")
        assert not result.is_error
        assert "begun" in text_of(result)
        assert result.details["not_run"] == ["c2"]
        assert "running cell c1" in first_line(await made.call("control_kernel", action="status"))
        waited = await made.call("control_kernel", action="wait")
        assert first_line(waited).startswith("ok ended after")
        assert "ended" in text_of(waited)
        await asyncio.wait_for(_note(made, "Cell c1 ended after"), 10)
        assert "ended" in json.dumps(made.saved("c1")["outputs"])


async def _note(made: Desk, start: str) -> None:
    while not any(isinstance(event, Note) and event.text.startswith(start) for event in made.events):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def test_timeout_with_interrupt_is_an_error_with_the_outputs_so_far(tmp_path: Path) -> None:
    code = "import time\nprint('begun', flush=True)\ntime.sleep(60)"
    async with desk(tmp_path, code) as made:
        await made.call("control_kernel", action="start")
        result = await made.call("run_cells", cells="all", timeout=1, on_timeout="interrupt")
        assert first_line(result).startswith("error: TimeoutError: interrupted after")
        assert first_line(result).endswith("in cell c1")
        assert "begun" in text_of(result)
        assert first_line(await made.call("run_code", code="print('alive')")).startswith("ok")


async def test_run_code_leaves_results_alone_and_names_itself(tmp_path: Path) -> None:
    async with desk(tmp_path, "1") as made:
        await made.call("run_cells", cells=["c1"])
        shown = await made.call("run_code", code="6 * 7")
        assert first_line(shown).startswith("ok (")
        assert "42" in text_of(shown)
        failed = await made.call("run_code", code="a = 1\n1/0")
        assert first_line(failed) == "error: ZeroDivisionError: division by zero in run_code line 2"
        assert "{1: 1, 2: 42}" in text_of(await made.call("run_code", code="print(Out)"))


async def test_long_output_is_cut_and_read_by_its_handle(tmp_path: Path) -> None:
    async with desk(tmp_path, "print(1)") as made:
        result = await made.call("run_code", code="for n in range(20_000):\n    print('row', n)")
        assert len(text_of(result).encode()) <= 16_000
        assert "row 19999" in text_of(result)
        handle = result.details["handle"]
        collected, offset = "", 0
        while offset is not None:
            page = await made.call("read_output", handle=handle, offset=offset, limit=60_000)
            collected += page.content[0]["text"].split("\n", 1)[1]
            offset = page.details["next"]
        assert collected.split("\n")[:-1] == [f"row {n}" for n in range(20_000)] or collected.split("\n") == [
            f"row {n}" for n in range(20_000)
        ]


async def test_read_output_of_a_cell(tmp_path: Path) -> None:
    async with desk(tmp_path, "print('first')\n'second'") as made:
        await made.call("run_cells", cells="all")
        assert "first" in text_of(await made.call("read_output", cell="c1"))
        one = await made.call("read_output", cell="c1", index=1)
        assert "second" in text_of(one)
        assert "first" not in text_of(one)
        assert (await made.call("read_output", cell="c1", index=5)).is_error


async def test_inspect_variables(tmp_path: Path) -> None:
    code = "import pandas as pd\ndf = pd.DataFrame({'city': ['Oslo', None], 'n': [1, 2]})\nanswer = 42"
    async with desk(tmp_path, code) as made:
        none = await made.call("inspect_variables")
        assert none.is_error
        await made.call("run_cells", cells="all")
        result = await made.call("inspect_variables", names=["df", "answer", "nope"], detail=True)
        assert first_line(result) == "ok 2 variables; not defined: nope"
        assert "answer: int = 42" in text_of(result)
        assert "2 rows × 2 columns" in text_of(result)
        assert "missing: 'city' 1" in text_of(result)
        assert "Oslo" in text_of(result)


async def test_restart_asks_when_variables_would_be_lost(tmp_path: Path) -> None:
    async with desk(tmp_path, "precious = 1", mode="auto") as made:
        await made.call("run_cells", cells="all")
        result = await made.call("control_kernel", action="restart")
        assert result.details["refused"]["kind"] == "denied"
        assert "precious" in text_of(await made.call("inspect_variables"))


async def test_restart_once_allowed(tmp_path: Path) -> None:
    async with desk(tmp_path, "precious = 1", allow=["control_kernel"]) as made:
        await made.call("run_cells", cells="all")
        result = await made.call("control_kernel", action="restart")
        assert first_line(result).startswith("ok restarted")
        assert result.details["lost"] == ["precious"]
        rerun = await made.call("run_cells", cells="all")
        assert rerun.details["cells"][0]["execution_count"] == 1


async def test_missing_kernelspec_is_a_sentence_with_the_installed_ones(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "1")
    body = json.loads(notebook.read_text())
    body["metadata"]["kernelspec"]["name"] = "nowhere"
    notebook.write_text(json.dumps(body))
    async with conversation(tmp_path, notebook=notebook, ledger=False) as (made, _, _server):
        result = await run_call(made, "call", "run_cells", {"cells": "all"})
        assert result.is_error
        assert "nowhere" in text_of(result)
        assert "python3" in text_of(result)


@pytest.mark.parametrize("arguments", [{}, {"cells": "all", "timeout": 0}])
async def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with desk(tmp_path, "1") as made:
        result = await made.call("run_cells", **arguments)
        assert result.details["refused"]["kind"] == "arguments"
