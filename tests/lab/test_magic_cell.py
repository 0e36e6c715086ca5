"""`%%agent` in a cell of an open notebook: it edits and runs other cells of that notebook while its own is busy."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import wait_for, write_notebook
from lab.lab import Lab
from playwright.sync_api import expect

CELLS = [
    ("load", "code", "%load_ext jupyter_agent"),
    ("ask", "code", "%%agent --mode accept-edits\nMake it 42"),
    ("other", "code", "y = 1\nprint('y is', y)"),
    ("mine", "code", "# mine:"),
]
EDIT = {"op": "edit", "cell": "other", "blocks": [{"search": "y = 1", "replace": "y = 41 + 1"}]}


def run_cell(lab: Lab, index: int) -> None:
    lab.editor(index).click()
    lab.page.keyboard.press("Control+Enter")


def test_another_cell_changes_and_runs_while_the_person_types(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, CELLS)
    lab.open(notebook_name)
    model = script(
        {"calls": [{"name": "read_cells", "arguments": {}}], "text": "Looking."},
        {"calls": [{"name": "edit_cells", "arguments": {"ops": [EDIT]}}]},
        {"calls": [{"name": "run_cells", "arguments": {"cells": ["other"]}}]},
        {
            "text": "It is **42** now.",
            "expect": {"tool_result_contains": "y is 42"},
            "pause_until": "typed",
            "pause_at": "headers",
        },
    )
    run_cell(lab, 0)
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:")
    run_cell(lab, 1)
    lab.editor(3).click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type(" typed while it works")
    expect(lab.cell(2).locator(".jp-OutputArea-output")).to_contain_text("y is 42")
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    lab.page.keyboard.type(" and on")
    model.gate("typed").open()
    expect(lab.cell(1).locator(".jp-OutputArea-output strong").last).to_have_text("42")
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[2]:")
    assert lab.sources()[2:] == ["y = 41 + 1\nprint('y is', y)", "# mine: typed while it works and on"]
    assert "y is 42" not in lab.outputs(1), "outputs show in their own cell alone"
    lab.save()
    saved = lab.server.notebook(notebook_name)["cells"]
    assert "".join(saved[2]["source"]) == "y = 41 + 1\nprint('y is', y)"
    assert "".join(saved[2]["outputs"][0]["text"]) == "y is 42\n"
    assert saved[2]["execution_count"] == 3
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)


def test_it_goes_on_when_the_page_is_gone(lab: Lab, script: Script, notebook_name: str) -> None:
    """The cell was saved before; what the agent changes after the page has gone goes to the file."""
    write_notebook(lab.server.root / notebook_name, CELLS)
    lab.open(notebook_name)
    model = script(
        {"calls": [{"name": "read_cells", "arguments": {}}], "text": "Looking."},
        {"calls": [{"name": "edit_cells", "arguments": {"ops": [EDIT]}}], "pause_until": "gone", "pause_at": "headers"},
        {"text": "Done."},
    )
    run_cell(lab, 0)
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:")
    run_cell(lab, 1)
    expect(lab.cell(1)).to_contain_text("Looking.")
    lab.save()
    lab.page.goto("about:blank")
    model.gate("gone").open()
    wait_for(
        lambda: "41 + 1" in "".join(lab.server.notebook(notebook_name)["cells"][2]["source"]),
        "the file has the change",
        timeout=90,
    )
