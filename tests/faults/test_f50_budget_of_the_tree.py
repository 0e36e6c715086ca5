"""f50: one budget for the whole tree of agents, asked before each call: it is overshot by one call at most."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from conversations import conversation

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.errors import BudgetExceeded
from jupyter_agent.events import Stop, Usage
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.protocol import Endpoint
from jupyter_agent.testing.scripted import ScriptedServer

USAGE = {"input": 900, "output": 100}
MODEL = "claude-sonnet-5-5"
COST = (900 * 2 + 100 * 10) / 1e6


@pytest.mark.parametrize("limits", [Limits(tokens=3500), Limits(usd=3.5 * COST)], ids=["tokens", "money"])
async def test_f50_parallel_agents_overshoot_by_one_call_at_most(limits: Limits) -> None:
    budget = Budget(limits)
    async with ScriptedServer([{"text": "x", "usage": USAGE, "repeat": "forever"}]) as server:
        endpoint = Endpoint(server.url, "127.0.0.1", MODEL, local=True, anthropic=False, source="test")
        model = MessagesModel(endpoint, Credential("none"))

        async def agent() -> None:
            for _ in range(10):
                async with budget.call(MODEL, input_tokens=900, max_tokens=100):
                    reply = await model.reply(
                        system="",
                        messages=[{"role": "user", "content": "Hello"}],
                        tools=[],
                        max_tokens=100,
                        before_attempt=budget.check,
                    )
                    budget.book(MODEL, reply.usage)

        results = await asyncio.gather(*(agent() for _ in range(5)), return_exceptions=True)
        await model.close()
        assert all(isinstance(result, BudgetExceeded) for result in results)
        assert len(server.messages) == 4
    assert budget.spent.tokens == 4000


async def test_f50_retries_count_against_the_budget_too() -> None:
    budget = Budget(Limits(tokens=1500))
    broken = {"text": "word " * 200, "usage": USAGE, "fault": {"kind": "close_midway", "after": 40}}
    async with ScriptedServer([broken, {"text": "x", "usage": USAGE}]) as server:
        endpoint = Endpoint(server.url, "127.0.0.1", MODEL, local=True, anthropic=False, source="test")
        model = MessagesModel(endpoint, Credential("none"))
        reply = await model.reply(system="", messages=[{"role": "user", "content": "Hello"}], tools=[])
        await model.close()
    for usage in (reply.usage, reply.wasted):
        budget.book(MODEL, usage)
    with pytest.raises(BudgetExceeded):
        budget.check()


async def test_f50_a_turn_stops_at_the_limit(tmp_path: Path) -> None:
    items = [[{"text": f"step {number}", "status": "pending"}] for number in range(9)]
    script = [{"calls": [{"name": "todo", "arguments": {"items": item}}], "usage": USAGE} for item in items]
    async with conversation(tmp_path, script, limits=Limits(tokens=2500)) as (made, seen, server):
        stop = await made.send("Search")
        assert isinstance(stop, Stop)
        assert stop.reason == "limit"
        assert "of 2,500 tokens are used" in stop.summary
        assert len(server.messages) == 3
        assert sum(event.input + event.output for event in seen if isinstance(event, Usage)) == 3000
