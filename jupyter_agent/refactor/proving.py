"""What is done with one notebook: a refactoring planned and proved, or a verification. Writes nothing.

Everything in and out can be pickled, so that a task may run in another process or on another machine that shares the
files; `write_effect` then applies exactly the plan that was proved.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jupyter_agent.effect import Effect, unified_diff
from jupyter_agent.errors import AgentError, Stale
from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.change import cell_diffs
from jupyter_agent.notebook.document import Cell, EditOutcome
from jupyter_agent.notebook.transaction import apply
from jupyter_agent.refactor.against import cells_of
from jupyter_agent.refactor.chain import Step, complete_groups, plan_steps
from jupyter_agent.refactor.plan import Context, FileWrite, Plan
from jupyter_agent.refactor.verify import ORIGINAL_STOPPED, Original, VerifyReport, verify
from jupyter_agent.refactor.verify_run import CELL_TIMEOUT, OnCell, StartKernel

if TYPE_CHECKING:
    from jupyter_agent.notebook.document import Notebook
    from jupyter_agent.workspace import Workspace

Status = Literal["proven", "unproven", "failed", "unverified", "unchanged", "refused", "error"]
STORED_COMPARED = (
    "As it was, the notebook stops with an error in a fresh kernel: its stored outputs were compared with."
)
NOTHING_RUN = "No code cell changes, so nothing had to be run."


@dataclass(frozen=True)
class Task:
    """`path` is absolute. With `steps` a refactoring, proved unless `verify` is off; without, a verification of the
    notebook against its stored outputs, or those of `against` (a file, or `HEAD`). `timeout`: seconds a cell."""

    path: str
    steps: tuple[Step, ...] = ()
    verify: bool = True
    against: str | None = None
    timeout: float = CELL_TIMEOUT


@dataclass(frozen=True)
class Outcome:
    """What became of a task. `status`: the verification's, or `unverified` (it was not asked for), `unchanged` (the
    recipe finds nothing to do), `refused` (the recipe declines), `error`; for the last two `reason` is a sentence.

    `diff` is the whole change for a person, `digest` stands for exactly the plan that was proved.
    """

    path: str
    status: Status
    reason: str = ""
    report: VerifyReport | None = None
    diff: str = ""
    notes: tuple[str, ...] = ()
    digest: str = ""
    cells_before: int = 0
    cells_after: int = 0
    files: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether outputs changed, or there is no verdict because of an error."""
        return self.status in ("failed", "error", "refused")

    def to_json(self) -> dict[str, Any]:
        whole: dict[str, Any] = {"notebook": self.path, "status": self.status}
        if self.reason:
            whole["error" if self.status == "error" else "reason"] = self.reason
        if self.digest:
            whole |= {"diff": self.diff, "notes": list(self.notes), "files": list(self.files)}
            whole |= {"cells_before": self.cells_before, "cells_after": self.cells_after}
        if self.report is not None:
            report = self.report.to_json()
            # A refactoring has notes of its own; those of its proof stand apart.
            whole |= {"proof": report} if self.digest else report
        return whole


async def perform(task: Task, *, on_cell: OnCell | None = None, start: StartKernel | None = None) -> Outcome:
    """Do the task. Raises nothing but CancelledError; kernels are then ended."""
    try:
        if task.steps:
            return await _refactored(task, on_cell, start)
        return await _verified(task, on_cell, start)
    except AgentError as error:
        return Outcome(task.path, "refused" if task.steps and _is_refusal(error) else "error", error.message)
    except OSError as error:
        return Outcome(task.path, "error", str(error))


def _is_refusal(error: AgentError) -> bool:
    return error.kind in ("recipe", "unknown_cell")


async def _verified(task: Task, on_cell: OnCell | None, start: StartKernel | None) -> Outcome:
    path = Path(task.path)
    notebook = await open_notebook(path)
    original = Original(await cells_of(path, task.against)) if task.against else None
    cells, metadata = await notebook.cells(), await notebook.metadata()
    report = await verify(
        cells, metadata, path=path, original=original, timeout=task.timeout, start=start, on_cell=on_cell
    )
    return Outcome(task.path, report.status, report=report)


async def _refactored(task: Task, on_cell: OnCell | None, start: StartKernel | None) -> Outcome:
    path = Path(task.path)
    notebook = await open_notebook(path)
    cells, metadata = await notebook.cells(), await notebook.metadata()
    plan = await make_plan_for(notebook, task.steps)
    outcome = outcome_of(task.path, cells, plan)
    if outcome.status == "unchanged" or not task.verify:
        return outcome
    return proven(
        outcome, await prove(cells, metadata, plan, path=path, timeout=task.timeout, start=start, on_cell=on_cell)
    )


async def make_plan_for(notebook: Notebook, steps: Sequence[Step]) -> Plan:
    """The plan for a document as it is now. Raises NotebookRefused where a recipe declines, and UsageError."""
    cells, metadata = await notebook.cells(), await notebook.metadata()
    return await asyncio.to_thread(plan_steps, cells, steps, context_of(notebook.path, metadata))


def context_of(path: str | None, metadata: Mapping[str, Any]) -> Context:
    """What recipes may know of a notebook besides its cells."""
    if path is None:
        return Context(language_of(metadata), metadata=metadata)
    folder = os.path.dirname(path)
    existing = os.listdir(folder) if os.path.isdir(folder) else []
    return Context(language_of(metadata), os.path.basename(path), metadata, frozenset(existing))


def language_of(metadata: Mapping[str, Any]) -> str:
    """The language of the code cells, lower case; Python where the notebook does not say."""
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(part)
        if isinstance(section, Mapping) and isinstance(section.get(key), str) and section[key]:
            return str(section[key]).lower()
    return "python"


def outcome_of(path: str, cells: Sequence[Cell], plan: Plan) -> Outcome:
    """The plan as an outcome that nothing has proved yet."""
    return Outcome(
        path,
        "unverified" if plan.operations or plan.files else "unchanged",
        diff=preview(cells, plan),
        notes=plan.notes,
        digest=digest(cells, plan),
        cells_before=len(cells),
        cells_after=len(plan.after),
        files=tuple(file.path for file in plan.files),
    )


def proven(outcome: Outcome, report: VerifyReport) -> Outcome:
    """The outcome with what its verification came to."""
    return replace(outcome, status=report.status, report=report)


def preview(cells: Sequence[Cell], plan: Plan) -> str:
    """The plan for a person: the difference of each cell, and each new file."""
    parts = list(cell_diffs(apply(cells, plan.operations)).values()) if plan.operations else []
    parts += [f"create {file.path}\n{unified_diff('', file.content, file.path)}" for file in plan.files]
    return "\n".join(parts)


def digest(cells: Sequence[Cell], plan: Plan) -> str:
    """SHA-256 hex over the cells that a plan starts from and what it leads to: the same digest, the same proof."""
    state = [
        _state(cells),
        _state(plan.after),
        [(file.path, file.content) for file in plan.files],
    ]
    return hashlib.sha256(json.dumps(state).encode("utf-8", "surrogatepass")).hexdigest()


def _state(cells: Sequence[Cell]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(cell.id, cell.type, cell.source, cell.tags) for cell in cells]


async def prove(
    cells: Sequence[Cell],
    metadata: Mapping[str, Any],
    plan: Plan,
    *,
    path: Path | None,
    timeout: float = CELL_TIMEOUT,
    start: StartKernel | None = None,
    on_cell: OnCell | None = None,
) -> VerifyReport:
    """Run the notebook before and after the plan in fresh kernels and compare. Raises KernelError where none starts.

    A notebook that stops before the plan and runs through after it (its cells were out of order) is proven if it then
    gives the outputs that are stored in it.
    """
    if _code(cells) == _code(plan.after):
        return VerifyReport((), 0, 0.0, notes=(NOTHING_RUN,))

    async def compared(*, execute: bool) -> VerifyReport:
        original = Original(cells, execute=execute, groups=complete_groups(cells, plan))
        return await verify(
            plan.after,
            metadata,
            path=path,
            original=original,
            files=plan.file_bytes,
            timeout=timeout,
            start=start,
            on_cell=on_cell,
        )

    report = await compared(execute=True)
    if any(verdict.reason.startswith(ORIGINAL_STOPPED) for verdict in report.verdicts) and report.status != "failed":
        stored = await compared(execute=False)
        if stored.ok:
            return replace(stored, notes=(*stored.notes, STORED_COMPARED))
    return report


def _code(cells: Sequence[Cell]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(cell.id, cell.source, cell.tags) for cell in cells if cell.type == "code"]


# ----------------------------------------------------------------------------------------------------- writing


async def write_effect(
    notebook: Notebook, workspace: Workspace, plan: Plan, proof_digest: str
) -> Effect[EditOutcome | None]:
    """The plan as one effect: its new files and the notebook's cells, both or neither.

    It is stale as soon as any cell differs from those that were proved. Raises Stale when that is so already, and what
    building an edit raises.
    """
    cells = await notebook.cells()
    target = notebook.path or notebook.backend
    if digest(cells, plan) != proof_digest:
        raise Stale(f"{target} changed while it was refactored, so nothing was written. Repeat the command.")
    folder = os.path.dirname(target)
    files = [_file_effect(workspace, folder, file) for file in plan.files]
    edit = await notebook.edit(plan.operations) if plan.operations else None
    parts: list[Effect[Any]] = [*files, *([edit] if edit is not None else [])]
    before = _whole(cells)

    async def current() -> str:
        for part in parts:
            if part.current is not None and await part.current() != part.before:
                raise Stale(
                    f"{part.target} changed while it was refactored, so nothing was written. Repeat the command."
                )
        return _whole(await notebook.cells())

    async def run() -> EditOutcome | None:
        return await _apply(workspace, files, edit)

    details: dict[str, Any] = {key: value for part in reversed(parts) for key, value in part.details.items()}
    return Effect(
        "edit",
        target,
        edit.title if edit is not None else files[0].title,
        preview(cells, plan),
        run,
        before=before,
        payload=json.dumps([part.payload for part in parts]),
        current=current,
        changes=tuple(change for part in parts for change in part.changes),
        details={**details, "path": target},
    )


def _file_effect(workspace: Workspace, folder: str, file: FileWrite) -> Effect[Any]:
    return workspace.write(os.path.join(folder, *file.path.split("/")), file.content.encode(), expected="")


async def _apply(
    workspace: Workspace, files: Sequence[Effect[Any]], edit: Effect[EditOutcome] | None
) -> EditOutcome | None:
    """Files first: the notebook imports them. Where the notebook then cannot be written, they are taken back."""
    made: list[Effect[Any]] = []
    try:
        for file in files:
            await file.apply()
            made.append(file)
        return await edit.apply() if edit is not None else None
    except BaseException:
        for file in reversed(made):
            taking_back = workspace.delete(file.target)
            if taking_back.before == file.payload:
                await taking_back.apply()
        raise


def _whole(cells: Sequence[Cell]) -> str:
    return hashlib.sha256(json.dumps(_state(cells)).encode("utf-8", "surrogatepass")).hexdigest()
