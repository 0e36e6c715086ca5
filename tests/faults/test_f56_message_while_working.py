"""A message sent while the agent works is in the journal before anything else."""

from __future__ import annotations

from collections.abc import Callable

from lab.client import Client, create
from lab.harness import LabServer
from lab.serving import model_port, script, server

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
__all__ = ["model_port", "script", "server"]


async def test_f56_a_message_sent_while_it_works_is_journalled_at_once(server: LabServer, script: Script) -> None:
    model = script(
        {"text": "First.", "pause_until": "go"}, {"text": "Second.", "expect": {"last_contains": "And this"}}
    )
    client = await Client.connect(server, create(server))
    client.ask("Begin")
    await client.until("delta")
    again = client.ask("And this")
    client.ask("And this", id=again)
    queued = await client.until("user", count=2)
    assert queued["id"] == again
    model.gate("go").open()
    await client.until("stop")
    await client.close()
    assert [event["type"] for event in client.journalled].count("user") == 2
