"""A growing answer keeps its end in sight for whoever is there, and never moves a reader who went up."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import expect

PARAGRAPH = (
    "A paragraph with **bold** words and `code`.\n\n```python\nx = 1\ny = 2\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n"
)
PLACE = """() => {
  const { scrollTop, scrollHeight, clientHeight } = document.querySelector('.jp-agent-transcript');
  return { top: scrollTop, below: scrollHeight - scrollTop - clientHeight };
}"""
AT_THE_END = f"() => ({PLACE})().below <= 1"


def test_the_end_stays_in_sight(lab: Lab, script: Script) -> None:
    script({"text": PARAGRAPH * 30, "pause": 0.002})
    lab.show_panel()
    lab.ask("Tell me at length")
    lab.wait_ended()
    assert lab.page.evaluate(PLACE)["top"] > 1000, "it is longer than the panel"
    lab.page.wait_for_function(AT_THE_END)
    expect(lab.panel.get_by_role("button", name="Latest")).to_have_count(0)


def test_a_reader_who_went_up_stays_there_until_they_go_back(lab: Lab, script: Script) -> None:
    model = script(
        {"text": PARAGRAPH * 15, "calls": [{"name": "todo", "arguments": {"items": []}}]},
        {"text": PARAGRAPH * 15, "pause_until": "went up", "pause_at": "headers"},
    )
    lab.show_panel()
    lab.ask("Tell me in two parts")
    expect(lab.panel.locator(".jp-agent-tool")).to_have_count(1)
    lab.page.wait_for_function(f"() => ({PLACE})().top > 1000")
    lab.panel.locator(".jp-agent-transcript").hover()
    lab.page.mouse.wheel(0, -600)
    latest = lab.panel.get_by_role("button", name="Latest")
    expect(latest).to_be_visible()
    words = lab.page.evaluate_handle(
        "() => document.elementFromPoint(...(({ left, top }) => [left + 60, top + 60])"
        "(document.querySelector('.jp-agent-transcript').getBoundingClientRect()))"
    )
    where = words.evaluate("element => element.getBoundingClientRect().top")
    model.gate("went up").open()
    lab.wait_ended()
    expect(latest).to_be_visible()
    assert abs(words.evaluate("element => element.getBoundingClientRect().top") - where) < 2, "what they read stays"
    latest.click()
    lab.page.wait_for_function(AT_THE_END)
    expect(latest).to_have_count(0)
