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
        asking = (model.reply(system="", messages=HELLO, tools=[]) for _ in range(agents))
        errors = await asyncio.gather(*asking, return_exceptions=True)
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


async def test_f48_requests_under_way_count_as_well() -> None:
    """Three requests that are answered late leave three for the agent that is refused at once."""
    clock, answers, all_late = CountedClock(), asyncio.Event(), asyncio.Event()
    retry = Retry(now=clock, sleep=clock.sleep)
    sent = 0

    async def attempt(waits: bool) -> None:
        nonlocal sent
        sent += 1
        if sent == 3:
            all_late.set()
        if waits:
            await answers.wait()
        raise ModelError("overloaded", "Too many requests.", retryable=True)

    late = [asyncio.ensure_future(retry.run(lambda: attempt(True))) for _ in range(3)]
    await all_late.wait()
    quick = asyncio.ensure_future(retry.run(lambda: attempt(False)))
    done, _ = await asyncio.wait([quick], timeout=0.2)
    assert not done, "it has to hear the others first"
    answers.set()
    errors = await asyncio.gather(quick, *late, return_exceptions=True)
    assert all(isinstance(error, ModelError) for error in errors)
    assert sent == 6
