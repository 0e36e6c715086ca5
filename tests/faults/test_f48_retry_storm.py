"""f48: a server that says 429 for ever gets at most six requests, however many agents ask, and is then left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from conversations import conversation

from jupyter_agent.errors import ModelError
from jupyter_agent.events import Note, Stop
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.protocol import Endpoint
from jupyter_agent.models.retry import Retry
from jupyter_agent.testing.clock import CountedClock
from jupyter_agent.testing.scripted import ScriptedServer

HELLO = [{"role": "user", "content": "Hello"}]
FOREVER = {"fault": {"status": 429}, "repeat": "forever"}


@asynccontextmanager
async def connected(url: str, clock: CountedClock) -> AsyncIterator[MessagesModel]:
    endpoint = Endpoint(url, "127.0.0.1", "scripted", local=True, anthropic=False, source="test")
    model = MessagesModel(endpoint, Credential("none"), retry=Retry(now=clock, sleep=clock.sleep))
    try:
        yield model
    finally:
        await model.close()


@pytest.mark.parametrize("agents", [1, 4])
async def test_f48_at_most_six_requests_for_a_whole_tree(agents: int) -> None:
    clock = CountedClock()
    async with ScriptedServer([FOREVER]) as server, connected(server.url, clock) as model:
        refused = asyncio.Event()

        def ask() -> asyncio.Future[object]:
            return asyncio.ensure_future(
                model.reply(system="", messages=HELLO, tools=[], on_retry=lambda *_: refused.set())
            )

        # The others ask while the first one is being kept off: requests that were under way before are nobody's fault.
        first = ask()
        await refused.wait()
        errors = await asyncio.gather(first, *(ask() for _ in range(agents - 1)), return_exceptions=True)
        assert all(isinstance(error, ModelError) and error.kind == "overloaded" for error in errors)
        assert len(server.messages) == 6
        assert sum(clock.slept) <= 120


async def test_f48_retry_after_is_a_minimum() -> None:
    clock = CountedClock()
    fault = {"fault": {"status": 429, "retry_after": 9}, "repeat": 3}
    async with ScriptedServer([fault, {"text": "ok"}]) as server, connected(server.url, clock) as model:
        assert (await model.reply(system="", messages=HELLO, tools=[])).text == "ok"
    assert len(clock.slept) == 3
    assert all(pause >= 9 for pause in clock.slept)


async def test_f48_a_turn_ends_and_the_next_does_not_storm(tmp_path: Path) -> None:
    clock = CountedClock()
    async with conversation(tmp_path, [FOREVER]) as (made, seen, server), connected(server.url, clock) as model:
        made.model = model
        stop = await made.send("Hello")
        assert isinstance(stop, Stop)
        assert stop.reason == "error"
        assert "Gave up after 6 requests" in stop.summary
        retries = [event.text for event in seen if isinstance(event, Note) and "Trying again in" in event.text]
        assert len(retries) == 5
        again = await made.send("And now?")
        assert isinstance(again, Stop)
        assert "try again in" in again.summary
        assert len(server.messages) == 6
