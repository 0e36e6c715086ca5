"""Approvals and questions from inside a cell: `input()` of the front end or the terminal, where a person can answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jupyter_agent.cli.ask import ANSWERS
from jupyter_agent.events import Approval, ApprovalRequest


def can_ask(shell: Any) -> bool:
    """Whether somebody can answer an `input()` now: nbconvert, papermill and Run All in CI say that nobody can."""
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    import sys

    return sys.stdin is not None and sys.stdin.isatty()


class PromptAsker:
    """Asks with `input()` on the main thread: the cell is busy with the agent anyway, and so is the kernel.

    What is asked for is shown by the display (ApprovalRequest); an interrupt while asking is a rejection that stops.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    async def approve(self, request: ApprovalRequest) -> Approval:
        while True:
            line = self._input("[o]nce, [a]lways, or [r]eject with a reason? ")
            word, _, reason = line.strip().partition(" ")
            decision = ANSWERS.get(word.lower().strip(":,"))
            if decision is not None:
                return Approval(id=request.id, digest=request.digest, decision=decision, reason=reason.strip())

    async def question(self, question: str, choices: Sequence[str]) -> str:
        lines = [question, *(f"  {number}. {choice}" for number, choice in enumerate(choices, 1))]
        answer = self._input("\n".join(lines) + "\n> ").strip()
        if choices and answer.isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        return answer or "(no answer)"

    async def yes(self, question: str) -> bool:
        return self._input(f"{question} [y]es or [n]o? ").strip().lower() in ("y", "yes")

    def _input(self, prompt: str) -> str:
        try:
            return input(prompt)
        except EOFError:
            return "reject no answer"
