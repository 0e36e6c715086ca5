"""The retry layer alone: pauses, bounds, parallel callers, recovery. Time is counted, not waited for."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_agent.errors import BudgetExceeded, ModelError
from jupyter_agent.models.retry import Policy, Retry
from jupyter_agent.testing.clock import CountedClock


class Server:
    """Fails until `fails` requests were made, with the given error."""

    def __init__(self, fails: int = 10**9, kind: str = "overloaded", retry_after: float | None = None) -> None:
        self.fails = fails
        self.kind = kind
        self.retry_after = retry_after
        self.requests = 0

    async def __call__(self) -> str:
        self.requests += 1
        await asyncio.sleep(0)
        if self.requests <= self.fails:
            raise ModelError(self.kind, "It fails.", retryable=True, retry_after=self.retry_after)
        return "ok"


def retry(clock: CountedClock, jitter: float = 0.5) -> Retry:
    return Retry(now=clock, sleep=clock.sleep, jitter=lambda: jitter)


async def test_pauses_grow_and_end_after_six_requests(clock: CountedClock) -> None:
    server = Server()
    with pytest.raises(ModelError, match="Gave up after 6 requests in 23 s") as caught:
        await retry(clock).run(server)
    assert server.requests == 6
    assert clock.slept == [0.75, 1.5, 3, 6, 12]
    assert not caught.value.retryable


@pytest.mark.parametrize("jitter", [0, 0.5, 0.999])
async def test_never_sooner_than_the_server_asks(clock: CountedClock, jitter: float) -> None:
    server = Server(fails=2, retry_after=20)
    assert await retry(clock, jitter).run(server) == "ok"
    assert all(20 <= pause <= 22 for pause in clock.slept)
    assert len(clock.slept) == 2


async def test_a_retry_after_of_an_hour_is_said_and_not_slept(clock: CountedClock) -> None:
    server = Server(retry_after=3600)
    with pytest.raises(ModelError, match="left alone for 3") as caught:
        await retry(clock, 0).run(server)
    assert clock.slept == []
    assert server.requests == 1
    assert caught.value.retry_after == 3600


async def test_total_time_is_bounded(clock: CountedClock) -> None:
    server = Server(retry_after=50)
    with pytest.raises(ModelError):
        await retry(clock, 0).run(server)
    assert sum(clock.slept) <= Policy().total
    assert server.requests == 3


async def test_permanent_error_is_not_repeated(clock: CountedClock) -> None:
    calls = []

    async def refuse() -> None:
        calls.append(1)
        raise ModelError("auth", "No.")

    with pytest.raises(ModelError, match=r"^No\.$"):
        await retry(clock).run(refuse)
    assert calls == [1]


async def test_parallel_callers_share_one_series(clock: CountedClock) -> None:
    server, layer = Server(), retry(clock)
    results = await asyncio.gather(*(layer.run(server) for _ in range(4)), return_exceptions=True)
    assert all(isinstance(result, ModelError) for result in results)
    assert server.requests == 6


async def test_parallel_callers_all_go_on_after_recovery(clock: CountedClock) -> None:
    server, layer = Server(fails=5), retry(clock)
    assert await asyncio.gather(*(layer.run(server) for _ in range(4))) == ["ok"] * 4
    assert len(clock.slept) <= 2


async def test_while_it_must_be_left_alone_no_request_is_made(clock: CountedClock) -> None:
    server, layer = Server(), retry(clock)
    with pytest.raises(ModelError):
        await layer.run(server)
    with pytest.raises(ModelError, match="try again in"):
        await layer.run(server)
    assert server.requests == 6
    clock.now += 30
    with pytest.raises(ModelError):
        await layer.run(server)
    assert server.requests == 7
    server.fails = 0
    clock.now += 30
    assert await layer.run(server) == "ok"


async def test_another_incident_later_has_all_its_retries(clock: CountedClock) -> None:
    server, layer = Server(), retry(clock)
    with pytest.raises(ModelError):
        await layer.run(server)
    clock.now += 3600
    server.fails = server.requests + 3
    assert await layer.run(server) == "ok"


async def test_the_budget_is_asked_before_every_request(clock: CountedClock) -> None:
    server, allowed = Server(), [1, 1, 1]

    def budget() -> None:
        if not allowed:
            raise BudgetExceeded("spent")
        allowed.pop()

    with pytest.raises(BudgetExceeded):
        await retry(clock).run(server, before_attempt=budget)
    assert server.requests == 3


async def test_stop_during_a_pause_frees_the_others(clock: CountedClock) -> None:
    paused = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if not paused.is_set():
            paused.set()
            await asyncio.Event().wait()
        clock.now += seconds

    server = Server(fails=2)
    layer = Retry(now=clock, sleep=sleep)
    stopped = asyncio.create_task(layer.run(server))
    await paused.wait()
    other = asyncio.create_task(layer.run(server))
    await asyncio.sleep(0)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    assert await asyncio.wait_for(other, 5) == "ok"
