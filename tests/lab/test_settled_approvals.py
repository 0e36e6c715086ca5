"""A conversation of the command line in the panel: what was approved in advance, and what nobody could be asked for."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from playwright.sync_api import expect
from program import run_program


def test_approvals_in_advance_and_without_anybody(
    lab: Lab, script: Script, notebook_name: str, model_environment: dict[str, str]
) -> None:
    write_notebook(lab.server.root / notebook_name, [("first", "code", "x = 1")])
    script(
        {"calls": [{"name": "run_bash", "arguments": {"command": "touch allowed.txt"}}]},
        {"calls": [{"name": "run_bash", "arguments": {"command": "touch unasked.txt"}}]},
        {"text": "One of two."},
    )
    done = run_program(
        *("run", notebook_name, "Make two files", "--allow", "run_bash(touch allowed.txt)"),
        cwd=lab.server.root,
        JUPYTER_DATA_DIR=str(lab.server.data),
        **model_environment,
    )
    assert done.returncode == 3, done.stderr
    lab.open_newest()
    lab.wait_ended()
    verdicts = lab.panel.locator(".jp-agent-verdict")
    expect(verdicts).to_have_count(2)
    expect(verdicts.first).to_contain_text("Approved in advance")
    expect(verdicts.first).to_contain_text("touch allowed.txt")
    expect(verdicts.last).to_contain_text("Not approved: nobody could be asked")
    expect(lab.panel.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
