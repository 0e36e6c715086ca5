"""The ledger knows which lines of which version were seen, and follows our own writes."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.workspace import Ledger, describe, line_count


def test_ranges_merge_and_gaps_are_named() -> None:
    ledger = Ledger()
    ledger.saw("a", "h1", 100, 1, 20)
    ledger.saw("a", "h1", 100, 15, 40)
    ledger.saw("a", "h1", 100, 41, 45)
    ledger.saw("a", "h1", 100, 90, 400)
    assert ledger.unseen("a") == ((46, 89),)
    assert describe(ledger.unseen("a")) == "46-89"
    assert ledger.state("a", "h1") == "current"
    assert ledger.state("a", "h2") == "changed"
    assert ledger.state("b", "h1") == "unread"


def test_another_version_starts_anew() -> None:
    ledger = Ledger()
    ledger.saw("a", "h1", 10)
    ledger.saw("a", "h2", 10, 1, 3)
    assert ledger.unseen("a") == ((4, 10),)


def test_it_survives_json_and_drops_what_it_does_not_know() -> None:
    ledger = Ledger()
    ledger.saw("a", "h1", 100, 5, 10)
    data = json.loads(json.dumps(ledger.to_json()))
    again = Ledger.from_json({**data, "broken": {"sha256": 1}, "worse": None})
    assert again.to_json() == ledger.to_json()


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2)])
def test_line_count(text: str, count: int) -> None:
    assert line_count(text) == count


@given(
    st.lists(st.sampled_from("abcde"), max_size=30), st.lists(st.sampled_from("abcde"), max_size=30), st.integers(0, 99)
)
def test_after_our_own_write_no_unseen_line_counts_as_seen(old: list[str], new: list[str], seed: int) -> None:
    """Unseen lines are given names that no seen or new line has: wherever one turns up again, it is unseen."""
    randomness = random.Random(seed)
    seen = [randomness.random() < 0.5 for _ in old]
    before = [line if known else f"unseen {number}" for number, (line, known) in enumerate(zip(old, seen, strict=True))]
    kept = [line for line in before if randomness.random() < 0.8]
    place = randomness.randint(0, len(kept))
    after = [*kept[:place], *new, *kept[place:]]
    ledger = Ledger()
    ledger.saw("a", "old", len(before), 1, 0)
    for number, known in enumerate(seen, 1):
        if known:
            ledger.saw("a", "old", len(before), number, number)
    ledger.wrote("a", "".join(f"{x}\n" for x in before), "".join(f"{x}\n" for x in after), "old", "new")
    unseen = {number for start, end in ledger.unseen("a") for number in range(start, end + 1)}
    assert {number for number, line in enumerate(after, 1) if line.startswith("unseen")} <= unseen
    # What was inserted is known, unless an equal line beside it was taken for the inserted one.
    assert len(unseen) <= sum(line.startswith("unseen") for line in after)
    assert ledger.state("a", "new") == "current"


def test_a_file_we_created_is_seen_whole() -> None:
    ledger = Ledger()
    ledger.wrote("a", "", "x\ny\n", "", "h1")
    assert ledger.unseen("a") == ()
