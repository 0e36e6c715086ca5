"""The file of an open notebook is never written behind it: nothing "changed on disk", and saved it is the document."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from lab.steps import READ, begin, edit
from playwright.sync_api import expect


def test_f18_edits_and_saves_by_turns_never_meet_on_the_disk(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    path = lab.server.root / notebook_name
    before = path.read_bytes()
    whole_file = {"path": notebook_name, "content": "{}", "percentage_to_change": 100}
    model = script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"calls": [{"name": "write_file", "arguments": whole_file}], "pause_until": "looked", "pause_at": "headers"},
        {"calls": [edit("first", "x = 2", "x = 3")], "expect": {"tool_result_contains": "edit_cells"}},
        {"text": "Done."},
    )
    lab.ask("Change it twice")
    expect(lab.editor(1)).to_contain_text("x = 2")
    assert path.read_bytes() == before, "the document is changed, not the file behind it"
    model.gate("looked").open()
    lab.wait_ended()
    lab.editor(2).click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("  # mine")
    lab.save()
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
    saved = ["".join(cell["source"]) for cell in lab.server.notebook(notebook_name)["cells"]]
    assert saved == lab.sources() == ["# Title", "x = 3\n# here", "print('value', x)  # mine"]
