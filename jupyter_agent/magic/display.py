"""A conversation's events as outputs of the magic's own cell: Markdown, folded tool calls, images, a closing line.

Every output also has a plain text form, and nothing in it is active: the model's Markdown is rendered without raw HTML
and images, the rest is escaped, so the saved notebook shows what the live one showed.
"""

from __future__ import annotations

import html
import io
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from jupyter_agent.cli.render import Renderer, make_console, short_arguments, text_of
from jupyter_agent.events import (
    ApprovalRequest,
    Assistant,
    ChangeMade,
    Delta,
    Event,
    Json,
    Note,
    Progress,
    Stop,
    ToolFinished,
    ToolStart,
    Usage,
)
from jupyter_agent.magic.markdown import inert_html
from jupyter_agent.text import clip, visible

Publish = Callable[..., None]
"""`display_pub.publish(data, metadata, *, transient, update)` of the shell."""

REFRESH = 0.1
"""Seconds between two updates of streamed text: more only floods the front end."""
SHOWN_TEXT = 6_000
"""Characters of one result or diff in the saved notebook; the whole is in the conversation."""
_COLOURS = {"+": "#1a7f37", "-": "#cf222e", "@": "#0969da"}
_VERDICT = {
    "proven": ("✔", "#1a7f37"),
    "unproven": ("○", "#9a6700"),
    "failed": ("✘", "#cf222e"),
    "none": ("·", "#6e7781"),
}


class NotebookDisplay:
    """Call it with events, in order. `quiet` shows only the last answer and the closing line."""

    def __init__(self, publish: Publish, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._publish = publish
        self._quiet = quiet
        self._clock = clock
        self._text = ""
        self._text_id: str | None = None
        self._shown_at = 0.0
        self._calls: dict[str, _CallCard] = {}
        self._answer = ""
        self._plain = Renderer(make_console(io.StringIO()))

    def __call__(self, event: Event) -> None:
        if isinstance(event, Usage):
            self._plain(event)
        elif isinstance(event, Stop):
            self._stop(event)
        elif isinstance(event, Assistant):
            self._assistant(event)
        elif (
            not self._quiet
            or isinstance(event, ApprovalRequest)
            or (isinstance(event, Note) and event.level == "error")
        ):
            self._step(event)

    def _step(self, event: Event) -> None:
        if isinstance(event, Delta) and event.block == "text":
            self._delta(event.text)
        elif isinstance(event, ToolStart):
            card = self._calls[event.call] = _CallCard(event.name, event.arguments)
            self._show(card.bundle(), card.id)
        elif isinstance(event, Progress) and event.call in self._calls:
            self._calls[event.call].progress = event.text
            self._show(self._calls[event.call].bundle(), self._calls[event.call].id, update=True)
        elif isinstance(event, ChangeMade) and self._calls:
            list(self._calls.values())[-1].diffs.append(event.diff)
        elif isinstance(event, ToolFinished):
            self._finished(event)
        elif isinstance(event, ApprovalRequest):
            self._show(approval_bundle(event))
        elif isinstance(event, Note):
            self._show(note_bundle(event))

    # ------------------------------------------------------------------------------------------------------ text

    def _delta(self, text: str) -> None:
        self._text += text
        if self._clock() - self._shown_at >= REFRESH:
            self._refresh()

    def _refresh(self) -> None:
        self._shown_at = self._clock()
        first = self._text_id is None
        self._text_id = self._text_id or uuid.uuid4().hex
        self._show(markdown_bundle(self._text), self._text_id, update=not first)

    def _assistant(self, event: Assistant) -> None:
        self._answer = event.text or self._answer
        if not self._quiet and event.text.strip():
            self._text = event.text
            self._refresh()
        self._text, self._text_id, self._shown_at = "", None, 0.0

    # --------------------------------------------------------------------------------------------- calls and end

    def _finished(self, event: ToolFinished) -> None:
        card = self._calls.pop(event.call, None) or _CallCard(event.name, {})
        card.result, card.is_error, card.seconds = text_of(event.content), event.is_error, event.seconds
        self._show(card.bundle(), card.id, update=card.shown)
        for block in event.content:
            if block.get("type") == "image" and block.get("source", {}).get("type") == "base64":
                source = block["source"]
                self._publish({source["media_type"]: source["data"], "text/plain": "(image)"}, {})

    def _stop(self, event: Stop) -> None:
        if self._quiet and self._answer.strip():
            self._show(markdown_bundle(self._answer))
        stream = self._plain.console.file
        assert isinstance(stream, io.StringIO)
        self._plain(event)
        plain = stream.getvalue().strip()
        mark, colour = _VERDICT[event.verified]
        reason = "" if event.reason == "done" else f"<b>{event.reason}</b>: "
        tokens = html.escape(plain.splitlines()[-1])
        shown = (
            f'<div>{reason}{html.escape(visible(event.summary))} <b style="color:{colour}">{mark} {event.verified}</b>'
            f"<br><small>{tokens}</small></div>"
        )
        self._show({"text/html": shown, "text/plain": plain})

    def _show(self, data: Json, display_id: str | None = None, *, update: bool = False) -> None:
        transient = {"display_id": display_id} if display_id else {}
        self._publish(data, {}, transient=transient, update=update)


class _CallCard:
    """A tool call, folded: name and arguments in the heading, result and diffs inside."""

    def __init__(self, name: str, arguments: Json) -> None:
        self.id = uuid.uuid4().hex
        self.name = name
        self.arguments = arguments
        self.progress = ""
        self.diffs: list[str] = []
        self.result: str | None = None
        self.is_error = False
        self.seconds = 0.0
        self.shown = False

    def bundle(self) -> Json:
        self.shown = True
        return {"text/html": self._html(), "text/plain": self._plain()}

    def _html(self) -> str:
        if self.result is None:
            state = f"… {self.progress}" if self.progress else "…"
        else:
            state = f"{'✘' if self.is_error else '✔'} {self.seconds:.1f} s"
        first = (self.result or "").strip().splitlines()[:1]
        summary = (
            f"<summary><b>{html.escape(self.name)}</b> <code>{html.escape(short_arguments(self.arguments))}</code> "
            f"<small>{html.escape(state)} {html.escape(clip(first[0], 160)) if first else ''}</small></summary>"
        )
        arguments = json.dumps(self.arguments, indent=1, ensure_ascii=False, default=str)
        parts = [summary, _pre(arguments)]
        parts += [_diff(diff) for diff in self.diffs if diff]
        if self.result is not None:
            parts.append(_pre(self.result))
        return f"<details>{''.join(parts)}</details>"

    def _plain(self) -> str:
        lines = [f"● {self.name}  {short_arguments(self.arguments)}"]
        lines += [clip(diff, 1_000).rstrip("\n") for diff in self.diffs if diff]
        if self.result is not None:
            lines.append("  ⎿ " + clip(self.result.strip(), 400).replace("\n", "\n    "))
        return visible("\n".join(lines))


def markdown_bundle(text: str) -> Json:
    return {"text/html": inert_html(text), "text/plain": visible(text.strip())}


def approval_bundle(event: ApprovalRequest) -> Json:
    """What is asked for, whole: it is what the answer is about, so nothing is folded or cut."""
    body = _diff(event.preview, limit=None) if event.kind == "edit" else _pre(event.preview, limit=None)
    shown = f"<div><b>{html.escape(event.title)}</b></div>{body}"
    return {"text/html": shown, "text/plain": f"? {event.title}\n{event.preview}"}


def diff_bundle(title: str, diff: str) -> Json:
    return {"text/html": f"<div><b>{html.escape(title)}</b></div>{_diff(diff)}", "text/plain": f"{title}\n{diff}"}


def note_bundle(event: Note) -> Json:
    colour = {"info": "#6e7781", "warning": "#9a6700", "error": "#cf222e"}[event.level]
    text = visible(event.text)
    shown = f'<div style="color:{colour};white-space:pre-wrap"><small>{html.escape(text)}</small></div>'
    return {"text/html": shown, "text/plain": text}


def _pre(text: str, limit: int | None = SHOWN_TEXT) -> str:
    text = visible(text if limit is None else clip(text, limit))
    return f"<pre>{html.escape(text)}</pre>"


def _diff(text: str, limit: int | None = SHOWN_TEXT) -> str:
    text = visible(text if limit is None else clip(text, limit))
    lines = []
    for line in text.splitlines():
        colour = _COLOURS.get(line[:1])
        escaped = html.escape(line)
        lines.append(f'<span style="color:{colour}">{escaped}</span>' if colour else escaped)
    return f"<pre>{chr(10).join(lines)}</pre>"


def publisher_of(shell: Any) -> Publish:
    """The shell's way of showing an output in the current cell."""
    publish: Publish = shell.display_pub.publish
    return publish
