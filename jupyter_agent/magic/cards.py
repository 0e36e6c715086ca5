"""MIME bundles of what the agent says and does: inert HTML, and plain text that is equally good. Pure.

Colours are tints that leave the text in the page's own colour, so that light, dark and high-contrast themes all read
well; nothing is active and nothing loads from elsewhere. What is saved is bounded: the conversation keeps the whole.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from jupyter_agent.cli.render import short_arguments
from jupyter_agent.events import Approval, ApprovalRequest, Json, Note, Stop
from jupyter_agent.magic.markdown import inert_html
from jupyter_agent.text import as_seen, clip, visible

SHOWN_TEXT = 6_000
"""Bytes of one argument, result or diff in the saved notebook; the whole is in the conversation."""
SHOWN_ANSWER = 60_000
"""Bytes of one reply's text in the saved notebook."""
PLAIN_RESULT, PLAIN_ERROR, PLAIN_DIFF = 400, 1_200, 2_000
NAMED_CHANGES = 8

_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TINT = {"+": "rgba(46,160,67,.18)", "-": "rgba(248,81,73,.18)", "@": "rgba(56,139,253,.14)"}
_EDGE = {"info": "rgba(128,128,128,.5)", "warning": "#d29922", "error": "#e5534b"}
VERDICTS = {
    "proven": ("✔", "#2da44e", "ran in order in a fresh kernel"),
    "unproven": ("○", "#bf8700", "not shown to run from a fresh kernel"),
    "failed": ("✘", "#e5534b", "a check of the changes failed"),
}
REASONS = {"limit": "a limit was reached", "denied": "refused"}
ANSWERED = {"once": "approved", "always": "approved, always", "reject": "rejected"}


@dataclass
class CallCard:
    """A tool call, folded: name and arguments in the heading, diffs and result inside.

    `live`: what it runs shows its outputs in this very cell, so they are not told again.
    """

    name: str
    arguments: Json
    live: bool = False
    progress: str = ""
    diffs: list[str] = field(default_factory=list)
    result: str | None = None
    is_error: bool = False
    seconds: float = 0.0

    def bundle(self) -> Json:
        return {"text/html": self._html(), "text/plain": self._plain()}

    def _html(self) -> str:
        parts = [f"<summary>{self._heading()}</summary>", *_arguments(self.arguments, with_edits=not self.diffs)]
        parts += [diff_html(diff) for diff in self.diffs]
        if self.result is not None and (self.is_error or not self.live):
            parts.append(pre(_without_diffs(self.result, self.diffs)))
        return f"<details>{''.join(parts)}</details>"

    def _heading(self) -> str:
        arguments = html.escape(visible(short_arguments(self.arguments)))
        shown = f" <code>{arguments}</code>" if arguments else ""
        return f"<b>{html.escape(visible(self.name))}</b>{shown} <small>{self._state()}</small>"

    def _state(self) -> str:
        if self.result is None:
            return html.escape(visible(f"… {self.progress}".strip()))
        first = html.escape(visible(clip(_first_line(self.result), 160)))
        if self.is_error:
            return f'<b style="color:{_EDGE["error"]}">✘</b> {first}'
        counts = _counts(self.diffs)
        return " · ".join(part for part in (f"✔ {self.seconds:.1f} s", first, counts) if part)

    def _plain(self) -> str:
        lines = [f"● {self.name}  {short_arguments(self.arguments)}".rstrip()]
        lines += [_indented(clip(diff, PLAIN_DIFF)) for diff in self.diffs]
        if self.result is not None:
            text = _without_diffs(self.result.strip(), self.diffs)
            if self.live and not self.is_error:
                text = text.partition("\n")[0]
            limit = PLAIN_ERROR if self.is_error else PLAIN_RESULT
            lines.append("  ⎿ " + _indented(clip(text, limit)).lstrip())
        return visible("\n".join(lines))


def _first_line(result: str) -> str:
    """What a result begins with, without the status that the mark and the time already say."""
    line = result.strip().partition("\n")[0]
    rest = line.removeprefix("ok").strip()
    return "" if rest.startswith("(") and rest.endswith(" s)") else rest


def _without_diffs(result: str, diffs: Sequence[str]) -> str:
    """An edit's result up to the diff that it repeats for the model."""
    for diff in diffs:
        result = result.partition(diff.strip())[0]
    return result.rstrip()


def _counts(diffs: Sequence[str]) -> str:
    lines = [line for diff in diffs for line in diff.splitlines()]
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return f"+{added} −{removed}" if lines else ""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _arguments(arguments: Json, *, with_edits: bool) -> list[str]:
    """Code and commands as they are; the rest as JSON. The blocks of an edit are told by its diff once there is one."""
    blocks: list[str] = []
    short: Json = {}
    for name, value in arguments.items():
        if isinstance(value, str) and ("\n" in value or len(value) > 80):
            blocks.append(pre(value))
        elif with_edits or not isinstance(value, list | dict):
            short[name] = value
    if short:
        blocks.insert(0, pre(json.dumps(short, indent=1, ensure_ascii=False, default=str)))
    return blocks


def answer_bundle(text: str) -> Json:
    text = _prose(clip(text, SHOWN_ANSWER))
    return {"text/html": inert_html(text), "text/plain": text.strip()}


def _prose(text: str) -> str:
    """A model's words without what would move or hide them; odd blanks and joined emoji are part of a language."""
    return _OVERRIDES.sub("", as_seen(text))


def thinking_bundle(text: str) -> Json:
    """What the model thinks, folded; in plain text only that it does."""
    shown = f"<details><summary><small>thinking</small></summary>{pre(text, wrap=True)}</details>"
    return {"text/html": shown, "text/plain": "(thinking)"}


def request_bundle(event: ApprovalRequest) -> Json:
    """What is asked for, whole: it is what the answer is about, so nothing is folded or cut."""
    body = diff_html(event.preview, None) if event.kind == "edit" else pre(event.preview, None)
    lines = visible(event.preview).splitlines()
    plain = "\n".join([f"? {visible(event.title)}", *(f"  │ {line}" for line in lines)])
    return {"text/html": _noted("warning", f"<b>{html.escape(visible(event.title))}</b>") + body, "text/plain": plain}


def answered_bundle(event: ApprovalRequest, answer: Approval) -> Json:
    """A request that was answered: folded, and bounded like everything that is saved."""
    said = ANSWERED[answer.decision] + (f": {answer.reason}" if answer.reason else "")
    body = diff_html(event.preview) if event.kind == "edit" else pre(event.preview)
    mark, colour = ("✘", _EDGE["error"]) if answer.decision == "reject" else ("✔", VERDICTS["proven"][1])
    heading = f'<b style="color:{colour}">{mark}</b> {html.escape(visible(f"{said}: {event.title}"))}'
    lines = [f"? {visible(event.title)}", f"  {visible(said)}"]
    if answer.decision == "reject":
        lines.insert(1, _indented(visible(clip(event.preview, PLAIN_DIFF))))
    return {
        "text/html": f"<details><summary><small>{heading}</small></summary>{body}</details>",
        "text/plain": "\n".join(lines),
    }


def note_bundle(event: Note) -> Json:
    text = visible(event.text)
    shown = f'<div style="white-space:pre-wrap"><small>{html.escape(text)}</small></div>'
    return {"text/html": _noted(event.level, shown), "text/plain": text}


def diff_bundle(title: str, diff: str) -> Json:
    """A proposed change with its heading."""
    return {"text/html": f"<div><b>{html.escape(title)}</b></div>{diff_html(diff)}", "text/plain": f"{title}\n{diff}"}


def closing_bundle(stop: Stop, spent: str) -> Json:
    """One line: how it ended, what changed, whether that is proved, what it cost.

    Why it failed or was stopped is left to the error that ends the cell.
    """
    names = changed_names(stop.changes)
    if stop.reason in ("error", "stopped"):
        words = f"Changed{names}." if names else "Nothing was changed."
    else:
        ended = "" if stop.reason == "done" else f"{REASONS[stop.reason]}: "
        # Files are named by the summary already.
        cells = changed_names([change for change in stop.changes if change["cell"]])
        words = ended + stop.summary.replace(" changed.", f" changed{cells}.", 1)
    words = visible(words)
    plain, shown = [words], [html.escape(words)]
    if stop.verified in VERDICTS:
        mark, colour, meaning = VERDICTS[stop.verified]
        plain.append(f"{mark} verified: {stop.verified} ({meaning})")
        shown.append(f'<b style="color:{colour}">{mark} {stop.verified}</b> ({meaning})')
    level = "error" if stop.reason == "error" or stop.verified == "failed" else "info"
    line = _noted(level, f"<small>{' · '.join([*shown, html.escape(spent)])}</small>")
    return {"text/html": line, "text/plain": " · ".join([*plain, spent])}


def changed_names(changes: Sequence[Json]) -> str:
    """` (a.ipynb: load, plot; notes.txt)` for what was edited."""
    cells: dict[str, list[str]] = {}
    for change in changes:
        if change["status"] != "outputs":
            status = "" if change["status"] == "edited" else f" {change['status']}"
            ids = cells.setdefault(str(change["target"]).rsplit("/", 1)[-1] + ("" if change["cell"] else status), [])
            ids += [f"{change['cell']}{status}"] if change["cell"] else []
    parts = []
    for name, ids in cells.items():
        more = f", … {len(ids) - NAMED_CHANGES} more" if len(ids) > NAMED_CHANGES else ""
        parts.append(name + (f": {', '.join(ids[:NAMED_CHANGES])}{more}" if ids else ""))
    return f" ({'; '.join(parts)})" if parts else ""


def pre(text: str, limit: int | None = SHOWN_TEXT, *, wrap: bool = False) -> str:
    """Text as it is, escaped and made visible; cut to `limit` bytes with a notice unless None."""
    style = ' style="white-space:pre-wrap"' if wrap else ""
    return f"<pre{style}>{html.escape(visible(text if limit is None else clip(text, limit)))}</pre>"


def diff_html(text: str, limit: int | None = SHOWN_TEXT) -> str:
    """A unified diff, tinted by line."""
    lines = visible(text if limit is None else clip(text, limit)).splitlines()
    parts = []
    for tint, group in itertools.groupby(lines, key=lambda line: _TINT.get(line[:1])):
        escaped = html.escape("\n".join(group))
        parts.append(f'<span style="background-color:{tint}">{escaped}</span>' if tint else escaped)
    return f"<pre>{chr(10).join(parts)}</pre>"


def _noted(level: str, inner: str) -> str:
    return f'<div style="border-left:3px solid {_EDGE[level]};padding-left:.6em">{inner}</div>'
