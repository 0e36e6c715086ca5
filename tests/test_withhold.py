"""What the person switched off is in no request: not in results, not in cells, not by another tool."""

from __future__ import annotations

import json
from pathlib import Path

from conversations import call, conversation, notebook_file

from jupyter_agent.withhold import Withhold

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
