"""Approvals and questions from inside a cell: `input()` of the front end or the terminal, where a person can answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from jupyter_agent.cli.ask import ANSWERS
from jupyter_agent.errors import Stopped
from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.magic.interrupts import raises_on_interrupt

PROMPT = "[o]nce, [a]lways, or [r]eject with a reason? "
NO_ANSWER = "no answer"


def can_ask(shell: Any) -> bool:
    """Whether somebody can answer an `input()` now: nbconvert, papermill and pipes say that nobody can."""
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    import sys

    return sys.stdin is not None and sys.stdin.isatty()


class PromptAsker:
    """Asks with `input()` on the main thread: the cell is busy with the agent anyway, and so is the kernel.

    What is asked for is shown by the display (ApprovalRequest). An interrupt while asking stops the turn: `on_stop` is
    called and Stopped raised. No answer (end of input) is a no.
    """

    def __init__(self, on_stop: Callable[[], object], read: Callable[[str], str] | None = None) -> None:
        self._on_stop = on_stop
        self._read = read

    async def approve(self, request: ApprovalRequest) -> Approval:
        prompt = PROMPT
        while True:
            line = await self._input(prompt)
            if line is None:
                return Approval(id=request.id, digest=request.digest, decision="reject", reason=NO_ANSWER)
            word, _, reason = line.strip().partition(" ")
            decision = ANSWERS.get(word.lower().strip(":,"))
            if decision is not None:
                return Approval(id=request.id, digest=request.digest, decision=decision, reason=reason.strip())
            prompt = f"Please answer o, a, or r. {PROMPT}"

    async def question(self, question: str, choices: Sequence[str]) -> str:
        print("\n".join([f"? {question}", *(f"  {number}. {choice}" for number, choice in enumerate(choices, 1))]))
        answer = ((await self._input("Your answer: ")) or "").strip()
        if choices and answer.isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        return answer or f"({NO_ANSWER})"

    async def yes(self, question: str) -> bool:
        """A yes/no question; anything but yes is no."""
        print(f"? {question}")
        return ((await self._input("[y]es or [n]o? ")) or "").strip().lower() in ("y", "yes")

    async def _input(self, prompt: str) -> str | None:
        # A stop that is on its way comes first: nothing is asked any more.
        await asyncio.sleep(0)
        try:
            with raises_on_interrupt():
                # The kernel replaces `input` for each cell: the present one is meant.
                return (self._read or input)(prompt)
        except EOFError:
            return None
        except KeyboardInterrupt:
            self._on_stop()
            raise Stopped("Stopped at a question. Nothing further was started.") from None
