"""f5: undo leaves what somebody else changed since, and names it."""

from __future__ import annotations

from pathlib import Path

from program import run_program
from runs import REPAIR, broken

from jupyter_agent.testing.scripted import ScriptedServer


def test_f5_undo_leaves_what_somebody_else_changed_since(tmp_path: Path) -> None:
    notebook = broken(tmp_path)
    with ScriptedServer(REPAIR) as server:
        run_program(
            "run",
            notebook.name,
            "Repair it",
            "--mode",
            "accept-edits",
            "--model",
            "m",
            "--base-url",
            server.url,
            cwd=tmp_path,
        )
    theirs = notebook.read_text().replace("print(sum(x) / len(x))", "print('mine')")
    notebook.write_text(theirs)
    done = run_program("undo", cwd=tmp_path)
    assert "changed by someone else since" in done.stdout
    assert "print('mine')" in notebook.read_text()
