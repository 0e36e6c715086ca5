"""What a turn did, computed from its events: no model is asked for titles or summaries."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.events import (
    Approval,
    ApprovalRequest,
    Assistant,
    ChangeMade,
    Event,
    Json,
    Stop,
    ToolFinished,
    ToolStart,
    User,
)
from jupyter_agent.workspace import TAMPERING

TITLE_LENGTH = 60


def changes_of(events: Sequence[Event]) -> list[Json]:
    """{target, cell, status} per changed file or cell; status is `created`, `deleted`, `edited` or `outputs`."""
    first: dict[tuple[str, str], str] = {}
    last: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, ChangeMade):
            first.setdefault((event.target, event.cell), event.before)
            last[event.target, event.cell] = event.after
    changes = []
    for (target, cell), after in last.items():
        before = first[target, cell]
        if not before and not after:
            continue
        status = "created" if not before else "deleted" if not after else "outputs" if before == after else "edited"
        changes.append({"target": target, "cell": cell, "status": status})
    return changes


def edits_of(events: Sequence[Event]) -> list[Json]:
    """`changes_of` without cells of which only outputs changed by running them."""
    return [change for change in changes_of(events) if change["status"] != "outputs"]


def summary_of(events: Sequence[Event], because: str = "") -> str:
    """One paragraph for the end of a turn: why it ended, what changed, what undo cannot undo."""
    edits = edits_of(events)
    parts = [because] if because else []
    if edits:
        cells = [change for change in edits if change["cell"]]
        files = sorted({change["target"] for change in edits if not change["cell"]})
        if cells:
            parts.append(f"{len(cells)} cell{'s' if len(cells) != 1 else ''} changed.")
        if files:
            parts.append("Files changed: " + ", ".join(name.rsplit("/", 1)[-1] for name in files) + ".")
    else:
        parts.append("Nothing was changed.")
    parts += [f"Approved: {title}." for title in _tampering(events)]
    if "run_bash" in carried_out(events):
        parts.append("What shell commands changed cannot be undone.")
    return " ".join(parts)


def _tampering(events: Sequence[Event]) -> list[str]:
    """Titles of approved changes to tests and checks: whoever reads that all is green should know of them."""
    given = {event.id for event in events if isinstance(event, Approval) and event.decision != "reject"}
    asked = [event for event in events if isinstance(event, ApprovalRequest) and event.id in given]
    return [event.title for event in asked if TAMPERING in event.title]


def carried_out(events: Sequence[Event]) -> list[str]:
    """Names of the tools that were called and not refused, in order; a call without a result may have done its work."""
    refused = {event.call for event in events if isinstance(event, ToolFinished) and "refused" in event.details}
    calls = [event for event in events if isinstance(event, ToolStart) and event.call not in refused]
    return list(dict.fromkeys(event.name for event in calls))


def title_of(events: Sequence[Event]) -> str:
    """A conversation's title: the first line of what the person asked first."""
    text = next((event.text for event in events if isinstance(event, User)), "").strip()
    line = text.splitlines()[0] if text else "(empty)"
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def last_answer(events: Sequence[Event]) -> str:
    """The text of the last reply, the agent's closing words."""
    return next((event.text for event in reversed(events) if isinstance(event, Assistant) and event.text), "")


def last_stop(events: Sequence[Event]) -> Stop | None:
    return next((event for event in reversed(events) if isinstance(event, Stop)), None)
