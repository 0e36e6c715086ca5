"""Paired measurements: ours and a baseline by turns, so that a busy machine slows both alike, and their ratio.

A benchmark is a module here with `measure() -> list[Result]`; `python benchmarks` runs all of them and prints a table.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Task = Callable[[], object] | Callable[[], Awaitable[object]]
Clock = Literal["wall", "cpu"]


@dataclass(frozen=True)
class Result:
    """`ours` and `baseline` are medians in milliseconds; `ratio` is the median of the ratios of the pairs.

    `low` and `high` are the quartiles of those ratios. `limit` is the ratio promised, None where none is.
    """

    name: str
    against: str
    ours: float
    baseline: float
    ratio: float
    low: float
    high: float
    limit: float | None
    rounds: int

    @property
    def kept(self) -> bool:
        return self.limit is None or self.ratio <= self.limit

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "kept": self.kept}


def paired(
    name: str,
    against: str,
    ours: Task,
    baseline: Task,
    *,
    limit: float | None = None,
    rounds: int = 11,
    clock: Clock = "wall",
) -> Result:
    """Time both tasks `rounds` times by turns, after one unmeasured call of each, within one event loop if async."""
    return asyncio.run(apaired(name, against, ours, baseline, limit=limit, rounds=rounds, clock=clock))


async def apaired(
    name: str,
    against: str,
    ours: Task,
    baseline: Task,
    *,
    limit: float | None = None,
    rounds: int = 11,
    clock: Clock = "wall",
) -> Result:
    """`paired` for a caller that has an event loop already."""
    mine: list[float] = []
    theirs: list[float] = []
    await _timed(baseline, clock)
    await _timed(ours, clock)
    for number in range(rounds):
        # The one that comes second may profit from the first: take turns at it.
        pair = [(ours, mine), (baseline, theirs)]
        for task, record in pair if number % 2 else reversed(pair):
            record.append(await _timed(task, clock))
    ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4, method="inclusive") if rounds > 1 else ratios * 3
    medians = (1000 * statistics.median(times) for times in (mine, theirs))
    return Result(name, against, *medians, ratio, low, high, limit, rounds)


async def _timed(task: Task, clock: Clock) -> float:
    now = time.perf_counter if clock == "wall" else time.process_time
    gc.collect()
    start = now()
    outcome = task()
    if inspect.isawaitable(outcome):
        await outcome
    return now() - start


def command(arguments: Sequence[str], **options: Any) -> Callable[[], object]:
    """A task that runs a command to its end, its output thrown away; raises CalledProcessError when it fails."""

    def run() -> object:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.run(list(arguments), check=True, **{**quiet, **options})

    return run


def table(results: Sequence[Result]) -> str:
    """The results as a markdown table."""
    rows = ["| what | against | ours (ms) | baseline (ms) | ratio (quartiles) | limit | |"]
    rows += ["|---|---|--:|--:|--:|--:|---|"]
    for item in results:
        limit = "" if item.limit is None else f"{item.limit:g}"
        verdict = "" if item.limit is None else "kept" if item.kept else "**broken**"
        rows.append(
            f"| {item.name} | {item.against} | {item.ours:.1f} | {item.baseline:.1f} "
            f"| {item.ratio:.2f} ({item.low:.2f}–{item.high:.2f}) | {limit} | {verdict} |"
        )
    return "\n".join(rows)
