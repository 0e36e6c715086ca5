"""Undo of a turn: exactly what the agent changed goes back, in its place."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from conversations import call, conversation, notebook_file

from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.conversation import read_state
from jupyter_agent.testing.waiting import until
from jupyter_agent.undo import undo_turn


async def test_a_cell_edited_and_then_moved_goes_back_to_its_place(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "a = 1", "b = 2", "c = 3")
    before = notebook.read_bytes()
    script = [
        call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "a = 1", "replace": "a = 10"}]}]),
        call("edit_cells", ops=[{"op": "move", "cells": ["c1"], "after": "c3"}]),
        {"text": "Done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook, verify=False) as (made, _, _server):
        await made.send("Go")
        assert [cell["id"] for cell in json.loads(notebook.read_bytes())["cells"]] == ["c2", "c3", "c1"]
        report = await undo_turn(made)
        assert report.skipped == []
    assert notebook.read_bytes() == before


async def test_files_made_changed_and_kept_by_others(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    script = [
        call("read_file", path="old.txt"),
        call("edit_file", path="old.txt", blocks=[{"search": "old", "replace": "new"}]),
        call("write_file", path="made.txt", content="made\n"),
        call("write_file", path="theirs.txt", content="made\n"),
        call("run_bash", command="echo 1 > side.txt"),
        {"text": "Done."},
    ]
    async with conversation(tmp_path, script, allow=["run_bash"]) as (made, _, _server):
        await made.send("Go")
        (tmp_path / "theirs.txt").write_text("changed by a person\n")
        report = await undo_turn(made)
        assert sorted(report.restored) == ["made.txt", "old.txt"]
        assert [name for name, _ in report.skipped] == ["theirs.txt"]
        assert report.not_covered == ["what else run_bash did"]
        left = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
        assert left == ["old.txt", "side.txt", "theirs.txt"]
        assert (tmp_path / "old.txt").read_text() == "old\n"
        again = await undo_turn(made)
        assert sorted(again.restored) == ["made.txt", "old.txt"]
        assert (tmp_path / "old.txt").read_text() == "new\n"
        assert (tmp_path / "made.txt").read_text() == "made\n"


async def test_ids_of_an_old_notebook_are_the_same_in_the_next_process(tmp_path: Path) -> None:
    """Below nbformat 4.5 a cell's id lives in the conversation: an edit must not give the cell another one."""
    notebook = notebook_file(tmp_path / "a.ipynb", "a = 1", "b = 2", minor=4)
    body = json.loads(notebook.read_text())
    for cell in body["cells"]:
        del cell["id"]
    notebook.write_text(json.dumps(body, indent=1) + "\n")
    place = tmp_path.parent / "kept"
    async with conversation(tmp_path, notebook=notebook, journal=place) as (made, _, _server):
        first = await (await made.notebook()).cells()
        made.begin_turn()
        ops = [{"op": "edit", "cell": first[0].id, "blocks": [{"search": "a = 1", "replace": "a = 2"}]}]
        result = await run_call(made, new_call_id(), "edit_cells", {"ops": ops})
        assert not result.is_error, result.content
    known = read_state(place)["cell_ids"]
    assert [id for id, _ in known[str(notebook)]] == [cell.id for cell in first]


async def test_outputs_of_a_cell_that_was_stopped_go_back(tmp_path: Path) -> None:
    source = "import time\nprint('new')\nwhile True:\n    time.sleep(0.05)"
    notebook = notebook_file(tmp_path / "a.ipynb", source)
    body = json.loads(notebook.read_text())
    body["cells"][0] |= {
        "execution_count": 7,
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["old\n"]}],
    }
    notebook.write_text(json.dumps(body, indent=1) + "\n")

    def shown() -> str:
        return json.dumps(json.loads(notebook.read_text())["cells"][0]["outputs"])

    async with conversation(tmp_path, [call("run_cells", cells="all")], notebook=notebook) as (made, _, _server):
        turn = asyncio.ensure_future(made.send("Go"))
        await until(lambda: "new" in shown())
        await made.stop()
        stop = await turn
        assert stop is not None
        assert [change["status"] for change in stop.changes] == ["outputs"]
        report = await undo_turn(made)
        assert report.restored == ["a.ipynb#c1"]
    assert "old" in shown()
    assert json.loads(notebook.read_text())["cells"][0]["execution_count"] == 7


async def test_a_refused_command_is_not_said_to_have_done_anything(tmp_path: Path) -> None:
    script = [
        call("write_file", path="made.txt", content="made\n"),
        call("run_bash", command="touch side.txt"),
        {"text": "Done."},
    ]
    async with conversation(tmp_path, script) as (made, _, _server):
        stop = await made.send("Go")
        assert stop is not None
        assert "shell" not in stop.summary
        report = await undo_turn(made)
        assert report.restored == ["made.txt"]
        assert report.not_covered == []
