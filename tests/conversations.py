"""Conversations for tests: real journal, real documents and kernels, and the scripted model over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.events import Event, ToolFinished
from jupyter_agent.host import LocalHost
from jupyter_agent.journal import Journal
from jupyter_agent.permission import Asker, Mode, parse_rule
from jupyter_agent.testing.scripted import ScriptedServer
from jupyter_agent.tools import all_tools
from jupyter_agent.withhold import Withhold

Script = Sequence[dict[str, Any]]


@asynccontextmanager
async def conversation(
    folder: Path,
    script: Script = (),
    *,
    notebook: Path | None = None,
    mode: Mode = "accept-edits",
    allow: Sequence[str] = (),
    limits: Limits | None = None,
    asker: Asker | None = None,
    journal: Path | None = None,
    verify: bool = True,
    ledger: bool = True,
    withhold: Withhold | None = None,
) -> AsyncIterator[tuple[Conversation, list[Event], ScriptedServer]]:
    """A conversation in `folder`, the list its events are put into, and the server that plays its model."""
    answers = tuple(parse_rule(rule) for rule in allow)
    settings = Settings(
        folder.resolve(),
        notebook,
        mode,
        answers=answers,
        verify=verify,
        ledger=ledger,
        withhold=withhold or Withhold(),
    )
    place = journal or folder.parent / f"{folder.name}-conversation"
    with ScriptedServer([*script]) as server, Journal.open(place) as opened:
        host = LocalHost(settings.root, spill=place / "spill")
        made = Conversation(opened, settings, host, all_tools(), Budget(limits or Limits(turns=50)), asker=asker)
        seen: list[Event] = []
        made.subscribe(seen.append)
        try:
            if script:
                await connect(made, model="scripted", base_url=server.url, environment={})
            yield made, seen, server
        finally:
            await made.close()


async def happened(made: Conversation, kind: str) -> Event:
    """The next event of a type; call it before the turn's task first runs."""
    found: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

    def look(event: Event) -> None:
        if event.type == kind and not found.done():
            found.set_result(event)

    unsubscribe = made.subscribe(look)
    try:
        return await found
    finally:
        unsubscribe()


def notebook_file(path: Path, *sources: str, cells: Sequence[dict[str, Any]] = (), minor: int = 5) -> Path:
    """A notebook of code cells `c1`, `c2`, … (or of the given cell dictionaries), never run."""
    made = [code_cell(f"c{number}", source) for number, source in enumerate(sources, 1)]
    body = {
        "cells": [*made, *cells],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    path.write_text(json.dumps(body, indent=1) + "\n")
    return path


def code_cell(id: str, source: str, **more: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "execution_count": None, "id": id, "metadata": {}, "outputs": []}
    return cell | {"source": source.splitlines(keepends=True)} | more


def types(events: Sequence[Event]) -> list[str]:
    """The types of events in order, without deltas."""
    return [event.type for event in events if event.type != "delta"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A reply of the scripted model that calls one tool."""
    return {"text": f"I call {name}.", "calls": [{"name": name, "arguments": arguments}]}


def asked(server: ScriptedServer) -> int:
    """How often the model was asked for a reply."""
    return sum(request.method == "POST" for request in server.requests)


def results(events: Sequence[Event]) -> list[str]:
    """The first text of every tool result."""
    return [event.content[0]["text"] for event in events if isinstance(event, ToolFinished)]
