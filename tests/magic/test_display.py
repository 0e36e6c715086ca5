"""Events as MIME bundles: plain text as good as the HTML, nothing active, everything that is saved bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from jupyter_agent.events import (
    Approval,
    ApprovalRequest,
    Assistant,
    ChangeMade,
    Delta,
    Event,
    Note,
    Progress,
    Stop,
    ToolFinished,
    ToolStart,
    Usage,
)
from jupyter_agent.magic.display import NotebookDisplay

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e"


class Page:
    """A notebook page: what is shown, by display id where there is one."""

    def __init__(self) -> None:
        self.outputs: dict[Any, dict[str, Any]] = {}
        self.updates = 0
        self._ids: Iterator[int] = count()

    def publish(self, data: dict, metadata: dict, *, transient: dict | None = None, update: bool = False) -> None:
        id = (transient or {}).get("display_id", next(self._ids))
        assert update == (id in self.outputs), "an update of what was not shown, or a second output of one id"
        self.updates += update
        self.outputs[id] = data

    @property
    def text(self) -> str:
        return "\n".join(data["text/plain"] for data in self.outputs.values())

    @property
    def html(self) -> str:
        return "\n".join(data.get("text/html", "") for data in self.outputs.values())


def shown(*events: Event, **options: Any) -> Page:
    page = Page()
    display = NotebookDisplay(page.publish, **options)
    for event in events:
        display(event)
    return page


def start(name: str = "run_code", **arguments: Any) -> ToolStart:
    return ToolStart(call="1", name=name, arguments=arguments)


def finish(text: str, name: str = "run_code", **more: Any) -> ToolFinished:
    return ToolFinished(call="1", name=name, content=[{"type": "text", "text": text}], **more)


def test_streamed_text_is_redrawn_at_intervals_and_ends_whole() -> None:
    now = [0.0]
    page = Page()
    display = NotebookDisplay(page.publish, clock=lambda: now[0])
    for number in range(1000):
        display(Delta(block="text", text=f"w{number} "))
        now[0] += 0.001
    display(Assistant(text="The **whole** text."))
    assert page.updates < 15
    assert page.text == "The **whole** text."
    assert "<strong>whole</strong>" in page.html


def test_a_call_is_one_folded_output_with_arguments_diff_and_result() -> None:
    page = shown(
        start("edit_cells", ops=[{"op": "edit"}]),
        Progress(call="1", text="half way", fraction=0.5),
        ChangeMade(target="a.ipynb", cell="c", before="1", after="2", diff="@@ -1 +1 @@\n-old\n+new\n", checkpoint=""),
        finish("ok 1 cell changed\n@@ -1 +1 @@\n-old\n+new", "edit_cells", seconds=0.25),
    )
    assert len(page.outputs) == 1
    assert page.html.startswith("<details><summary>")
    assert "+1 −1" in page.html
    assert page.text.count("-old") == page.text.count("+new") == 1
    assert page.html.count("-old") == 1
    assert "⎿ ok 1 cell changed" in page.text


def test_live_outputs_are_not_told_twice_but_errors_are_told() -> None:
    live = {"is_live": lambda name, arguments: True}
    assert "42" not in shown(start(code="x"), finish("ok (0.1 s)\n42"), **live).text
    failed = shown(start(code="x"), finish("error: E\ntraceback", is_error=True), **live)
    assert "traceback" in failed.text
    assert "traceback" in failed.html


@pytest.mark.parametrize(
    "event",
    [
        Assistant(text=HOSTILE),
        Assistant(thinking=HOSTILE, text="x"),
        start(HOSTILE, **{HOSTILE: HOSTILE}),
        finish(HOSTILE),
        Note(level="warning", text=HOSTILE),
        ApprovalRequest(id="1", digest="d", kind="edit", title=HOSTILE, preview=f"+{HOSTILE}", options=[]),
        Stop(reason="done", verified="none", summary=HOSTILE),
        ChangeMade(target="t", before="", after="1", diff=HOSTILE, checkpoint=""),
    ],
    ids=lambda event: event.type,
)
def test_nothing_is_active(event: Event) -> None:
    page = shown(start("first"), event, finish("x"))
    assert "<script" not in page.html
    assert "<img" not in page.html
    assert "\x1b" not in page.html
    assert "\u202e" not in page.html + page.text
    assert "\x1b" not in page.text


def test_what_is_asked_for_is_whole_and_folds_when_answered() -> None:
    preview = "\n".join(f"line {number}" for number in range(20_000))
    request = ApprovalRequest(id="1", digest="d", kind="execute", title="Run", preview=preview, options=["once"])
    asked = shown(request)
    assert "line 10000\n" in asked.html
    assert "line 10000\n" in asked.text
    answered = shown(request, Approval(id="1", digest="d", decision="reject", reason="no"))
    assert len(json.dumps(list(answered.outputs.values()))) < 12_000
    assert "rejected: no" in answered.text
    assert "line 0" in answered.text


def test_what_is_saved_of_one_call_is_bounded() -> None:
    diff = ChangeMade(target="t", before="1", after="2", diff="+line\n" * 50_000, checkpoint="")
    page = shown(start(code="x = 1\n" * 50_000), diff, finish("y" * 1_000_000))
    assert len(json.dumps(list(page.outputs.values()))) < 40_000


def test_images_are_shown_up_to_a_bound() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    content = [{"type": "image", "source": source}] * 6
    page = shown(start("read_file"), ToolFinished(call="1", name="read_file", content=content))
    assert sum("image/png" in data for data in page.outputs.values()) == 3


def test_quiet_shows_the_last_answer_and_the_closing_line() -> None:
    page = shown(
        Delta(block="text", text="Let"),
        Assistant(text="Let me see."),
        start(code="x"),
        finish("ok"),
        Assistant(text="The answer."),
        Stop(reason="done", verified="none", summary="Nothing was changed."),
        quiet=True,
    )
    assert page.text == "The answer.\nNothing was changed. · 0 tokens in, 0 out"


def test_the_closing_line_says_changes_proof_and_cost() -> None:
    changes = [
        {"target": "/w/a.ipynb", "cell": "load", "status": "edited"},
        {"target": "/w/a.ipynb", "cell": "plot", "status": "created"},
        {"target": "/w/a.ipynb", "cell": "old", "status": "outputs"},
    ]
    page = shown(
        Usage(input=900, output=50, cache_read=100, cost=0.0123),
        Stop(reason="done", verified="proven", summary="2 cells changed.", changes=changes),
    )
    assert page.text == (
        "2 cells changed (a.ipynb: load, plot created). · ✔ verified: proven (ran in order in a fresh kernel) · "
        "1,000 tokens in, 50 out, $0.0123"
    )


def test_a_repeated_attempt_replaces_what_was_streamed() -> None:
    page = shown(Delta(block="text", text="Half a sen"), Assistant(text="A whole sentence."))
    assert page.text == "A whole sentence."
