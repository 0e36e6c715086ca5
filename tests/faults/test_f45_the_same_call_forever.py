"""f45, f46: a model that goes in circles is told at the third time and ended at the fifth."""

from __future__ import annotations

from pathlib import Path

from conversations import asked, call, conversation, notebook_file, results

from jupyter_agent.events import Stop


async def test_f45_f46_the_same_call_forever_ends_the_turn(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1")
    script = [call("read_cells") | {"repeat": "forever"}]
    async with conversation(tmp_path, script, notebook=notebook) as (made, seen, server):
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        assert stop.reason == "limit"
        assert "5 times" in stop.summary
        assert asked(server) == 5
        assert any("3 times" in text for text in results(seen))
