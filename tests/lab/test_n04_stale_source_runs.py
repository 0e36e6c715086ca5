"""An edit shows in the open editor at once, and the person's next run takes it: there is one source of truth."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from lab.steps import READ, begin, edit
from playwright.sync_api import expect


def test_n04_the_editor_shows_the_edit_and_runs_it(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    script({"calls": [READ]}, {"calls": [edit("second", "'value', x", "'edited'")]}, {"text": "Done."})
    lab.ask("Change the second cell")
    lab.wait_ended()
    expect(lab.editor(2)).to_have_text("print('edited')")
    lab.editor(2).click()
    lab.page.keyboard.press("Control+Enter")
    expect(lab.cell(2).locator(".jp-OutputArea-output")).to_have_text("edited")
    lab.save()
    assert lab.server.notebook(notebook_name)["cells"][2]["source"] == ["print('edited')"]
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
