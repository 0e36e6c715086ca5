"""What the verify step may call proven: nothing that hangs on earlier runs, on files they left, or on chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conversations import call, conversation, notebook_file

from jupyter_agent.events import Stop, ToolFinished


def stored(path: Path, *cells: tuple[str, str, int]) -> Path:
    """A notebook with stored outputs: (source, stdout, execution count) per cell, ids c1, c2, …"""
    notebook = notebook_file(path, *(source for source, _, _ in cells))
    content = json.loads(notebook.read_text())
    for cell, (_, text, count) in zip(content["cells"], cells, strict=True):
        cell["execution_count"] = count
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
    notebook.write_text(json.dumps(content))
    return notebook


def edit(cell: str, search: str, replace: str) -> dict[str, Any]:
    return call("edit_cells", ops=[{"op": "edit", "cell": cell, "blocks": [{"search": search, "replace": replace}]}])


async def verdict(folder: Path, notebook: Path, *script: dict[str, Any]) -> tuple[str, str]:
    """`verified` of the turn and the text of its last check."""
    async with conversation(folder, [*script, {"text": "Done.", "repeat": "forever"}], notebook=notebook) as made:
        stop = await made[0].send("Go")
        assert isinstance(stop, Stop)
        checks = [e for e in made[1] if isinstance(e, ToolFinished) and e.name == "verify_notebook"]
        return stop.verified, checks[-1].content[0]["text"]


@pytest.mark.parametrize("changed", ["c2", "c3"])
async def test_stored_outputs_of_a_cell_that_had_run_twice(tmp_path: Path, changed: str) -> None:
    """Nothing is run by the agent: what the notebook shows comes from a kernel in which c2 ran twice."""
    notebook = stored(tmp_path / "a.ipynb", ("x = 1", "", 1), ("x += 1", "", 3), ("print(x)", "3\n", 4))
    change = edit("c2", "x += 1", "x += 1  # more") if changed == "c2" else edit("c3", "print(x)", "print(x, 0)")
    verified, text = await verdict(tmp_path, notebook, change)
    assert verified == "unproven"
    assert "hidden state" in text
    assert "-3" in text


async def test_stored_outputs_that_the_change_itself_alters(tmp_path: Path) -> None:
    notebook = stored(tmp_path / "a.ipynb", ("x = 1", "", 1), ("y = 5", "", 2), ("print(x + y)", "6\n", 3))
    verified, text = await verdict(
        tmp_path,
        notebook,
        call("read_cells"),
        edit("c1", "x = 1", "x = 2"),
    )
    assert verified == "proven", text
    assert "still shown in c3" in text


async def test_a_deleted_cell_is_put_back_where_it_stood(tmp_path: Path) -> None:
    """Before the change the notebook gave what it shows: only with the deleted cell between its neighbours."""
    notebook = stored(tmp_path / "a.ipynb", ("x = 1", "", 1), ("x += 1", "", 2), ("print(x)", "2\n", 3))
    hash_of = "{{regex:id=c2 hash=(\\S+)}}"
    script = [
        call("read_cells"),
        call("edit_cells", ops=[{"op": "delete", "cells": [{"id": "c2", "expected_hash": hash_of}]}]),
    ]
    verified, text = await verdict(tmp_path, notebook, *script)
    assert verified == "proven", text
    assert "still shown in c3" in text


async def test_a_file_that_an_earlier_run_left_behind(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "print(open('state.txt').read())")
    script = [
        call("run_code", code="open('state.txt', 'w').write('42')"),
        edit("c1", "print(open('state.txt').read())", "print(open('state.txt').read().strip())"),
        call("run_cells", cells=["c1"]),
    ]
    verified, text = await verdict(tmp_path, notebook, *script)
    assert verified == "unproven"
    assert "state.txt" in text
    assert (tmp_path / "state.txt").read_text() == "42"


async def test_a_file_that_the_notebook_writes_itself(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "_ = open('t.txt', 'w').write('a')", "print(open('t.txt').read())")
    script = [
        edit("c2", "print(open('t.txt').read())", "print(open('t.txt').read() * 2)"),
        call("run_cells", cells="all"),
    ]
    assert (await verdict(tmp_path, notebook, *script))[0] == "proven"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import random\nprint(random.random())", "unproven"),
        ("import time\nprint(time.time_ns() % 1_000_003)", "unproven"),
        ("import time\nt = time.perf_counter()\nprint(f'took {time.perf_counter() - t:.9f} s')", "proven"),
        ("import time\nt = time.perf_counter()\nprint('Elapsed:', time.perf_counter() - t)", "proven"),
    ],
)
async def test_chance_proves_nothing_but_a_timing_is_no_chance(tmp_path: Path, source: str, expected: str) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "# cell\n" + source)
    verified, text = await verdict(tmp_path, notebook, edit("c1", "# cell", "# a cell"), call("run_cells", cells="all"))
    assert verified == expected, text
