"""What a turn needs dies with the turn: a thousand of them leave the server's memory where it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.client import Client, create
from lab.harness import LabServer
from lab.serving import model_port, script, server

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
__all__ = ["model_port", "script", "server"]
CONVERSATIONS, TURNS = 10, 100
SETTLED = 3
"""Conversations after which caches, pools and the allocator's arenas have the size they keep."""
ONLY_NEW = 10**9
"""An `after` beyond every event: nothing is replayed."""
TODO = {"name": "todo", "arguments": {"items": [{"text": "one", "status": "done"}]}}


def resident(server: LabServer) -> float:
    """Megabytes."""
    assert server.process is not None
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.timeout(600)
async def test_f57_a_thousand_turns_leave_the_memory_flat(server: LabServer, script: Script) -> None:
    script(
        {"when": {"last_contains": "work"}, "repeat": "forever", "text": "On it.", "calls": [TODO]},
        {"when": {"n_tool_results": 1}, "repeat": "forever", "text": "word " * 200},
    )
    after: list[float] = []
    for _ in range(CONVERSATIONS):
        conversation = create(server)
        for number in range(TURNS):
            # A client of its own for each turn: what belongs to a page must go with it, too.
            client = await Client.connect(server, conversation, after=ONLY_NEW)
            client.ask(f"work {number}")
            await client.until("stop", timeout=90)
            await client.close()
        after.append(resident(server))
    assert max(after) < 1.05 * after[SETTLED - 1], [round(figure, 1) for figure in after]
