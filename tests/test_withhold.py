"""What the person switched off is in no request: not in results, not in cells, not by another tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conversations import call, conversation, notebook_file

from jupyter_agent.withhold import FILE, NOTHING_WITHHELD, Withhold, read_withheld

SECRET = "canary-8251"


async def test_outputs_and_variables_stay_here(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", f"secret = 'can' + 'ary-{SECRET[-4:]}'", "print(secret)", "secret")
    script = [
        call("run_cells", cells="all"),
        call("read_cells"),
        call("read_cells", cells=["c2", "c3"], outputs="full"),
        call("read_output", cell="c2"),
        call("inspect_variables"),
        call("run_code", code="print(secret)"),
        {"text": "I saw nothing."},
    ]
    withhold = Withhold(outputs=True, variables=True)
    async with conversation(tmp_path, script, notebook=notebook, withhold=withhold) as (made, _, server):
        await made.send("Look")
        assert len(server.messages) == len(script)
        assert SECRET not in json.dumps(server.messages)
    assert SECRET in notebook.read_text()


async def test_what_is_switched_off_stays_off_when_the_conversation_goes_on_later(tmp_path: Path) -> None:
    """In another process, on another surface, without a word about it."""
    folder, place = tmp_path / "work", tmp_path / "conversation"
    folder.mkdir()
    notebook = notebook_file(folder / "a.ipynb", f"print('can' + 'ary-{SECRET[-4:]}')")
    async with conversation(folder, notebook=notebook, journal=place, withhold=Withhold(outputs=True)):
        pass
    script = [call("run_cells", cells="all"), call("read_cells", cells=["c1"], outputs="full"), {"text": "Done."}]
    async with conversation(folder, script, notebook=notebook, journal=place) as (made, _, server):
        assert made.settings.withhold == Withhold(outputs=True)
        await made.send("Look")
        assert len(server.messages) == len(script)
        assert SECRET not in json.dumps(server.messages)


@pytest.mark.parametrize("content", ["", "{}", "null", "{", "[1]"])
def test_what_cannot_be_read_withholds_everything(tmp_path: Path, content: str) -> None:
    assert read_withheld(tmp_path) == NOTHING_WITHHELD
    (tmp_path / FILE).write_text(content)
    assert read_withheld(tmp_path) == Withhold(outputs=True, variables=True)
