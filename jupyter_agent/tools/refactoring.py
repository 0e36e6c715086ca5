"""Tools that prove that a notebook does what it says, and refactor it with that proof."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments, UsageError
from jupyter_agent.events import Json
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.text import clip
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult, tool
from jupyter_agent.tools.cell_runs import check_timeout
from jupyter_agent.tools.cells import language_of

if TYPE_CHECKING:
    from jupyter_agent.refactor.plan import Plan
    from jupyter_agent.refactor.proving import Outcome
    from jupyter_agent.refactor.verify import VerifyReport
    from jupyter_agent.refactor.verify_run import OnCell

T = TypeVar("T")

Recipe = Annotated[
    str,
    "split-cell(cell, at) merge-cells(cells) extract-function(cell|cells, name, lines?, arguments?) "
    "extract-module(cells, path) rename(old, new, text?) hoist-imports order-cells remove-dead(cells?) "
    "parameterize(cell|name) to-script(path?) strip-outputs(cells?) fix-lint; several in a row: comma-separated",
]
"""What the model reads about recipes; a test holds it against the registry."""


@tool()
async def verify_notebook(
    ctx: ToolContext,
    path: str | None = None,
    against: Annotated[str | None, "another notebook, or HEAD (git)"] = None,
    timeout: Annotated[float, "seconds a cell"] = 300,
) -> ToolResult:
    """Run the notebook in a fresh kernel, on a copy, and compare its outputs cell by cell with the stored ones. Only
    `proven` means that it reproduces."""
    from jupyter_agent.refactor.against import cells_of
    from jupyter_agent.refactor.verify import Original, verify

    check_timeout(timeout)
    notebook = await ctx.notebook(path)
    cells, metadata = await notebook.cells(), await notebook.metadata()
    original = None
    if against is not None:
        place = Path(notebook.path or ctx.workspace.root / "notebook.ipynb")
        named = against if against == "HEAD" else str(ctx.workspace.resolve(against))
        original = Original(await _usable(cells_of(place, named)))
    on_disk = Path(notebook.path) if notebook.path else None

    async def run() -> VerifyReport:
        progress = _progress(ctx)
        return await verify(cells, metadata, path=on_disk, original=original, timeout=timeout, on_cell=progress)

    report = await _granted(ctx, _execution(notebook, "Verify:", cells, metadata, run))
    text = "\n".join([report.summary, *_findings(report)])
    details = {"path": notebook.path, "status": report.status, "report": report.to_json()}
    return _clipped(ctx, text, "verification", is_error=report.status == "failed", **details)


@tool()
async def refactor_notebook(
    ctx: ToolContext,
    recipe: Recipe,
    parameters: Annotated[dict[str, Any] | None, "in a row, N.key is step N's"] = None,
    path: str | None = None,
    write: bool = False,
    verify: bool = True,
    timeout: Annotated[float, "seconds a cell"] = 300,
) -> ToolResult:
    """Refactor by recipe, keeping ids, outputs, comments. Proves by running before and after in fresh kernels that
    outputs stay the same; write applies it, and only if proven (or verify=false). Without write: the diff."""
    from jupyter_agent.refactor.proving import make_plan_for, outcome_of, prove, proven

    check_timeout(timeout)
    steps = _steps(recipe, parameters or {})
    notebook = await ctx.notebook(path)
    cells, metadata = await notebook.cells(), await notebook.metadata()
    plan = await make_plan_for(notebook, steps)
    outcome = outcome_of(notebook.path or notebook.backend, cells, plan)
    if outcome.status == "unchanged":
        return _result(ctx, outcome, "ok nothing to do")
    if verify:
        on_disk = Path(notebook.path) if notebook.path else None

        async def run() -> VerifyReport:
            progress = _progress(ctx)
            return await prove(cells, metadata, plan, path=on_disk, timeout=timeout, on_cell=progress)

        effect = _execution(notebook, "Prove the refactoring:", plan.after, metadata, run)
        outcome = proven(outcome, await _granted(ctx, effect))
    if outcome.status not in ("proven", "unverified"):
        said = "outputs would change" if outcome.status == "failed" else "it could not be proved that outputs stay"
        return _result(ctx, outcome, f"{outcome.status}: {said}; nothing was written", refused=write)
    if not write:
        return _result(ctx, outcome, f"ok dry run, {outcome.status}; write=true applies it")
    await _write(ctx, notebook, plan, outcome)
    return _result(ctx, outcome, f"ok written, {outcome.status}")


def _steps(recipe: str, parameters: Mapping[str, Any]) -> Any:
    from jupyter_agent.refactor.chain import parse_steps

    try:
        return parse_steps(recipe, [f"{key}={_text(value)}" for key, value in parameters.items()])
    except UsageError as error:
        raise BadArguments(error.message) from None


def _text(value: Any) -> str:
    """A parameter as `--set` takes it: lists comma-separated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return str(value)


async def _usable(work: Awaitable[T]) -> T:
    try:
        return await work
    except UsageError as error:
        raise BadArguments(error.message) from None


def _execution(
    notebook: Notebook, title: str, cells: Sequence[Cell], metadata: Mapping[str, Any], run: Callable[[], Awaitable[T]]
) -> Effect[T]:
    """The run of a whole notebook in fresh kernels as one effect: it is code that runs with the person's rights."""
    code = [cell for cell in cells if cell.type == "code"]
    preview = "\n\n".join(f"# cell {cell.id}\n{cell.source}" for cell in code)
    target = notebook.path or notebook.backend
    name = target.replace("\\", "/").rsplit("/", 1)[-1]
    return Effect(
        "execute",
        target,
        f"{title} run {len(code)} cells of {name} in a fresh kernel, on a copy",
        preview,
        run,
        payload=preview,
        details={"where": "kernel", "language": language_of(metadata), "cells": [cell.id for cell in code]},
    )


async def _granted(ctx: ToolContext, effect: Effect[T]) -> T:
    await ctx.allow(effect)
    return await effect.commit()


def _progress(ctx: ToolContext) -> OnCell:
    def on_cell(cell: Cell, number: int, count: int) -> None:
        ctx.progress(f"fresh kernel: cell {cell.id} ({number} of {count})", (number - 1) / max(count, 1))

    return on_cell


async def _write(ctx: ToolContext, notebook: Notebook, plan: Plan, outcome: Outcome) -> None:
    from jupyter_agent.refactor.proving import write_effect

    effect = await write_effect(notebook, ctx.workspace, plan, outcome.digest)
    await ctx.allow(effect)
    await effect.commit()


def _result(ctx: ToolContext, outcome: Outcome, first: str, *, refused: bool = False) -> ToolResult:
    changes = f"{outcome.cells_before} → {outcome.cells_after} cells"
    lines = [first, ", ".join([changes, *(f"new file {file}" for file in outcome.files)]), *outcome.notes]
    if outcome.report is not None:
        lines += [outcome.report.summary, *_findings(outcome.report)]
    if outcome.diff:
        lines.append(outcome.diff.rstrip("\n"))
    details: Json = {**outcome.to_json(), "path": outcome.path}
    if refused:
        details["refused"] = {"kind": outcome.status, "reason": first}
    is_error = refused or outcome.status == "failed"
    return _clipped(ctx, "\n".join(lines), "refactoring", is_error=is_error, **details)


def _findings(report: VerifyReport) -> list[str]:
    """A line for each cell that is not plainly the same, its difference below it, and the notes."""
    lines: list[str] = []
    for verdict in report.verdicts:
        if verdict.verdict != "same" or verdict.reason:
            lines.append(f"{', '.join(verdict.cells)}: {verdict.verdict.replace('_', ' ')}. {verdict.reason}")
            lines += [f"  {line}" for line in verdict.difference.splitlines()]
    return lines + [f"note: {note}" for note in report.notes]


def _clipped(ctx: ToolContext, text: str, label: str, *, is_error: bool = False, **details: Any) -> ToolResult:
    handle = ctx.keep(text, label) if len(text.encode("utf-8", "surrogatepass")) > RESULT_LIMIT else None
    return ToolResult.of(clip(text, RESULT_LIMIT, handle=handle), is_error=is_error, **details, handle=handle)


__all__ = ["refactor_notebook", "verify_notebook"]
