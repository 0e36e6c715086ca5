"""Messages are a pure function of the journal: always paired, in order, whatever was cut."""

from __future__ import annotations

import json

import pytest

from jupyter_agent.context import INTERRUPTED, messages, summary_messages, system_prompt, unseen_messages
from jupyter_agent.events import Assistant, Compaction, Event, Json, ToolFinished, User
from jupyter_agent.journal import parse_journal

MODEL = "claude-x"


def text(words: str) -> list[Json]:
    return [{"type": "text", "text": words}]


def assistant(*calls: str, thinking: bool = True, model: str = MODEL) -> Assistant:
    raw: list[Json] = [{"type": "thinking", "thinking": "hm", "signature": "s"}] if thinking else []
    raw += text("I act.")
    raw += [{"type": "tool_use", "id": call, "name": "read_cells", "input": {}} for call in calls]
    described = [{"id": call, "name": "read_cells", "arguments": {}} for call in calls]
    return Assistant(text="I act.", calls=described, raw=raw, model=model)


def result(call: str, words: str = "ok") -> ToolFinished:
    return ToolFinished(call=call, name="read_cells", content=text(words))


def check_paired(made: list[Json]) -> None:
    """What the API demands: roles alternate, each tool_use is answered in the very next message, no orphans."""
    open_calls: list[str] = []
    for place, message in enumerate(made):
        assert message["role"] == ("user" if place % 2 == 0 else "assistant")
        assert message["content"]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert results == open_calls
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        leading = [block["type"] for block in message["content"]][: len(results)]
        assert leading == ["tool_result"] * len(results), "results come first in their message"
    assert not open_calls


CONVERSATION: list[Event] = [
    User(id="1", text="Do it"),
    assistant("t1", "t2"),
    result("t1"),
    User(id="2", text="typed meanwhile"),
    result("t2"),
    assistant("t3"),
    result("t3"),
    assistant(),
    User(id="3", text="More"),
    assistant("t4"),
]


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


def test_f56_a_message_typed_meanwhile_follows_the_results() -> None:
    blocks = messages(CONVERSATION, MODEL)[2]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text"]
    assert blocks[2]["text"] == "typed meanwhile"


def test_f56_what_was_typed_during_a_reply_comes_after_it() -> None:
    events = [
        User(id="1", text="Go", seq=1),
        User(id="2", text="and be brief", seq=2),
        Assistant(text="I act.", raw=text("I act."), model=MODEL, seq=3, seen=1),
    ]
    made = messages(events, MODEL)
    assert [message["content"][0]["text"] for message in made] == ["Go", "I act.", "and be brief"]


def test_thinking_of_another_model_is_dropped() -> None:
    kept = messages(CONVERSATION[:2], MODEL)[1]["content"]
    dropped = messages(CONVERSATION[:2], "other")[1]["content"]
    assert [block["type"] for block in kept] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block["type"] for block in dropped] == ["text", "tool_use", "tool_use"]


def test_history_is_append_only() -> None:
    """Each request repeats the one before it as a prefix, or the cache (and the thinking blocks) would be lost."""
    before = messages(CONVERSATION[:5], MODEL)
    after = messages(CONVERSATION[:7], MODEL)
    assert after[: len(before)] == before


def test_calls_written_as_text_are_answered_as_text() -> None:
    raw = text('{"name": "read_cells", "arguments": {}}')
    call = Assistant(text="", calls=[{"id": "x", "name": "read_cells", "arguments": {}}], raw=raw, model=MODEL)
    made = messages([User(id="1", text="go"), call, result("x", "outline")], MODEL)
    assert made[2]["content"] == [{"type": "text", "text": "Result of read_cells:"}, *text("outline")]


def test_a_check_of_our_own_is_shown_to_the_model_as_text() -> None:
    check = ToolFinished(call="own:1", name="verify_notebook", content=text("failed"), is_error=True)
    made = messages([User(id="1", text="go"), assistant(), check], MODEL)
    assert made[2]["content"] == [{"type": "text", "text": "[verify_notebook]"}, *text("failed")]


def test_inner_calls_are_not_repeated() -> None:
    inner = ToolFinished(call="inner:t1", name="create_notebook", content=text("made"))
    made = messages([User(id="1", text="go"), assistant("t1"), inner, result("t1", "made")], MODEL)
    assert json.dumps(made).count("made") == 1


def test_a_compaction_starts_a_new_prefix() -> None:
    events = [*CONVERSATION[:8], Compaction(summary="We did it.", through=8), User(id="9", text="Next")]
    made = messages(events, MODEL)
    assert made == [
        {
            "role": "user",
            "content": [*text("Summary of the conversation so far:\nWe did it."), *text("Next")],
        }
    ]


def test_the_summary_request_is_paired_and_clipped() -> None:
    long = [*CONVERSATION[:2], result("t1", "x" * 50_000), result("t2")]
    made = summary_messages(long, MODEL)
    check_paired(made)
    assert len(json.dumps(made)) < 8_000


def test_attachments_come_before_the_words() -> None:
    image = {"type": "image", "media_type": "image/png", "data": "aGk="}
    state = {"type": "state", "text": "cell c1 was edited"}
    made = messages([User(id="1", text="Look", attachments=[state, image])], MODEL)
    assert [block["type"] for block in made[0]["content"]] == ["text", "image", "text"]
    assert made[0]["content"][-1]["text"] == "Look"


def test_unseen_messages() -> None:
    stamped = [User(id="1", text="a", seq=1), Assistant(text="b", seq=2), User(id="2", text="c", seq=3)]
    assert unseen_messages(stamped, 2)
    assert not unseen_messages(stamped, 3)


def test_rules_files_stand_in_the_prompt_with_their_name() -> None:
    prompt = system_prompt("/root", "a.ipynb", [("AGENTS.md", "Use tabs.")])
    assert "from AGENTS.md:\nUse tabs." in prompt
