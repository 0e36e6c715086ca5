"""The connection breaks after every single event: in the end the page shows what an undisturbed page shows."""

from __future__ import annotations

import json

from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import WebSocketRoute, expect

TODO = {"name": "todo", "arguments": {"items": [{"text": "look", "status": "done"}]}}
COMMAND = {"name": "run_bash", "arguments": {"command": "echo once >> dropped.txt"}}


class Dropping:
    """Passes the websocket on, and breaks it right after every event that it passes for the first time."""

    def __init__(self) -> None:
        self.passed: set[str] = set()

    def __call__(self, route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        broken = False

        def forward(message: str | bytes) -> None:
            nonlocal broken
            if broken:
                return
            route.send(message)
            if self._is_new(str(message)):
                broken = True
                server.close()
                route.close()

        server.on_message(forward)

    def _is_new(self, message: str) -> bool:
        event = json.loads(message)
        # The part of a reply that is there is sent anew after each break, a little longer: three times are enough.
        deltas = sum(json.loads(passed)["type"] == "delta" for passed in self.passed)
        if "seq" not in event or message in self.passed or (event["type"] == "delta" and deltas == 3):
            return False
        self.passed.add(message)
        return True


def test_f54_dropping_the_socket_after_every_event(lab: Lab, second: Lab, script: Script) -> None:
    dropping = Dropping()
    second.page.route_web_socket("**/jupyter-agent/conversations/**", dropping)
    second.goto("lab?reset")
    second.new_conversation()
    script(
        {"thinking": "Let me think.", "text": "First **part**.\n\nSecond part.", "calls": [TODO]},
        {"calls": [COMMAND]},
        {"text": "All of it: " + "word " * 30, "pause": 0.05},
    )
    second.ask("Go on whatever happens")
    second.approve()
    second.wait_ended()
    kinds = [json.loads(message)["type"] for message in dropping.passed]
    assert kinds.count("stop") == 1, "it was dropped to the last"
    assert len(kinds) - kinds.count("delta") >= 12
    assert (lab.server.root / "dropped.txt").read_text() == "once\n"
    lab.spoiled = True
    lab.open_newest()
    lab.wait_ended()
    expect(lab.panel.locator("strong", has_text="part")).to_be_visible()
    expect(second.panel.locator("strong", has_text="part")).to_be_visible()
    assert second.transcript() == lab.transcript()
