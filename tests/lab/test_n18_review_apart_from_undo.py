"""What is reviewed is not what is undone: the editor's undo and redo settle nothing, now or for later edits."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from lab.steps import READ, begin, edit
from playwright.sync_api import expect


def test_n18_undo_and_redo_accept_nothing(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"text": "One."},
        {"calls": [READ, edit("second", "'value'", "'two'")]},
        {"text": "Two."},
    )
    bar = lab.panel.get_by_role("region", name="Changes to review")
    lab.ask("One")
    lab.wait_ended()
    expect(bar).to_contain_text("1 change to review")
    lab.editor(1).click()
    lab.page.keyboard.press("Control+z")
    assert lab.sources()[1] == "x = 1\n# here"
    lab.page.keyboard.press("Control+Shift+z")
    assert lab.sources()[1] == "x = 2\n# here"
    expect(bar).to_contain_text("1 change to review")
    bar.get_by_role("button", name="Keep all").click()
    expect(bar).to_have_count(0)
    lab.ask("Two")
    lab.wait_ended()
    expect(bar).to_contain_text("1 change to review")
    lab.save()
