"""`_agent`: what came out of the last request."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_agent.errors import AgentError
from jupyter_agent.events import Json, Stop, Verified
from jupyter_agent.summary import last_answer

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation
    from jupyter_agent.undo import UndoReport


@dataclass(frozen=True)
class AgentResult:
    """`text`: the agent's closing words; `changes`: {target, cell, status}; `verified`, `reason`: its end."""

    text: str
    changes: tuple[Json, ...]
    verified: Verified
    reason: str
    turn: int
    conversation: Conversation

    def undo(self) -> Undoing:
        """Take back what this turn changed. Done when the cell ends, or at once with `await _agent.undo()`."""
        return Undoing(self.conversation, self.turn)

    def __repr__(self) -> str:
        changed = ", ".join(_described(change) for change in self.changes) or "nothing"
        words = self.text.strip().splitlines()
        first = f": {words[0][:100]}" if words else ""
        return f"<agent {self.reason}, verified {self.verified}, changed {changed}{first}>"


class Undoing:
    """An undo on its way: started where a loop runs, else carried out at once; awaiting it gives the UndoReport."""

    def __init__(self, conversation: Conversation, turn: int) -> None:
        from jupyter_agent.undo import undo_turn

        self._said = "being undone; the report follows"
        undoing = undo_turn(conversation, turn)
        try:
            self._task = asyncio.get_running_loop().create_task(undoing)
        except RuntimeError:
            self._task = asyncio.get_event_loop_policy().get_event_loop().create_task(undoing)
            self._task.get_loop().run_until_complete(asyncio.wait([self._task]))
        self._task.add_done_callback(self._report)
        if self._task.done():
            self._said = self._text(self._task)

    def __await__(self) -> Generator[Any, None, UndoReport]:
        self._task.remove_done_callback(self._report)
        return self._task.__await__()

    def __repr__(self) -> str:
        return self._said

    def _report(self, task: asyncio.Task[UndoReport]) -> None:
        print(self._text(task))

    def _text(self, task: asyncio.Task[UndoReport]) -> str:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AgentError):
            return error.message
        return "The undo was stopped." if task.cancelled() else task.result().text()


def _described(change: Json) -> str:
    name = str(change["target"]).rsplit("/", 1)[-1]
    return f"{name}#{change['cell']} ({change['status']})" if change["cell"] else f"{name} ({change['status']})"


def result_of(conversation: Conversation, stop: Stop) -> AgentResult:
    """The result of the turn that `stop` ended."""
    events = [event for event in conversation.events if event.turn == stop.turn]
    return AgentResult(last_answer(events), tuple(stop.changes), stop.verified, stop.reason, stop.turn, conversation)
