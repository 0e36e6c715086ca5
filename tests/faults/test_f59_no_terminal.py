"""f59: without a person an ask is a no: nothing changes, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path

from program import run_program
from runs import broken, call, digest

from jupyter_agent.testing.scripted import ScriptedServer


def test_f59_in_review_without_a_terminal_nothing_changes_and_it_exits_3(tmp_path: Path) -> None:
    notebook = broken(tmp_path)
    before = digest(notebook)
    script = [
        call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "lenn", "replace": "len"}]}]),
        {"expect": {"tool_result_error": True, "tool_result_contains": "--allow edit_cells"}, "text": "I may not."},
    ]
    with ScriptedServer(script) as server:
        done = run_program(
            "run", notebook.name, "Repair it", "--json", "--model", "m", "--base-url", server.url, cwd=tmp_path
        )
        assert server.failures == []
    assert done.returncode == 3
    assert digest(notebook) == before
    assert json.loads(done.stdout.splitlines()[-1])["reason"] == "denied"
