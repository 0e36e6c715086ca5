"""The panel against a real server and a scripted model."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import expect


def test_the_answer_streams_and_stands_after_a_reload(lab: Lab, script: Script) -> None:
    model = script({"text": "The **answer** is 42.\n\nAnd more.", "pause_until": "go"})
    lab.ask("What is the answer?")
    expect(lab.panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    model.gate("go").open()
    expect(lab.panel.locator("strong", has_text="answer")).to_be_visible()
    lab.wait_ended()
    before = lab.transcript()
    lab.reload()
    lab.show_panel()
    expect(lab.panel.locator("strong", has_text="answer")).to_be_visible()
    assert lab.transcript() == before
