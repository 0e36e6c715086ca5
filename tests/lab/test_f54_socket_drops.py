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


class Gate:
    """Passes the websocket on while it is open; closed, it breaks each connection at once."""

    def __init__(self) -> None:
        self.open = True
        self._passing: list[WebSocketRoute] = []

    def __call__(self, route: WebSocketRoute) -> None:
        if self.open:
            self._passing.append(route)
            route.connect_to_server()
        else:
            route.close()

    def shut(self) -> None:
        self.open = False
        for route in self._passing:
            route.close()


def test_f54_a_click_without_a_connection_counts(second: Lab, script: Script) -> None:
    gate = Gate()
    second.page.route_web_socket("**/jupyter-agent/conversations/**", gate)
    second.goto("lab?reset")
    second.new_conversation()
    command = {"name": "run_bash", "arguments": {"command": "echo once >> clicked.txt"}}
    script({"calls": [command]}, {"text": "It was allowed."})
    second.ask("Ask me, and I answer from a train")
    expect(second.panel.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    gate.shut()
    banner = second.panel.locator(".jp-agent-banner")
    expect(banner).to_contain_text("The connection to the server is broken")
    second.approve()
    expect(banner).to_contain_text("This is sent as soon as it is back")
    gate.open = True
    banner.get_by_role("button", name="Try now").click()
    second.wait_ended()
    expect(banner).to_have_count(0)
    assert (second.server.root / "clicked.txt").read_text() == "once\n"
    assert "It was allowed." in second.transcript()
