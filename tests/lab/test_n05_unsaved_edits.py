"""Unsaved edits: the person's and the agent's both stay; where they meet, the person's does, and it is said."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from lab.steps import begin, edit
from playwright.sync_api import expect


def test_n05_both_sides_of_a_dirty_notebook_are_kept(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    look = {"name": "read_cells", "arguments": {"cells": ["first", "second"]}}
    model = script(
        {"calls": [look], "pause_until": "typed", "pause_at": "stop"},
        {
            "calls": [edit("first", "x = 1", "x = 2")],
            "expect": {"tool_result_contains": "# here, mine"},
        },
        {"calls": [edit("second", "'value'", "'agent'")], "pause_until": "overwritten", "pause_at": "headers"},
        {"calls": [look], "expect": {"tool_result_contains": "Nothing was changed"}},
        {"text": "Your version stays.", "expect": {"tool_result_contains": "by hand"}},
    )
    lab.ask("Change both cells")
    lab.editor(1).click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type(", mine")
    model.gate("typed").open()
    expect(lab.editor(1)).to_contain_text("x = 2")
    lab.editor(2).click()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.type("mine = 'by hand'")
    model.gate("overwritten").open()
    lab.wait_ended()
    assert lab.sources()[1:] == ["x = 2\n# here, mine", "mine = 'by hand'"]
    expect(lab.panel.get_by_text("left unsaved")).to_be_visible()
    lab.save()
    saved = ["".join(cell["source"]) for cell in lab.server.notebook(notebook_name)["cells"]]
    assert saved[1:] == ["x = 2\n# here, mine", "mine = 'by hand'"]
