"""f56: a message sent while the agent works is journalled at once and seen by the model next."""

from __future__ import annotations

import asyncio
from pathlib import Path

from conversations import call, conversation, happened, notebook_file

from jupyter_agent.events import Assistant, Stop, User


async def test_f56_a_message_sent_while_it_works_is_seen_next(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1")
    script = [
        call("read_cells") | {"pause_until": "typed", "pause_at": "stop"},
        {"expect": {"last_contains": "and be brief"}, "text": "Briefly: done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, seen, server):
        turn = asyncio.ensure_future(made.send("Go"))
        await happened(made, "delta")
        assert await made.send("and be brief") is None
        server.gate("typed").open()
        stop = await turn
        assert server.failures == []
        assert isinstance(stop, Stop)
        assert [event.text for event in seen if isinstance(event, User)] == ["Go", "and be brief"]


async def test_f56_a_message_sent_during_the_last_reply_is_answered(tmp_path: Path) -> None:
    script = [
        {"text": "Done.", "pause_until": "typed", "pause_at": "stop"},
        {"expect": {"last_contains": "one more thing"}, "text": "That too."},
    ]
    async with conversation(tmp_path, script) as (made, seen, server):
        turn = asyncio.ensure_future(made.send("Go"))
        await happened(made, "delta")
        await made.send("one more thing")
        server.gate("typed").open()
        await turn
        assert server.failures == []
        assert [event.text for event in seen if isinstance(event, Assistant)] == ["Done.", "That too."]


async def test_f56_a_client_id_is_taken_once(tmp_path: Path) -> None:
    async with conversation(tmp_path, [{"text": "One."}]) as (made, seen, _):
        await made.send("Go", id="m1")
        assert await made.send("Go", id="m1") is None
        assert sum(isinstance(event, User) for event in seen) == 1
