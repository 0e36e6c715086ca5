"""Journals for tests."""

from __future__ import annotations

from pathlib import Path

from jupyter_agent.events import Assistant, Event, Stop, ToolFinished, ToolStart, User
from jupyter_agent.journal import Journal


def some_events() -> list[Event]:
    return [
        User(id="u1", text="héllo\nworld"),
        Assistant(text="I look.", calls=[{"id": "t1", "name": "read_cells", "arguments": {}}]),
        ToolStart(call="t1", name="read_cells", arguments={}),
        ToolFinished(call="t1", name="read_cells", content=[{"type": "text", "text": "ok\udc80"}]),
        Stop(reason="done", verified="none", summary="Nothing was changed."),
    ]


def write(folder: Path) -> list[Event]:
    with Journal.open(folder) as journal:
        return [journal.append(event, turn=1) for event in some_events()]
