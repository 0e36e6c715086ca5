"""Conversations over HTTP and the websocket, under a base URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lab.client import Client, create, refusal
from lab.harness import LabServer, wait_for, write_notebook

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}


async def test_a_turn_streams_and_is_listed(server: LabServer, script: Script) -> None:
    script({"text": "Forty-two, said the marsupial."})
    conversation = create(server)
    client = await Client.connect(server, conversation)
    client.ask("What is the answer?")
    stop = await client.until("stop")
    await client.close()
    assert (stop["reason"], stop["verified"]) == ("done", "none")
    kinds = [event["type"] for event in client.journalled]
    assert kinds == ["user", "assistant", "usage", "stop"]
    streamed = "".join(event["text"] for event in client.events if event["type"] == "delta")
    assert streamed == "Forty-two, said the marsupial."
    listed = server.get("jupyter-agent/conversations?query=marsupial")["conversations"]
    assert [(entry["id"], entry["title"]) for entry in listed] == [(conversation, "What is the answer?")]
    assert server.get("jupyter-agent/conversations?query=marsupial%20wombat")["conversations"] == []


async def test_the_turn_goes_on_without_any_client(server: LabServer, script: Script) -> None:
    model = script({"text": "Still here.", "pause_until": "go"})
    conversation = create(server)
    client = await Client.connect(server, conversation)
    client.ask("Work while I am away")
    await client.until("user")
    await client.close()
    model.gate("go").open()
    again = await Client.connect(server, conversation)
    stop = await again.until("stop")
    await again.close()
    assert stop["reason"] == "done"
    assert [event["type"] for event in again.journalled] == ["user", "assistant", "usage", "stop"]


async def test_rejecting_with_a_reason_changes_nothing(server: LabServer, script: Script) -> None:
    script({"text": "", "calls": [WRITE]}, {"text": "Fine.", "expect": {"tool_result_contains": "not that name"}})
    client = await Client.connect(server, create(server))
    client.ask("Write it")
    client.answer(await client.until("approval_request"), "reject", reason="not that name")
    stop = await client.until("stop")
    await client.close()
    assert stop["reason"] == "denied"
    assert not (server.root / "note.txt").exists()


async def test_undo_and_revert(server: LabServer, script: Script) -> None:
    write_notebook(server.root / "undo.ipynb", [("one", "code", "x = 1"), ("two", "code", "y = 2")])
    operations = [
        {"op": "edit", "cell": "one", "blocks": [{"search": "x = 1", "replace": "x = 10"}]},
        {"op": "edit", "cell": "two", "blocks": [{"search": "y = 2", "replace": "y = 20"}]},
    ]
    script(
        {"calls": [{"name": "read_cells", "arguments": {}}]},
        {"calls": [{"name": "edit_cells", "arguments": {"ops": operations}}]},
        {"text": "Done."},
    )
    client = await Client.connect(server, create(server, notebook="undo.ipynb", mode="accept-edits"))
    client.ask("Times ten")
    stop = await client.until("stop")
    before = len(client.events)
    target = str((server.root / "undo.ipynb").resolve())
    client.tell({"type": "revert", "turn": stop["turn"], "target": target, "cell": "two"})
    await client.until("stop", count=2)
    assert [cell["source"] for cell in server.notebook("undo.ipynb")["cells"]] == ["x = 10", "y = 2"]
    client.tell({"type": "undo", "turn": stop["turn"], "later": False})
    await client.until("stop", count=3)
    await client.close()
    assert [cell["source"] for cell in server.notebook("undo.ipynb")["cells"]] == ["x = 1", "y = 2"]
    assert len(client.events) > before


async def test_stop_ends_the_turn_and_no_effect_follows(server: LabServer, script: Script) -> None:
    script({"text": "", "calls": [{"name": "run_code", "arguments": {"code": "import time; time.sleep(60)"}}]})
    client = await Client.connect(server, create(server, mode="accept-edits"))
    client.ask("Sleep")
    await client.until("tool_start")
    client.tell({"type": "stop"})
    stop = await client.until("stop", timeout=15)
    await client.close()
    assert stop["reason"] == "stopped"


async def test_a_message_that_does_not_fit_is_a_sentence(server: LabServer) -> None:
    client = await Client.connect(server, create(server))
    for message in ({"type": "approval"}, {"type": "nonsense"}, {"type": "mode", "mode": "yolo"}):
        client.tell(message)
    client.tell({"type": "user", "id": "big", "text": "x" * 3_000_000, "attachments": []})
    problem = await client.until("problem", count=4)
    await client.close()
    assert "too long" in problem["text"]
    assert problem["id"] == "big"
    assert client.events == []


async def test_f54_what_is_sent_again_is_done_once(server: LabServer) -> None:
    conversation = create(server)
    first = await Client.connect(server, conversation, name="page")
    first.tell({"type": "mode", "mode": "plan", "number": 3})
    first.tell({"type": "mode", "mode": "auto", "number": 4})
    assert [(await first.until("taken", count=count))["number"] for count in (1, 2)] == [3, 4]
    await first.close()
    again = await Client.connect(server, conversation, name="page")
    again.tell({"type": "mode", "mode": "plan", "number": 3})
    assert (await again.until("taken"))["number"] == 3
    assert (await again.until("status"))["mode"] == "auto"
    # Another page counts for itself.
    other = await Client.connect(server, conversation, name="other page")
    assert (await other.until("status"))["mode"] == "auto"
    other.tell({"type": "mode", "mode": "plan", "number": 1})
    assert (await other.until("status", count=2))["mode"] == "plan"
    await asyncio.gather(again.close(), other.close())


def test_what_is_not_there_is_404_with_a_sentence(server: LabServer) -> None:
    for path in ("jupyter-agent/conversations/nothing", "jupyter-agent/conversations/..%2F..%2Fetc"):
        status, sentence = refusal(server, "GET", path)
        assert status == 404
        assert "not there" in sentence


def test_a_conversation_can_be_deleted(server: LabServer) -> None:
    conversation = create(server)
    server.request("DELETE", f"jupyter-agent/conversations/{conversation}")
    assert not (server.data / "jupyter_agent" / "conversations" / conversation).exists()


def test_models_say_how_to_connect_one_when_there_is_none(server: LabServer, script: Script) -> None:
    script({"server": {"models": [{"id": "scripted-1"}, {"id": "scripted-2"}]}})
    models = server.get("jupyter-agent/models")
    assert models["advice"] == ""
    assert {entry["id"] for entry in models["models"]} >= {"scripted-1", "scripted-2"}


async def test_variables_of_a_notebooks_kernel(server: LabServer, script: Script) -> None:
    write_notebook(server.root / "vars.ipynb", [("one", "code", "treasure = [1, 2, 3]")])
    script({"calls": [{"name": "run_cells", "arguments": {"cells": "all"}}]}, {"text": "Ran."})
    client = await Client.connect(server, create(server, notebook="vars.ipynb", mode="accept-edits"))
    client.ask("Run it")
    await client.until("stop", timeout=60)
    await client.close()
    found = await asyncio.to_thread(server.get, "jupyter-agent/variables?notebook=vars.ipynb")
    assert [(v["name"], v["type"]) for v in found["variables"] if v["name"] == "treasure"] == [("treasure", "list")]


async def test_what_is_switched_off_stays_here(server: LabServer, script: Script) -> None:
    write_notebook(server.root / "kept.ipynb", [("one", "code", "patient = 'X'\nprint('confi' + 'dential')")])
    model = script(
        {"calls": [{"name": "run_cells", "arguments": {"cells": ["one"]}}]},
        {"calls": [{"name": "inspect_variables", "arguments": {}}]},
        {"text": "Done."},
    )
    client = await Client.connect(server, create(server, notebook="kept.ipynb", mode="accept-edits"))
    client.ask("Run it", no_outputs=True, no_variables=True)
    await client.until("stop", timeout=60)
    await client.close()
    sent = str(model.messages)
    assert "confidential" not in sent
    assert "switched off" in sent
    saved = lambda: server.notebook("kept.ipynb")["cells"][0]["outputs"]  # noqa: E731
    outputs = await asyncio.to_thread(wait_for, saved, "the person's notebook has the outputs")
    assert "".join(outputs[0]["text"]) == "confidential\n"


async def test_f42_stop_right_after_a_message_stops_its_turn(server: LabServer, script: Script) -> None:
    model = script({"text": "", "calls": [WRITE]}, {"text": "Done."})
    client = await Client.connect(server, create(server, mode="accept-edits"))
    client.ask("Write it")
    client.tell({"type": "stop"})
    stop = await client.until("stop")
    client.ask("Now really")
    after = await client.until("stop", count=2)
    await client.close()
    assert (stop["reason"], after["reason"]) == ("stopped", "done")
    assert [event["text"] for event in client.journalled if event["type"] == "user"] == ["Write it", "Now really"]
    assert len(model.messages) == 2
    (server.root / "note.txt").unlink()
