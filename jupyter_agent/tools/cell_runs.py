"""Running cells of a notebook in its kernel: which ones, as one effect, outputs into the document as they come."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import AgentError, BadArguments, KernelError, NotebookRefused
from jupyter_agent.kernel.protocol import Execution, Kernel, Snapshot
from jupyter_agent.notebook.change import output_changes
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.notebook.transaction import stale_cell, unknown_cell
from jupyter_agent.tool import ToolContext

OnTimeout = Literal["keep", "interrupt"]


@dataclass(frozen=True)
class CellRun:
    """One cell's run. `timed_out`: it was still running when the call's time was over."""

    cell: Cell
    snapshot: Snapshot
    timed_out: bool = False


@dataclass
class Outcome:
    """Runs in order; `refusal` says why the next cell was not run, `left` are the cells that were not reached."""

    runs: list[CellRun] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    refusal: AgentError | None = None


def select(present: Sequence[Cell], wanted: Sequence[str] | None, from_cell: str | None) -> list[Cell]:
    """The cells to run, in document order; `wanted` None means all. Raises NotebookRefused for unknown ids."""
    by_id = {cell.id: cell for cell in present}
    missing = next((name for name in [*(wanted or ()), *([from_cell] if from_cell else [])] if name not in by_id), None)
    if missing is not None:
        raise unknown_cell(missing, present)
    first = by_id[from_cell].index if from_cell else 0
    chosen = [cell for cell in present if (wanted is None or cell.id in wanted) and cell.index >= first]
    return [cell for cell in chosen if cell.type == "code" and (cell.source.strip() or wanted is not None)]


def check_expected(present: Sequence[Cell], expected: Mapping[str, str]) -> None:
    """Raises NotebookRefused("stale") with the current source when a cell is not what the model last saw (f24)."""
    by_id = {cell.id: cell for cell in present}
    for name, seen in expected.items():
        if name not in by_id:
            raise unknown_cell(name, present)
        if by_id[name].hash != seen:
            raise stale_cell(by_id[name], str(seen))


async def run_effect(
    ctx: ToolContext,
    notebook: Notebook,
    kernel: Kernel,
    chosen: Sequence[Cell],
    *,
    timeout: float,
    on_timeout: OnTimeout,
    stop_on_error: bool,
) -> Effect[Outcome]:
    """The run of these cells as they are now, as one effect; another source of any of them makes it stale."""
    state = await kernel.state()
    preview = "\n\n".join(f"# cell {cell.id}\n{cell.source}" for cell in chosen)
    name = (notebook.path or notebook.backend).replace("\\", "/").rsplit("/", 1)[-1]
    ids = [cell.id for cell in chosen]
    what = f"cell {ids[0]}" if len(ids) == 1 else f"{len(ids)} cells"
    start = f"Start a {state.name} kernel and run" if state.status == "none" else "Run"
    details: dict[str, object] = {"where": "kernel", "language": kernel.language, "cells": ids}
    tagged = [cell.id for cell in chosen if "agent:never-rerun" in cell.tags]
    if tagged:
        details["never_rerun"] = ", ".join(tagged)

    async def apply() -> Outcome:
        runner = _Runner(ctx, notebook, kernel, timeout, on_timeout, stop_on_error)
        return await runner.run(chosen)

    async def current() -> str:
        present = {cell.id: cell for cell in await notebook.cells()}
        return _state_of([present[name] for name in ids if name in present])

    return Effect(
        "execute",
        notebook.path or notebook.backend,
        f"{start} {what} of {name}",
        preview,
        apply,
        before=_state_of(chosen),
        payload=preview,
        current=current,
        changes=output_changes(await notebook.cells(), ids, notebook.path) if notebook.path else (),
        details=details,
    )


def _state_of(cells: Sequence[Cell]) -> str:
    return hashlib.sha256(" ".join(f"{cell.id}:{cell.hash}" for cell in cells).encode()).hexdigest()


class _Runner:
    def __init__(
        self,
        ctx: ToolContext,
        notebook: Notebook,
        kernel: Kernel,
        timeout: float,
        on_timeout: OnTimeout,
        stop_on_error: bool,
    ) -> None:
        self._ctx, self._notebook, self._kernel = ctx, notebook, kernel
        self._left = timeout
        self._on_timeout = on_timeout
        self._stop_on_error = stop_on_error

    async def run(self, chosen: Sequence[Cell]) -> Outcome:
        outcome = Outcome()
        for number, cell in enumerate(chosen):
            if len(chosen) > 1:
                self._ctx.progress(f"cell {cell.id} ({number + 1}/{len(chosen)})", number / len(chosen))
            try:
                # The person may have typed into it since it was shown: what runs is what was granted (fault f24).
                await self._check_unchanged(cell)
                run = await self._run_cell(cell)
            except AgentError as error:
                outcome.refusal, outcome.left = error, [each.id for each in chosen[number:]]
                return outcome
            outcome.runs.append(run)
            ended_badly = run.snapshot.status != "ok" and (self._stop_on_error or run.snapshot.status != "error")
            if run.timed_out or ended_badly:
                outcome.left = [each.id for each in chosen[number + 1 :]]
                return outcome
        return outcome

    async def _check_unchanged(self, cell: Cell) -> None:
        present = {each.id: each for each in await self._notebook.cells()}
        now = present.get(cell.id)
        if now is None:
            raise NotebookRefused("unknown_cell", f"cell {cell.id} was deleted before its turn came; it was not run.")
        if now.hash != cell.hash:
            raise stale_cell(now, cell.hash)

    async def _run_cell(self, cell: Cell) -> CellRun:
        async def to_document(snapshot: Snapshot) -> None:
            timing = _timing(snapshot)
            await self._notebook.set_outputs(cell.id, snapshot.outputs, snapshot.execution_count, timing=timing)

        execution = await self._kernel.run(cell.source, cell=cell.id, on_output=to_document)
        self._ctx.executions[self._notebook.path or ""] = execution
        given = max(0.0, self._left)
        snapshot = await execution.wait(given, interrupt=self._on_timeout == "interrupt")
        self._left -= snapshot.seconds
        timed_out = not execution.done or (
            self._on_timeout == "interrupt" and snapshot.status == "interrupted" and snapshot.seconds >= given
        )
        if not execution.done:
            follow(self._ctx, execution, f"Cell {cell.id}", self._notebook)
        return CellRun(cell, snapshot, timed_out)


def follow(ctx: ToolContext, execution: Execution, what: str, notebook: Notebook | None) -> None:
    """Tell the person when an execution that outlived its call ends, and make its outputs durable."""

    async def to_the_end() -> None:
        with contextlib.suppress(KernelError):
            snapshot = await execution.wait(None)
            if notebook is not None:
                with contextlib.suppress(OSError, AgentError):
                    await notebook.save()
            level: Literal["info", "warning"] = "info" if snapshot.status == "ok" else "warning"
            # The conversation may have been closed meanwhile: nobody is there to be told.
            with contextlib.suppress(ValueError):
                ctx.note(level, f"{what} ended after {duration(snapshot.seconds)}: {snapshot.status}.")

    task = asyncio.get_running_loop().create_task(to_the_end())
    _FOLLOWING.add(task)
    task.add_done_callback(_FOLLOWING.discard)


_FOLLOWING: set[asyncio.Task[None]] = set()
"""The loop itself keeps only weak references to tasks."""


async def all_ended() -> None:
    """Return when everything that outlived its call in this loop has ended and been told of."""
    loop = asyncio.get_running_loop()
    while tasks := [task for task in _FOLLOWING if task.get_loop() is loop]:
        await asyncio.wait(tasks)


def _timing(snapshot: Snapshot) -> dict[str, str] | None:
    """`metadata.execution` as JupyterLab records it, once the cell ended."""
    if not snapshot.ended:
        return None
    return {
        "iopub.status.busy": snapshot.started,
        "iopub.execute_input": snapshot.started,
        "shell.execute_reply.started": snapshot.started,
        "shell.execute_reply": snapshot.ended,
        "iopub.status.idle": snapshot.ended,
    }


def check_timeout(timeout: float) -> float:
    """Raises BadArguments unless it is a positive number of seconds."""
    if not timeout > 0:
        raise BadArguments(f"timeout is a number of seconds above 0, not {timeout!r}.")
    return timeout


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
