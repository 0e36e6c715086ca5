"""A conversation of 1,000 events read back and turned into messages; promised within 100 ms; json.loads beside it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from _harness import Result, paired

from jupyter_agent.context import messages
from jupyter_agent.events import Assistant, Event, ToolFinished, ToolStart, Usage, User
from jupyter_agent.journal import FILE, Journal, read_journal

EVENTS = 1_000


def a_turn(number: int) -> list[Event]:
    call = f"call-{number}"
    text = f"line {number} of some output\n" * 40
    raw = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": call, "name": "read_cells", "input": {}}]
    return [
        User(id=f"u{number}", text="Go on"),
        Assistant(text="I look.", calls=[{"id": call, "name": "read_cells", "arguments": {}}], raw=raw, model="m"),
        Usage(input=1_000, output=10),
        ToolStart(call=call, name="read_cells", arguments={}),
        ToolFinished(call=call, name="read_cells", content=[{"type": "text", "text": text}]),
    ]


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        with Journal.open(Path(folder)) as journal:
            for number in range(EVENTS // 5):
                for event in a_turn(number):
                    journal.append(event, turn=number + 1)
        path = Path(folder) / FILE

        def ours() -> int:
            return len(messages(read_journal(path).events, "m"))

        def baseline() -> int:
            return len([json.loads(line) for line in path.read_bytes().splitlines()])

        against = "json.loads of its lines"
        return [paired(f"replay of {EVENTS:,} events (ms: at most 100)", against, ours, baseline, rounds=15)]
