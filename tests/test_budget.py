"""Budget: limits before the call, one overshoot at most, pauses, unknown prices."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.errors import BudgetExceeded
from jupyter_agent.models.prices import Price, Rates, price_of, table
from jupyter_agent.models.protocol import TokenCount

SONNET = "claude-sonnet-5-5"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def spend(budget: Budget, model: str, tokens: int) -> None:
    async with budget.call(model, input_tokens=0, max_tokens=tokens):
        budget.check()
        await asyncio.sleep(0)
        budget.book(model, TokenCount(0, tokens))


async def test_turns_are_counted_a_message() -> None:
    budget = Budget(Limits(turns=2))
    await spend(budget, SONNET, 1)
    await spend(budget, SONNET, 1)
    with pytest.raises(BudgetExceeded) as caught:
        await spend(budget, SONNET, 1)
    assert caught.value.kind == "turns"
    assert budget.spent.tokens == 2
    budget.start_turn()
    await spend(budget, SONNET, 1)
    assert budget.spent.turns == 1


@pytest.mark.parametrize(("limits", "kind"), [(Limits(tokens=1000), "tokens"), (Limits(usd=0.01), "money")])
async def test_overshoot_of_parallel_agents_is_at_most_one_call(limits: Limits, kind: str) -> None:
    budget = Budget(limits)
    results = await asyncio.gather(*(spend(budget, SONNET, 300) for _ in range(20)), return_exceptions=True)
    refused = [error for error in results if isinstance(error, BudgetExceeded)]
    assert refused
    assert {error.kind for error in refused} == {kind}
    assert len(refused) == 20 - budget.spent.turns
    limit, used = (1000, budget.spent.tokens) if kind == "tokens" else (0.01, budget.spent.usd)
    one_call = 300 if kind == "tokens" else 300 * 10 / 1e6
    assert limit <= used < limit + one_call


async def test_calls_in_flight_hold_others_back_but_do_not_refuse_them() -> None:
    budget = Budget(Limits(tokens=1000))
    order: list[str] = []

    async def small_use_of_a_big_allowance(name: str) -> None:
        async with budget.call(SONNET, input_tokens=500, max_tokens=600):
            order.append("start " + name)
            await asyncio.sleep(0)
            budget.book(SONNET, TokenCount(100, 0))
            order.append("end " + name)

    await asyncio.gather(*map(small_use_of_a_big_allowance, "abc"))
    assert order == ["start a", "end a", "start b", "end b", "start c", "end c"]
    assert budget.spent.tokens == 300


async def test_a_failed_call_frees_its_reservation() -> None:
    budget = Budget(Limits(tokens=1000))
    with pytest.raises(RuntimeError):
        async with budget.call(SONNET, input_tokens=0, max_tokens=2000):
            raise RuntimeError
    await asyncio.wait_for(spend(budget, SONNET, 10), 5)


async def test_time_excludes_waiting_for_a_person() -> None:
    clock = Clock()
    budget = Budget(Limits(seconds=60), clock=clock)
    clock.now += 50
    with budget.pause():
        clock.now += 600
        with budget.pause():
            clock.now += 600
        assert budget.spent.seconds == 50
        budget.check()
    assert budget.seconds_left == 10
    clock.now += 10
    with pytest.raises(BudgetExceeded) as caught:
        budget.check()
    assert caught.value.kind == "time"
    budget.start_turn()
    budget.check()


async def test_start_turn_while_waiting_counts_no_time() -> None:
    clock = Clock()
    budget = Budget(clock=clock)
    with budget.pause():
        clock.now += 5
        budget.start_turn()
        clock.now += 7
    assert budget.spent.seconds == 0


async def test_unknown_price_becomes_a_token_budget_said_aloud() -> None:
    budget = Budget(Limits(usd=1.0))
    notice = budget.notice("qwen2.5-coder")
    assert notice
    assert "100,000 tokens" in notice
    assert "qwen2.5-coder" in notice
    assert budget.notice(SONNET) is None
    assert Budget().notice("qwen2.5-coder") is None
    assert budget.book("qwen2.5-coder", TokenCount(60_000, 40_000)) is None
    with pytest.raises(BudgetExceeded, match=r"\$1\.0000 of \$1\.00"):
        budget.check()


def test_price_table_is_dated_and_complete() -> None:
    assert table()["as_of"] >= "2026-10-01"
    for model in table()["models"]:
        price = price_of(model)
        assert price is not None
        assert 0 < price.rates.cache_read < price.rates.input < price.rates.cache_write < price.rates.output


def test_price_of_ids_with_dates_and_variants() -> None:
    assert price_of("claude-haiku-4-5-20251001") == price_of("claude-haiku-4-5")
    assert price_of("claude-sonnet-5-5[1m]") == price_of(SONNET)
    assert price_of("claude-fable-9") is None


def test_cost_of_each_token_kind_and_of_long_prompts() -> None:
    price = Price(Rates(1, 5, 1.25, 0.1), 100, Rates(2, 10, 2.5, 0.2))
    assert price.cost(TokenCount(50, 10, 30, 20)) == pytest.approx((50 + 50 + 25 + 3) / 1e6)
    assert price.cost(TokenCount(50, 10, 30, 21)) == pytest.approx((100 + 100 + 21 * 2.5 + 6) / 1e6)
    long = price_of("claude-haiku-5-5")
    assert long is not None
    assert long.cost(TokenCount(1, 0, 100_000)) == pytest.approx((0.5 + 5000) / 1e6)
