"""f51: messages are rebuilt from the journal, and every call in them is answered, wherever the journal was cut."""

from __future__ import annotations

import json

import pytest
from histories import CONVERSATION, MODEL, check_paired, text

from jupyter_agent.context import INTERRUPTED, messages
from jupyter_agent.journal import parse_journal


def test_f51_a_journal_cut_at_every_event_is_paired() -> None:
    for cut in range(1, len(CONVERSATION) + 1):
        check_paired(messages(CONVERSATION[:cut], MODEL))


def test_f51_a_journal_cut_at_every_byte_is_paired() -> None:
    stamped = [event.to_json() | {"seq": place} for place, event in enumerate(CONVERSATION, 1)]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in stamped)
    for cut in range(len(data) + 1):
        events = parse_journal(data[:cut]).events
        if events:
            check_paired(messages(events, MODEL))


@pytest.mark.parametrize("missing", range(1, len(CONVERSATION)))
def test_f51_any_lost_entry_leaves_it_paired(missing: int) -> None:
    check_paired(messages(CONVERSATION[:missing] + CONVERSATION[missing + 1 :], MODEL))


def test_a_call_without_a_result_says_it_was_interrupted() -> None:
    last = messages(CONVERSATION, MODEL)[-1]
    assert last["role"] == "user"
    assert last["content"][0]["content"] == text(INTERRUPTED)
    assert last["content"][0]["is_error"]
