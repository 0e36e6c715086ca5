"""f58: three malformed tool calls in a row end the turn."""

from __future__ import annotations

from pathlib import Path

from conversations import asked, call, conversation

from jupyter_agent.events import Stop


async def test_f58_malformed_calls_end_the_turn_after_three(tmp_path: Path) -> None:
    script = [call("edit_file", wrong=number) for number in range(9)]
    async with conversation(tmp_path, script) as (made, _, server):
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert stop.reason == "error"
        assert asked(server) == 3
