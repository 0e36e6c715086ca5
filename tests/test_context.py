"""Messages are a pure function of the journal: always paired, in order, whatever was cut."""

from __future__ import annotations

import json

from histories import CONVERSATION, MODEL, assistant, check_paired, result, text

from jupyter_agent.context import messages, summary_messages, system_prompt, unseen_messages
from jupyter_agent.events import Assistant, Compaction, ToolFinished, User


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
