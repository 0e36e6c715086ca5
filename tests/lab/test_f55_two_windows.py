"""Two windows answer one approval in the same moment: there is one verdict, and both show it."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import expect


def test_f55_one_verdict_in_both_windows(lab: Lab, second: Lab, script: Script) -> None:
    calls = [{"name": "run_bash", "arguments": {"command": f"echo {n} >> verdicts.txt"}} for n in range(5)]
    script(*({"calls": [call]} for call in calls), {"text": "Done."})
    lab.ask("Write five lines")
    approve = {page: page.panel.get_by_role("button", name="Approve", exact=True) for page in (lab, second)}
    expect(approve[lab]).to_have_count(1)
    second.open_newest()
    for number in range(5):
        for page in (lab, second) if number % 2 else (second, lab):
            expect(page.panel.locator(".jp-agent-tool")).to_have_count(number + 1)
            expect(approve[page]).to_have_count(1)
        # Both press before either can have seen the other's answer: the presses are in the pages' queues at once.
        for page in (lab, second):
            page.page.evaluate(
                """() => setTimeout(() => {
                  const buttons = [...document.querySelectorAll('.jp-agent-answers button')];
                  buttons.find(button => button.textContent === 'Approve')?.click();
                })"""
            )
    for page in (lab, second):
        page.wait_ended()
        expect(page.panel.locator(".jp-agent-verdict")).to_have_count(5)
    assert (lab.server.root / "verdicts.txt").read_text() == "0\n1\n2\n3\n4\n"
    assert lab.transcript() == second.transcript()
