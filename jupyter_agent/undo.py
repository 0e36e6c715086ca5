"""Undo of one turn: files and cells the agent changed go back to their pre-images, everything else stays.

What somebody else changed since is skipped and named; the undo is a turn of its own, so it can be undone; kernel state
is never claimed to be restored (faults f4, f5, f39).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_agent.checkpoint import Reversal, last_changed_turn, reversals
from jupyter_agent.errors import AgentError, Refused
from jupyter_agent.events import Note, Stop, User
from jupyter_agent.notebook.document import Delete, Operation, Restore, Target
from jupyter_agent.summary import carried_out, changes_of

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation

OUTSIDE_UNDO = ("run_bash", "run_code", "run_cells", "control_kernel")
"""Tools whose effects on kernel, processes and unrecorded files undo cannot take back."""


@dataclass
class UndoReport:
    """`turn` was undone. `restored` and `skipped` name targets (`path` or `path#cell`), skipped with the reason."""

    turn: int
    restored: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    not_covered: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The report for a person."""
        lines = [f"Turn {self.turn}: {len(self.restored)} restored" + (":" if self.restored else ".")]
        lines += [f"  {name}" for name in self.restored]
        lines += [f"  left as it is: {name} ({reason})" for name, reason in self.skipped]
        if self.not_covered:
            lines.append("Not undone: " + "; ".join(self.not_covered) + ".")
        lines.append("Kernel state is not restored.")
        return "\n".join(lines)


async def undo_turn(
    conversation: Conversation, turn: int | None = None, *, only: Callable[[Reversal], bool] | None = None
) -> UndoReport:
    """Undo `turn`, by default the last that changed something; with `only`, just what it picks. The call is the grant.

    Raises Refused when there is nothing to undo.
    """
    target = turn if turn is not None else last_changed_turn(conversation.events)
    plan = reversals(conversation.events, target) if target is not None else []
    plan = [item for item in plan if only is None or only(item)]
    if target is None or not plan:
        raise Refused(
            "There is nothing to undo: the agent changed nothing." if turn is None else f"Turn {turn} changed nothing."
        )
    report = UndoReport(target, not_covered=_not_covered(conversation, target))
    conversation.begin_turn()
    conversation.publish(User(id=f"undo-{conversation.turn}", text=f"/undo {target}"))
    by_file = [item for item in plan if not item.cell]
    notebooks = list(dict.fromkeys(item.target for item in plan if item.cell))
    for item in by_file:
        await _undo_file(conversation, item, report)
    for path in notebooks:
        await _undo_cells(conversation, path, [item for item in plan if item.target == path and item.cell], report)
    conversation.publish(Note(level="info", text=report.text()))
    events = conversation.turn_events()
    conversation.publish(Stop(reason="done", verified="none", summary=report.text(), changes=changes_of(events)))
    return report


def _not_covered(conversation: Conversation, turn: int) -> list[str]:
    names = carried_out([event for event in conversation.events if event.turn == turn])
    return [f"what else {name} did" for name in names if name in OUTSIDE_UNDO]


async def _undo_file(conversation: Conversation, item: Reversal, report: UndoReport) -> None:
    workspace = conversation.workspace
    name = workspace.relative(item.target)
    try:
        if workspace.hash(item.target) != item.after:
            report.skipped.append((name, "changed by someone else since"))
            return
        if item.before:
            effect = workspace.write(item.target, conversation.checkpoints.load(item.checkpoint), expected=item.after)
        else:
            effect = workspace.delete(item.target)
        conversation.gate.grant(effect)
        await effect.commit()
        report.restored.append(name)
    except AgentError as error:
        report.skipped.append((name, error.message))


async def _undo_cells(conversation: Conversation, path: str, items: list[Reversal], report: UndoReport) -> None:
    name = conversation.workspace.relative(path)
    try:
        notebook = await conversation.host.notebook(Path(path))
        present = {cell.id: cell.hash for cell in await notebook.cells()}
    except AgentError as error:
        report.skipped += [(f"{name}#{item.cell}", error.message) for item in items]
        return
    operations: list[Operation] = []
    done: list[str] = []
    for item in items:
        label = f"{name}#{item.cell}"
        now = present.get(item.cell, "")
        if now != item.after:
            report.skipped.append((label, "changed by someone else since" if now else "deleted by someone else since"))
            continue
        operations.append(_operation(conversation, item))
        done.append(label)
    if not operations:
        return
    try:
        effect = await notebook.edit(operations)
        conversation.gate.grant(effect)
        await effect.commit()
        await notebook.save()
        report.restored += done
    except AgentError as error:
        report.skipped += [(label, error.message) for label in done]


def _operation(conversation: Conversation, item: Reversal) -> Operation:
    if not item.before:
        return Delete((Target(item.cell, item.after),))
    images = [json.loads(conversation.checkpoints.load(name)) for name in (item.checkpoint, *item.later) if name]
    moved = any(image.get("moved", False) for image in images)
    return Restore(item.cell, images[0]["cell"], images[0].get("after"), item.after or None, moved)
