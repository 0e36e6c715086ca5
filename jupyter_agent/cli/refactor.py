"""`jupyter agent refactor`: recipes planned, proved by running before and after, and applied with --write.

The command is its own grant. What it writes is a turn of a conversation, so that `jupyter agent undo` takes it back.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from jupyter_agent.budget import Budget
from jupyter_agent.call import new_call_id
from jupyter_agent.cli.main import DONE, FAILED, INTERRUPTED
from jupyter_agent.cli.many import run_all
from jupyter_agent.cli.opening import open_conversation, open_journal
from jupyter_agent.cli.report import Text, print_json, write_junit
from jupyter_agent.cli.verify import notebook_names, summarise
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.errors import AgentError, UsageError
from jupyter_agent.events import Stop, ToolFinished, ToolStart, User, Verified
from jupyter_agent.refactor.chain import Step, named, parse_steps
from jupyter_agent.refactor.proving import Outcome, Task, make_plan_for, write_effect
from jupyter_agent.summary import changes_of, summary_of

TOOL = "refactor_notebook"
"""The name under which an applied refactoring stands in the journal."""

WRITABLE = ("proven", "unverified")
"""Statuses of what --write writes: proved, or not to be proved because of --no-verify."""


def command_refactor(arguments: Namespace) -> int:
    if not arguments.notebooks:
        raise UsageError(_about(arguments.recipe))
    steps = parse_steps(arguments.recipe, arguments.parameters)
    return asyncio.run(_Command(arguments, steps).run())


def _about(recipes: str) -> str:
    """What the recipes do and take, for someone who named no notebook."""
    lines = ["Name at least one notebook."]
    for recipe in named(recipes):
        lines.append(f"{recipe.name}: {recipe.doc}")
        lines += [f"  --set {each.name}={each.example}  {each.doc}" for each in recipe.parameters]
    return "\n".join(lines)


class _Command:
    """One run of the command over all its notebooks."""

    def __init__(self, arguments: Namespace, steps: tuple[Step, ...]) -> None:
        self.arguments, self.steps = arguments, steps
        self.names = notebook_names(arguments.notebooks)
        self.outcomes: dict[str, Outcome] = {}
        self.written: set[str] = set()
        self.writer: _Writer | None = None
        self.text = Text()

    async def run(self) -> int:
        arguments = self.arguments
        tasks = [Task(path, self.steps, arguments.verify, timeout=arguments.timeout) for path in self.names]
        try:
            complete = await run_all(tasks, self.done, jobs=arguments.jobs, scheduler=arguments.scheduler)
        finally:
            if self.writer is not None:
                await self.writer.close()
            if arguments.junit:
                write_junit(arguments.junit, self.outcomes, "refactor")
        if not arguments.json:
            self._close(len(tasks))
        if not complete:
            return INTERRUPTED
        return DONE if all(self._fine(outcome) for outcome in self.outcomes.values()) else FAILED

    async def done(self, task: Task, outcome: Outcome) -> None:
        """Write what may be written, and say what became of the notebook."""
        refusal = ""
        if self.arguments.write and outcome.status in WRITABLE:
            try:
                self.writer = self.writer or _Writer(self.arguments, list(self.names))
                await self.writer.write(task, outcome)
                self.written.add(task.path)
            except AgentError as error:
                outcome = Outcome(task.path, "refused", error.message)
        elif outcome.report is not None and outcome.status != "proven":
            refusal = _refusal(outcome, self.arguments.write)
        self.outcomes[self.names[task.path]] = outcome
        if self.arguments.json:
            print_json(outcome, written=task.path in self.written)
        else:
            self._print(self.names[task.path], outcome, refusal)

    def _fine(self, outcome: Outcome) -> bool:
        return outcome.status in (*WRITABLE, "unchanged")

    def _print(self, name: str, outcome: Outcome, refusal: str) -> None:
        text = self.text
        if outcome.status in ("error", "refused"):
            text.line(f"{name}: {outcome.status}: {outcome.reason}", "red")
            return
        files = "".join(f", and {file} is new" for file in outcome.files)
        text.line(f"{name}: {outcome.cells_before} → {outcome.cells_after} cells{files}", "bold")
        for note in outcome.notes:
            text.line(f"  {note}")
        if outcome.status == "unchanged":
            text.line("  nothing to do")
            return
        if self.arguments.diff or not self.arguments.write:
            text.diff(outcome.diff)
        if outcome.report is not None:
            text.line(f"  {outcome.report.summary}", "green" if outcome.report.ok else "red")
            text.report(outcome.report)
        if refusal:
            text.line(f"  {refusal}", "red")

    def _close(self, count: int) -> None:
        if count > 1:
            summarise(self.text, list(self.names.values()), self.outcomes)
        if self.written and self.writer is not None:
            said = f"{len(self.written)} notebooks written" if len(self.written) > 1 else "written"
            self.text.line(f"{said}; `jupyter agent undo {self.writer.id}` takes it back", "dim")
        elif not self.arguments.write and any(each.status in WRITABLE for each in self.outcomes.values()):
            self.text.line("nothing was written; --write applies it", "dim")


def _refusal(outcome: Outcome, write: bool) -> str:
    """Why a plan that was not proved is not written."""
    reasons = {
        "failed": "Outputs would change",
        "unproven": "It could not be proved that outputs stay the same",
    }
    reason = reasons.get(outcome.status, "It was not proved")
    done = "nothing was written" if write else "--write would write nothing"
    return f"{reason}, so {done}. --no-verify applies it unproved."


class _Writer:
    """Applies plans in one turn of a new conversation."""

    def __init__(self, arguments: Namespace, paths: list[str]) -> None:
        root = Path(os.path.commonpath([os.path.dirname(path) for path in paths]))
        self._journal = open_journal(None, must_exist=False)
        self._conversation: Conversation = open_conversation(self._journal, Settings(root, ledger=False), Budget())
        self._conversation.begin_turn()
        self._proven = True
        words = [arguments.recipe, *arguments.notebooks, *(f"--set {each}" for each in arguments.parameters)]
        self._conversation.publish(User(id=uuid.uuid4().hex, text=f"/refactor {' '.join(words)}"))

    @property
    def id(self) -> str:
        return self._conversation.id

    async def write(self, task: Task, outcome: Outcome) -> None:
        """Apply exactly what was proved. Raises AgentError; then the notebook and its folder are as they were."""
        made = self._conversation
        notebook = await made.host.notebook(Path(task.path))
        plan = await make_plan_for(notebook, task.steps)
        effect = await write_effect(notebook, made.workspace, plan, outcome.digest)
        call = new_call_id()
        arguments = {"path": made.workspace.relative(task.path), "steps": [_shown(step) for step in task.steps]}
        made.publish(ToolStart(call=call, name=TOOL, arguments=arguments))
        error = ""
        try:
            made.gate.grant(effect)
            await effect.commit()
            await notebook.save()
            self._proven = self._proven and outcome.status == "proven"
        except AgentError as refusal:
            error = refusal.message
            raise
        finally:
            text = error or (outcome.report.summary if outcome.report is not None else "applied without proof")
            content = [{"type": "text", "text": text}]
            made.publish(ToolFinished(call=call, name=TOOL, content=content, is_error=bool(error)))

    async def close(self) -> None:
        made = self._conversation
        events = made.turn_events()
        changes = changes_of(events)
        verified: Verified = "none" if not changes else "proven" if self._proven else "unproven"
        made.publish(Stop(reason="done", verified=verified, summary=summary_of(events), changes=changes))
        await made.close()


def _shown(step: Step) -> Mapping[str, object]:
    return {"recipe": step.recipe, **step.params}
