"""One budget for a whole tree of agents: turns, tokens, money, time; asked before each model call. No I/O.

Turns and time are counted per user message (`start_turn`), tokens and money per conversation. Not thread-safe: it
lives on the conversation's event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from jupyter_agent.errors import BudgetExceeded
from jupyter_agent.models.prices import Price, Rates, dearest_input, price_of
from jupyter_agent.models.protocol import TokenCount


@dataclass(frozen=True)
class Limits:
    """None means unlimited. `turns`: model replies per user message; `tokens`: all tokens of the conversation, cache
    reads included; `usd`: list prices; `seconds`: per user message, without the time a person was waited for."""

    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Spent:
    """`usd` includes the assumed price of models that have none in the table (see `Budget.notice`)."""

    turns: int
    tokens: int
    usd: float
    seconds: float


class Budget:
    """Shared by reference with every sub-agent. The tree overshoots a limit by at most one call.

    That holds for parallel agents too, through `call`: a call in flight counts with the most it can cost, and a
    further one is admitted only while that leaves room; else it waits for those in flight.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        price: Callable[[str], Price | None] = price_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits or Limits()
        self._price = price
        self._clock = clock
        self._turns = 0
        self._tokens = 0
        self._usd = 0.0
        self._in_flight: dict[object, tuple[int, float]] = {}
        self._changed = asyncio.Condition()
        self._started = clock()
        self._waiting = 0
        self._waiting_since = 0.0
        self._waited = 0.0

    # --- time -------------------------------------------------------------------------------------------------------

    def start_turn(self) -> None:
        """A new user message: turns and time begin again."""
        self._turns = 0
        self._started = self._clock()
        self._waited = 0.0
        self._waiting_since = self._started

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stops the clock while a person is waited for; may be nested and used by several agents at once."""
        if self._waiting == 0:
            self._waiting_since = self._clock()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._waited += self._clock() - self._waiting_since

    def _seconds(self) -> float:
        now = self._clock()
        open_wait = now - self._waiting_since if self._waiting else 0.0
        return now - self._started - self._waited - open_wait

    @property
    def spent(self) -> Spent:
        return Spent(self._turns, self._tokens, self._usd, self._seconds())

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, never negative; None where there is no limit."""
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self._seconds())

    # --- calls --------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises BudgetExceeded (kinds `tokens`, `money`, `time`) when a limit is reached.

        For `before_attempt` of the model: a retry costs like a call, but is no turn.
        """
        self._refuse_if(self._tokens, self._usd)

    def start_turn_step(self) -> None:
        """Counts one model reply; raises BudgetExceeded (kinds as `check`, and `turns`) instead when a limit is
        reached. Enough for an agent that runs alone; parallel agents go through `call`."""
        self.check()
        if self.limits.turns is not None and self._turns >= self.limits.turns:
            raise _exceeded("turns", f"the limit of {self.limits.turns} model replies a message was reached")
        self._turns += 1

    @asynccontextmanager
    async def call(self, model: str, *, input_tokens: int, max_tokens: int) -> AsyncIterator[None]:
        """`start_turn_step` with up to `input_tokens + max_tokens` reserved until the block ends; book inside it."""
        ticket = object()
        worst = TokenCount(input=0, output=max_tokens, cache_write=input_tokens)
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            self.start_turn_step()
            self._in_flight[ticket] = (_total(worst), self._rates(model).cost(worst))
        try:
            yield
        finally:
            self._in_flight.pop(ticket, None)
            async with self._changed:
                self._changed.notify_all()

    def book(self, model: str, usage: TokenCount) -> float | None:
        """Books one HTTP call's tokens; returns its cost in USD, or None where the model has no known price."""
        cost = self._rates(model).cost(usage)
        self._tokens += _total(usage)
        self._usd += cost
        return None if self._price(model) is None else cost

    def notice(self, model: str) -> str | None:
        """What has to be said aloud about a money limit on a model without a known price; None where it is known."""
        if self.limits.usd is None or self._price(model) is not None:
            return None
        tokens = round(max(0.0, self.limits.usd - self._usd) / dearest_input() * 1_000_000)
        return (
            f"No price is known for {model}. The budget of ${self.limits.usd:.2f} is kept as a token budget instead: "
            f"{tokens:,} tokens, as if each cost ${dearest_input():g} per million."
        )

    def _rates(self, model: str) -> Price | Rates:
        known = self._price(model)
        flat = dearest_input()
        return known if known is not None else Rates(flat, flat, flat, flat)

    def _has_room(self) -> bool:
        """Whether to decide now (admit, or refuse for good) instead of waiting for the calls in flight."""
        self.check()
        if not self._in_flight:
            return True
        tokens = self._tokens + sum(tokens for tokens, _ in self._in_flight.values())
        usd = self._usd + sum(usd for _, usd in self._in_flight.values())
        limits = self.limits
        return (limits.tokens is None or tokens < limits.tokens) and (limits.usd is None or usd < limits.usd)

    def _refuse_if(self, tokens: int, usd: float) -> None:
        limits = self.limits
        if limits.tokens is not None and tokens >= limits.tokens:
            raise _exceeded("tokens", f"{tokens:,} of {limits.tokens:,} tokens are used")
        if limits.usd is not None and usd >= limits.usd:
            limit = f"{limits.usd:.2f}" if limits.usd >= 0.01 else f"{limits.usd:.2g}"
            raise _exceeded("money", f"${usd:.4f} of ${limit} are spent")
        seconds = self._seconds()
        if limits.seconds is not None and seconds >= limits.seconds:
            raise _exceeded("time", f"{seconds:.0f} of {limits.seconds:.0f} seconds are used")


def _exceeded(kind: str, what: str) -> BudgetExceeded:
    return BudgetExceeded(f"Stopped at the budget: {what}. Raise it, or send another message to go on.", kind=kind)


def _total(usage: TokenCount) -> int:
    return usage.input + usage.output + usage.cache_read + usage.cache_write
