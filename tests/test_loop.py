"""The loop against a real model client: order of events, limits, repetition, queueing, stopping."""

from __future__ import annotations

from pathlib import Path

from conversations import asked, call, conversation, notebook_file, types

from jupyter_agent.budget import Limits
from jupyter_agent.events import Note, Stop


async def test_a_turn_without_calls(tmp_path: Path) -> None:
    async with conversation(tmp_path, [{"text": "Hello."}]) as (made, seen, server):
        stop = await made.send("Hi")
        assert isinstance(stop, Stop)
        assert (stop.reason, stop.verified, stop.changes) == ("done", "none", [])
        assert types(seen) == ["user", "assistant", "usage", "stop"]
        assert "".join(event.text for event in seen if event.type == "delta") == "Hello."  # type: ignore[attr-defined]
        assert server.failures == []


async def test_explore_edit_run_verify(tmp_path: Path) -> None:
    """A failing cell is read, repaired, run, and proved in a fresh kernel."""
    notebook = notebook_file(tmp_path / "a.ipynb", "x = [1, 2, 3]", "print(sum(x) / lenn(x))")
    script = [
        call("read_cells"),
        call("run_cells", cells="all"),
        {"expect": {"tool_result_contains": "error: NameError"}}
        | call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "lenn", "replace": "len"}]}]),
        call("run_cells", cells=["c2"]),
        {"expect": {"tool_result_contains": ["ok", "2.0"]}, "text": "It was a typo."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, _, server):
        stop = await made.send("Repair it")
        assert server.failures == []
        assert isinstance(stop, Stop)
        assert (stop.reason, stop.verified) == ("done", "proven")
        assert {(change["cell"], change["status"]) for change in stop.changes} >= {("c2", "edited")}
    assert "len(x)" in notebook.read_text()
    assert "2.0" in notebook.read_text()


async def test_f15_a_failed_check_goes_back_to_the_model_once(tmp_path: Path) -> None:
    """The model claims success after breaking a dependent cell: it is told, and mends it."""
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1", "y = x + 1", "print(y)")
    script = [
        call(
            "edit_cells",
            ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "y = x + 1", "replace": "z = x + 1"}]}],
        ),
        {"text": "Done!"},
        {"expect": {"last_contains": ["failed", "c3", "NameError"]}}
        | call("edit_cells", ops=[{"op": "edit", "cell": "c3", "blocks": [{"search": "y", "replace": "z"}]}]),
        {"text": "Now it is done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, _, server):
        stop = await made.send("Rename y to z")
        assert server.failures == []
        assert isinstance(stop, Stop)
        assert stop.verified == "proven"


async def test_a_model_that_insists_ends_as_failed(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1", "print(x)")
    script = [
        call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "x = 1", "replace": "y = 1"}]}]),
        {"text": "Done!"},
        {"text": "It is done, believe me."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, _, server):
        stop = await made.send("Rename x")
        assert isinstance(stop, Stop)
        assert (stop.reason, stop.verified) == ("done", "failed")
        assert asked(server) >= 3


async def test_hidden_state_is_not_proven(tmp_path: Path) -> None:
    """The edited cell works in the live kernel only because a cell ran twice: a fresh kernel shows another number."""
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1", "x += 1", "print(x)")
    script = [
        call("run_cells", cells="all"),
        call("run_cells", cells=["c2"]),
        call("edit_cells", ops=[{"op": "edit", "cell": "c3", "blocks": [{"search": "x", "replace": "x * 10"}]}]),
        call("run_cells", cells=["c3"]),
        {"text": "Done."},
        {"text": "Still done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, _, _server):
        stop = await made.send("Scale it")
        assert isinstance(stop, Stop)
        assert stop.verified == "unproven"


async def test_a_name_only_the_live_kernel_knows_is_not_proven(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "print(1)")
    script = [
        call("run_code", code="secret = 41"),
        call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "1", "replace": "secret + 1"}]}]),
        call("run_cells", cells=["c1"]),
        {"text": "Done."},
        {"text": "Still done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, _, _server):
        stop = await made.send("Show it")
        assert isinstance(stop, Stop)
        assert stop.verified == "failed"


async def test_turn_limit(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1")
    script = [call("read_cells", start=number) for number in range(9)]
    async with conversation(tmp_path, script, notebook=notebook, limits=Limits(turns=2)) as (made, _, server):
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert (stop.reason, asked(server)) == ("limit", 2)


async def test_f48_a_storm_of_429_is_bounded_and_said(tmp_path: Path) -> None:
    script = [{"fault": {"status": 429, "retry_after": 0}, "repeat": "forever"}]
    async with conversation(tmp_path, script) as (made, seen, server):
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert stop.reason == "error"
        assert asked(server) <= 6
        assert any(isinstance(event, Note) and "Trying again" in event.text for event in seen)


async def test_no_model_says_how_to_connect_one(tmp_path: Path) -> None:
    async with conversation(tmp_path) as (made, _, _server):
        made.no_model = "No model is connected."
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert (stop.reason, stop.summary) == ("error", "No model is connected. Nothing was changed.")
