"""A conversation's events as outputs of the magic's own cell: Markdown, folded tool calls, images, a closing line."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from jupyter_agent.cli.render import Renderer, text_of
from jupyter_agent.events import (
    Approval,
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
from jupyter_agent.magic.cards import (
    CallCard,
    answer_bundle,
    answered_bundle,
    closing_bundle,
    note_bundle,
    request_bundle,
    thinking_bundle,
)

Publish = Callable[..., None]
"""`display_pub.publish(data, metadata, *, transient, update)` of the shell."""
IsLive = Callable[[str, Json], bool]
"""Whether the outputs of what the tool (name, arguments) runs show in this cell by themselves."""

REFRESH = 0.1
"""Seconds between two updates of what streams: more only floods the front end."""
REFRESH_SHARE = 10
"""Long texts are redrawn at most for a tenth of the time."""
IMAGE_BYTES = 3_000_000
"""Base64 characters of images that one turn's tool results add to the saved notebook."""


class Spent:
    """Tokens and money of a turn, folded from its Usage events."""

    def __init__(self) -> None:
        self._input = self._output = 0
        self._cost: float | None = 0.0

    def add(self, event: Usage) -> None:
        self._input += event.input + event.cache_read + event.cache_write
        self._output += event.output
        self._cost = None if event.cost is None or self._cost is None else self._cost + event.cost

    def text(self) -> str:
        cost = f", ${self._cost:.4f}" if self._cost else ", cost unknown" if self._cost is None else ""
        return f"{self._input:,} tokens in, {self._output:,} out{cost}"


class NotebookDisplay:
    """Call it with the events of one turn, in order. `quiet` shows what is asked, the last answer, the closing line."""

    def __init__(
        self,
        publish: Publish,
        *,
        is_live: IsLive = lambda name, arguments: False,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish = publish
        self._is_live = is_live
        self._quiet = quiet
        self._clock = clock
        self._text, self._thoughts = _Stream(answer_bundle), _Stream(thinking_bundle)
        self._answer = ""
        self._calls: dict[str, tuple[str, CallCard]] = {}
        self._drawn: dict[str, float] = {}
        self._requests: dict[str, tuple[str, ApprovalRequest]] = {}
        self._spent = Spent()
        self._images = 0
        self._draw: dict[type[Event], Callable[[Any], None]] = {
            Delta: self._delta,
            Assistant: self._assistant,
            ToolStart: self._started,
            Progress: self._progress,
            ChangeMade: self._changed,
            ToolFinished: self._finished,
            ApprovalRequest: self._asked,
            Approval: self._answered,
            Note: self._note,
            Usage: self._spent.add,
            Stop: self._stop,
        }

    def __call__(self, event: Event) -> None:
        draw = self._draw.get(type(event))
        if draw is not None:
            draw(event)

    # ------------------------------------------------------------------------------------------------------ text

    def _delta(self, event: Delta) -> None:
        if not self._quiet:
            stream = self._thoughts if event.block == "thinking" else self._text
            stream.text += event.text
            if self._clock() >= stream.next_at:
                self._refresh(stream)

    def _refresh(self, stream: _Stream) -> None:
        began = self._clock()
        self._show(stream.bundle(stream.text), stream.id, update=stream.shown)
        stream.shown = True
        stream.next_at = self._clock() + max(REFRESH, REFRESH_SHARE * (self._clock() - began))

    def _assistant(self, event: Assistant) -> None:
        self._answer = event.text or self._answer
        if not self._quiet:
            for stream, text in ((self._thoughts, event.thinking), (self._text, event.text)):
                # A stream that broke off and was repeated leaves a shorter text than what was streamed.
                stream.text = text
                if text.strip() or stream.shown:
                    self._refresh(stream)
        self._text, self._thoughts = _Stream(answer_bundle), _Stream(thinking_bundle)

    # -------------------------------------------------------------------------------------------- calls and asks

    def _started(self, event: ToolStart) -> None:
        live = self._is_live(event.name, event.arguments)
        self._calls[event.call] = (uuid.uuid4().hex, CallCard(event.name, event.arguments, live))
        self._redraw(event.call, first=True)

    def _progress(self, event: Progress) -> None:
        if event.call in self._calls:
            done = f" {event.fraction:.0%}" if event.fraction is not None else ""
            self._calls[event.call][1].progress = event.text + done
            if self._clock() - self._drawn[event.call] >= REFRESH:
                self._redraw(event.call)

    def _changed(self, event: ChangeMade) -> None:
        if self._calls and event.diff:
            next(reversed(self._calls.values()))[1].diffs.append(event.diff)

    def _finished(self, event: ToolFinished) -> None:
        first = event.call not in self._calls
        if first:
            self._calls[event.call] = (uuid.uuid4().hex, CallCard(event.name, {}))
        card = self._calls[event.call][1]
        card.result, card.is_error, card.seconds = text_of(event.content), event.is_error, event.seconds
        self._redraw(event.call, first=first)
        del self._calls[event.call]
        if not self._quiet and not card.live:
            for block in event.content:
                self._image(block)

    def _image(self, block: Json) -> None:
        source = block.get("source", {}) if block.get("type") == "image" else {}
        if source.get("type") == "base64" and self._images + len(source["data"]) <= IMAGE_BYTES:
            self._images += len(source["data"])
            self._publish({source["media_type"]: source["data"], "text/plain": "(image)"}, {})

    def _redraw(self, call: str, *, first: bool = False) -> None:
        if not self._quiet:
            id, card = self._calls[call]
            self._drawn[call] = self._clock()
            self._show(card.bundle(), id, update=not first)

    def _asked(self, event: ApprovalRequest) -> None:
        if not event.options:  # answered in advance, or nobody is there
            return
        self._requests[event.id] = (uuid.uuid4().hex, event)
        self._show(request_bundle(event), self._requests[event.id][0])

    def _answered(self, event: Approval) -> None:
        if event.id in self._requests:
            id, request = self._requests.pop(event.id)
            self._show(answered_bundle(request, event), id, update=True)

    # ------------------------------------------------------------------------------------------- notes and the end

    def _note(self, event: Note) -> None:
        if not self._quiet or event.level == "error":
            self._show(note_bundle(event))

    def _stop(self, event: Stop) -> None:
        if self._quiet and self._answer.strip():
            self._show(answer_bundle(self._answer))
        for stream in (self._thoughts, self._text):
            if stream.text and not self._quiet:
                self._refresh(stream)
        self._show(closing_bundle(event, self._spent.text()))

    def _show(self, data: Json, display_id: str | None = None, *, update: bool = False) -> None:
        self._publish(data, {}, transient={"display_id": display_id} if display_id else {}, update=update)


class _Stream:
    """Text on its way, and the output it is shown in."""

    def __init__(self, bundle: Callable[[str], Json]) -> None:
        self.bundle = bundle
        self.id = uuid.uuid4().hex
        self.text = ""
        self.shown = False
        self.next_at = 0.0


class TerminalDisplay(Renderer):
    """The command line's rendering; what runs in this shell has shown its outputs already, so they are not repeated."""

    def __init__(self, console: Any, *, is_live: IsLive, quiet: bool = False) -> None:
        super().__init__(console, quiet=quiet)
        self._is_live = is_live
        self._live: set[str] = set()

    def _tool_start(self, event: ToolStart) -> None:
        if self._is_live(event.name, event.arguments):
            self._live.add(event.call)
        super()._tool_start(event)

    def _progress(self, event: Progress) -> None:
        if event.call not in self._live:
            super()._progress(event)

    def _tool_finished(self, event: ToolFinished) -> None:
        if event.call in self._live and not event.is_error:
            self.line("  └ " + text_of(event.content).partition("\n")[0], "dim")
        else:
            super()._tool_finished(event)


def publisher_of(shell: Any) -> Publish:
    """The shell's way of showing an output in the current cell."""
    publish: Publish = shell.display_pub.publish
    return publish
