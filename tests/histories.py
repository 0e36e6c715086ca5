"""A conversation's events for tests, and what the API demands of messages."""

from __future__ import annotations

from jupyter_agent.events import Assistant, Event, Json, ToolFinished, User

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
