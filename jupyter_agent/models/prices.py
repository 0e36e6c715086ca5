"""What a model call costs, from the dated table `prices.json` of this package. Pure but for reading that file once."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_agent.models.protocol import TokenCount

_MILLION = 1_000_000
_DATE_OR_VARIANT = re.compile(r"(-\d{8}|\[1m\]|-latest)$")


@dataclass(frozen=True)
class Rates:
    """USD per million tokens; `cache_write` is that of the five-minute cache."""

    input: float
    output: float
    cache_write: float
    cache_read: float

    def cost(self, usage: TokenCount) -> float:
        total = (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_write * self.cache_write
            + usage.cache_read * self.cache_read
        )
        return total / _MILLION


@dataclass(frozen=True)
class Price:
    """The list price of a model. A call whose prompt exceeds `threshold` tokens pays `long` for all its tokens."""

    rates: Rates
    threshold: int | None = None
    long: Rates | None = None

    def cost(self, usage: TokenCount) -> float:
        """USD for one call (the threshold looks at one call's prompt, so never pass a sum of calls)."""
        prompt = usage.input + usage.cache_read + usage.cache_write
        if self.threshold is not None and self.long is not None and prompt > self.threshold:
            return self.long.cost(usage)
        return self.rates.cost(usage)


@functools.cache
def table() -> Mapping[str, Any]:
    """The table as data: `as_of`, `source`, `models`."""
    return json.loads(Path(__file__).with_name("prices.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def price_of(model: str) -> Price | None:
    """The list price of a model id (a date or `[1m]` at its end is ignored); None where none is known."""
    name = model
    while name not in table()["models"]:
        shorter = _DATE_OR_VARIANT.sub("", name)
        if shorter == name:
            return None
        name = shorter
    entry = dict(table()["models"][name])
    above = entry.pop("above", None)
    if above is None:
        return Price(Rates(**entry))
    return Price(Rates(**entry), above["tokens"], Rates(**{key: above[key] for key in entry}))


def dearest_input() -> float:
    """USD per million input tokens of the dearest model in the table: what an unknown price is taken for."""
    return float(max(entry["input"] for entry in table()["models"].values()))
