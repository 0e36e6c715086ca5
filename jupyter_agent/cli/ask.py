"""Approvals and questions at a terminal. The digest that was shown goes into the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jupyter_agent.events import Approval, ApprovalRequest, Decision

if TYPE_CHECKING:
    from rich.console import Console

Read = Callable[[str], str]
ANSWERS: dict[str, Decision] = {
    "o": "once",
    "once": "once",
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "r": "reject",
    "reject": "reject",
    "n": "reject",
    "no": "reject",
}


class TerminalAsker:
    """Reads answers line by line off the event loop; end of input is a rejection."""

    def __init__(self, console: Console, read: Read = input) -> None:
        self._console = console
        self._read = read

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Ask until the answer is one of once, always, reject (with an optional reason)."""
        prompt = "  [o]nce, [a]lways, or [r]eject with a reason? "
        while True:
            line = await self._line(prompt)
            if line is None:
                return Approval(id=request.id, digest=request.digest, decision="reject", reason="no answer")
            word, _, reason = line.strip().partition(" ")
            decision = ANSWERS.get(word.lower().strip(":,"))
            if decision is not None:
                return Approval(id=request.id, digest=request.digest, decision=decision, reason=reason.strip())
            self._console.print("  Please answer o, a, or r.", style="yellow")

    async def question(self, question: str, choices: Sequence[str]) -> str:
        """A question with numbered choices, or a free answer."""
        self._console.print(f"\n? {question}", style="bold yellow", markup=False)
        for number, choice in enumerate(choices, 1):
            self._console.print(f"  {number}. {choice}", markup=False)
        line = await self._line("  Your answer: ")
        answer = (line or "").strip()
        if choices and answer.isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        return answer or "(no answer)"

    async def yes(self, question: str) -> bool:
        """A yes/no question; anything but yes is no."""
        self._console.print(f"\n? {question}", style="bold yellow", markup=False)
        return ((await self._line("  [y]es or [n]o? ")) or "").strip().lower() in ("y", "yes")

    async def _line(self, prompt: str) -> str | None:
        try:
            return await asyncio.to_thread(self._read, prompt)
        except (EOFError, OSError):
            return None
