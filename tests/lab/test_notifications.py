"""What happens while the panel is closed is told by JupyterLab's notifications, and only then."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from playwright.sync_api import Locator, expect

SLOW = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.05)\nprint('ended')"


def notifications(lab: Lab) -> Locator:
    return lab.page.locator(".Toastify__toast")


def begin(lab: Lab, name: str, source: str, mode: str) -> None:
    (lab.server.root / "go").unlink(missing_ok=True)
    write_notebook(lab.server.root / name, [("slow", "code", source)])
    lab.open(name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label=mode)


def test_a_cell_that_runs_on_tells_its_end_with_the_panel_closed(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, SLOW, "Accept edits")
    script(
        {"calls": [{"name": "run_cells", "arguments": {"cells": ["slow"], "timeout": 1}}]},
        {"text": "It runs on.", "expect": {"tool_result_contains": "running cell slow"}},
    )
    lab.ask("Start it")
    lab.wait_ended()
    expect(notifications(lab)).to_have_count(0)
    lab.command("application:toggle-right-area")
    (lab.server.root / "go").touch()
    told = notifications(lab).filter(has_text="Cell slow ended after")
    expect(told).to_contain_text("ok")
    told.get_by_role("button", name="Show the Agent").click()
    expect(lab.field).to_be_visible()
    expect(lab.panel.get_by_text("Cell slow ended after")).to_be_visible()


def test_an_approval_waits_visibly_with_the_panel_closed(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, "x = 1", "Review")
    model = script(
        {
            "calls": [{"name": "run_cells", "arguments": {"cells": ["slow"]}}],
            "pause_until": "closed",
            "pause_at": "headers",
        },
        {"text": "Ran."},
    )
    lab.ask("Run it")
    lab.command("application:toggle-right-area")
    model.gate("closed").open()
    asked = notifications(lab).filter(has_text="The agent asks: Run cell slow")
    asked.get_by_role("button", name="Show the Agent").click()
    lab.approve()
    lab.wait_ended()
    expect(notifications(lab)).to_have_count(0)
