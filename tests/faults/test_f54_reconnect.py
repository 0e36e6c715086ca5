"""A client that reconnects gets what it has not seen, once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from lab.client import Client, create
from lab.harness import LabServer
from lab.serving import model_port, script, server

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
__all__ = ["model_port", "script", "server"]


async def test_f54_reconnecting_at_any_event_neither_doubles_nor_drops(server: LabServer, script: Script) -> None:
    script(
        {"thinking": "hm", "text": "one", "calls": [{"name": "todo", "arguments": {"items": []}}]},
        {"text": "two " * 50, "pause": 0.005},
    )
    conversation = create(server)
    steady = await Client.connect(server, conversation)
    steady.ask("go")
    await steady.until("stop")
    await steady.close()
    whole: list[Any] = steady.journalled
    for _ in range(10):
        after = random.randrange(0, whole[-1]["seq"] + 1)
        client = await Client.connect(server, conversation, after=after)
        await client.until("status")
        expected = [event for event in whole if event["seq"] > after]
        if expected:
            await client.until(expected[-1]["type"])
        await client.close()
        assert client.journalled == expected


async def test_f54_a_reconnect_in_mid_stream_gets_the_reply_so_far(server: LabServer, script: Script) -> None:
    model = script({"text": "The first half. The second half.", "pause_until": "go"})
    conversation = create(server)
    first = await Client.connect(server, conversation)
    first.ask("go")
    await first.until("delta")
    so_far = "".join(event["text"] for event in first.events if event["type"] == "delta")
    second = await Client.connect(server, conversation, after=0)
    await second.until("delta")
    assert [event["text"] for event in second.events if event["type"] == "delta"] == [so_far]
    model.gate("go").open()
    await second.until("stop")
    await first.close()
    await second.close()
