"""A conversation's events drawn on a terminal, or as plain text in a pipe. Reads events, writes to one stream."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

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
    User,
)
from jupyter_agent.text import visible

if TYPE_CHECKING:
    from rich.console import Console

DIFF_LINES = 60
"""Lines of one diff on the screen; the whole is in the journal (`jupyter agent show ID`)."""
RESULT_LINES = {False: 1, True: 8}
"""Lines of a result that are shown, of an error more: its first line is the status."""
PROGRESS_SECONDS = 5.0
"""Seconds between lines of progress where the stream is no terminal; in a terminal one line is rewritten."""
SHOWN_ARGUMENT = 80

_VERDICT = {
    "proven": ("✔", "green", "every changed and dependent cell ran in order in a fresh kernel"),
    "unproven": ("○", "yellow", "changed, but not shown to run from a fresh kernel"),
    "failed": ("✘", "red", "a check of the changes failed"),
    "none": ("·", "dim", "no source was changed"),
}
_STEPS = (Delta, ToolStart, Progress, ToolFinished, ChangeMade)
"""What `quiet` leaves out."""
_REASON = {"done": "done", "limit": "a limit was reached", "stopped": "stopped", "denied": "refused", "error": "error"}


def make_console(stream: IO[str] | None = None) -> Console:
    """A console that writes plain, unwrapped text where the stream is no terminal."""
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich ends the program on the spot, in the middle of what is written and of open kernels.
            raise BrokenPipeError

    return OurConsole(file=stream or sys.stdout, highlight=False, soft_wrap=True, force_jupyter=False)


class Renderer:
    """Call it with events, in order. Text is shown as soon as a paragraph of it is complete.

    `quiet` shows only what is asked, the last answer and the closing lines.
    """

    def __init__(self, console: Console, *, show_user: bool = False, quiet: bool = False) -> None:
        self.console = console
        self._quiet = quiet
        self._answer = ""
        self._rewriting = False
        self._progressed = time.monotonic()
        self._spoke = True
        self._show_user = show_user
        self._text = ""
        self._streamed = False
        self._usage = {"input": 0, "output": 0}
        self._cost: float | None = 0.0
        self._draw: dict[type[Event], Callable[[Any], None]] = {
            User: self._user,
            Delta: self._delta,
            Assistant: self._assistant,
            ToolStart: self._tool_start,
            Progress: self._progress,
            ToolFinished: self._tool_finished,
            ApprovalRequest: self._approval_request,
            Approval: self._approval,
            ChangeMade: self._change,
            Note: self._note,
            Usage: self._count,
            Stop: self._stop,
        }

    def __call__(self, event: Event) -> None:
        draw = self._draw.get(type(event))
        if self._rewriting and not isinstance(event, Progress | Usage):
            self.console.file.write("\r\x1b[2K")
            self._rewriting = False
        if self._quiet and isinstance(event, Assistant):
            self._answer = event.text or self._answer
        elif draw is not None and not (self._quiet and isinstance(event, _STEPS)):
            draw(event)

    def line(self, text: str, style: str = "") -> None:
        """One line, literally: nothing in it is taken for markup or control codes."""
        from rich.text import Text

        self.console.print(Text(visible(text), style=style))

    # ---------------------------------------------------------------------------------------------------- text

    def _user(self, event: User) -> None:
        if self._show_user:
            self.line(f"\n› {event.text}", "bold")

    def _delta(self, event: Delta) -> None:
        if event.block != "text":
            return
        self._streamed = True
        self._text += event.text
        while (end := _paragraph_end(self._text)) is not None:
            self._paragraph(self._text[:end])
            self._text = self._text[end:]

    def _assistant(self, event: Assistant) -> None:
        text = self._text if self._streamed else event.text
        if text.strip():
            self._paragraph(text)
        self._text, self._streamed = "", False

    def _paragraph(self, text: str) -> None:
        text = text.strip("\n")
        if not text:
            return
        if not self._spoke:
            self.console.print()
        self._spoke = True
        if self.console.is_terminal:
            from rich.markdown import Markdown

            self.console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False), soft_wrap=False)
        else:
            self.line(text)

    # --------------------------------------------------------------------------------------------------- tools

    def _tool_start(self, event: ToolStart) -> None:
        self._flush()
        self._spoke = False
        self._progressed = time.monotonic()
        from rich.text import Text

        head = Text("● ", style="cyan")
        head.append(event.name, style="bold")
        head.append("  " + visible(short_arguments(event.arguments)), style="dim")
        self.console.print(head)

    def _progress(self, event: Progress) -> None:
        done = f" {event.fraction:.0%}" if event.fraction is not None else ""
        text = f"  … {event.text}{done}"
        if self.console.is_terminal:
            self.console.file.write("\r\x1b[2K\x1b[2m" + visible(text)[: self.console.width - 1] + "\x1b[0m")
            self.console.file.flush()
            self._rewriting = True
        elif time.monotonic() - self._progressed >= PROGRESS_SECONDS:
            self.line(text)
            self._progressed = time.monotonic()

    def _tool_finished(self, event: ToolFinished) -> None:
        lines = [line for line in text_of(event.content).splitlines() if line.strip()]
        shown = lines[: RESULT_LINES[event.is_error]] or ["(nothing)"]
        style = "red" if event.is_error else ""
        for place, line in enumerate(shown):
            self.line(("  └ " if place == 0 else "    ") + line[:200], style or "dim")
        if event.is_error and len(lines) > len(shown):
            self.line(f"    … {len(lines) - len(shown)} more lines", "dim")

    def _change(self, event: ChangeMade) -> None:
        if event.diff:
            self.diff(event.diff)

    def diff(self, text: str) -> None:
        """A unified diff, coloured by line, cut with a notice."""
        lines = text.splitlines()
        for line in lines[:DIFF_LINES]:
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            self.line("    " + line, "bold" if line.startswith(("+++", "---")) else style)
        if len(lines) > DIFF_LINES:
            self.line(f"    … {len(lines) - DIFF_LINES} more lines of this diff", "dim")

    # ----------------------------------------------------------------------------------------------- approvals

    def _approval_request(self, event: ApprovalRequest) -> None:
        if not event.options:
            return
        self._flush()
        self.line(f"\n? {event.title}", "bold yellow")
        for line in event.preview.splitlines():
            style = {"+": "green", "-": "red"}.get(line[:1], "")
            self.line("  │ " + line, style)

    def _approval(self, event: Approval) -> None:
        if event.by in ("flag", "headless"):
            return
        said = {"once": "approved", "always": "approved, always", "reject": "rejected"}[event.decision]
        reason = f": {event.reason}" if event.reason else ""
        self.line(f"  {said}{reason}", "red" if event.decision == "reject" else "green")

    # ----------------------------------------------------------------------------------------------------- end

    def _note(self, event: Note) -> None:
        self._flush()
        self.line(f"  {event.text}", {"info": "dim", "warning": "yellow", "error": "red"}[event.level])

    def _count(self, event: Usage) -> None:
        self._usage["input"] += event.input + event.cache_read + event.cache_write
        self._usage["output"] += event.output
        self._cost = None if event.cost is None or self._cost is None else self._cost + event.cost

    def _stop(self, event: Stop) -> None:
        self._flush()
        if self._answer:
            self._paragraph(self._answer)
        mark, style, meaning = _VERDICT[event.verified]
        self.console.print()
        if event.reason != "done":
            self.line(f"{_REASON[event.reason]}: {event.summary}", "yellow" if event.reason != "error" else "red")
        else:
            self.line(event.summary)
        self.line(f"{mark} verified: {event.verified}" + (f" ({meaning})" if self.console.is_terminal else ""), style)
        tokens = f"{self._usage['input']:,} tokens in, {self._usage['output']:,} out"
        cost = f", ${self._cost:.4f}" if self._cost else ", cost unknown" if self._cost is None else ""
        self.line(tokens + cost, "dim")

    def _flush(self) -> None:
        if self._text.strip():
            self._paragraph(self._text)
        self._text = ""


def print_json(event: Event) -> None:
    """One event a line on standard output."""
    print(json.dumps(event.to_json(), ensure_ascii=True, default=str), flush=True)


def text_of(content: list[Json]) -> str:
    """The text of content blocks; an image is named by its kind."""
    return "\n".join(block.get("text", f"({block.get('type', 'block')})") for block in content)


def short_arguments(arguments: Json) -> str:
    """Arguments on one line: scalars whole, the rest as sizes."""
    parts = []
    for key, value in arguments.items():
        if isinstance(value, list | dict) and len(json.dumps(value, default=str)) > SHOWN_ARGUMENT:
            shown = f"[{len(value)}]" if isinstance(value, list) else "{…}"
        else:
            shown = value if isinstance(value, str) else json.dumps(value, default=str)
        shown = shown.replace("\n", "⏎")
        parts.append(f"{key}={shown if len(shown) <= SHOWN_ARGUMENT else shown[: SHOWN_ARGUMENT - 1] + '…'}")
    return "  ".join(parts)


def _paragraph_end(text: str) -> int | None:
    """Where the first complete paragraph ends: at a blank line that is not inside a code fence."""
    fenced, position = False, 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        position += len(line)
        if not fenced and line == "\n" and text[:position].strip():
            return position
    return None
