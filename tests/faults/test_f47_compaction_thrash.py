"""f47: summaries that never fit end the turn after three."""

from __future__ import annotations

from pathlib import Path

from conversations import asked, conversation

from jupyter_agent.events import Stop


async def test_f47_summaries_that_never_fit_end_the_turn(tmp_path: Path) -> None:
    models = [{"id": "scripted", "max_input_tokens": 2_000, "max_tokens": 500, "capabilities": {}}]
    script = [
        {"server": {"models": models}},
        {"text": "x", "usage": {"input": 1_990, "output": 5}, "calls": [{"name": "find_tools", "arguments": {}}]},
        {"text": "a summary " * 900, "usage": {"input": 1_990, "output": 5}, "repeat": "forever"},
    ]
    async with conversation(tmp_path, script) as (made, _, server):
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert stop.reason == "error"
        assert "3 summaries" in stop.summary
        assert asked(server) <= 6
