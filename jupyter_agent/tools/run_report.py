"""What a run says to the model: status first, then each cell with its outputs, within the one budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jupyter_agent.errors import Refused
from jupyter_agent.events import Json
from jupyter_agent.kernel.protocol import Snapshot
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.notebook.outputs import brief_outputs, count_to_id, output_blocks
from jupyter_agent.notebook.render import header, join_blocks, record
from jupyter_agent.notebook.tracebacks import error_line
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult
from jupyter_agent.tools.cell_runs import CellRun, Outcome, duration
from jupyter_agent.tools.handles import Handles
from jupyter_agent.tools.installs import failed_install

HEADERS = 100
"""Bytes set aside for a cell's header line and notices."""

FIRST, LAST = 10, 30
MOST_SHOWN = FIRST + LAST
"""Cells that a result shows of those that ran; all of them are in `details.cells`."""

ENDS = (
    "it is ended with this call, as the kernel is one of the call's own. Give a longer timeout, or a kernel that stays "
    "(--kernel CONNECTION_FILE)"
)
"""Where there is nothing to wait for: a single call on the command line."""

CODE = "run_code"


def runs_result(
    ctx: ToolContext, notebook: Notebook, outcome: Outcome, present: Sequence[Cell], stale: Mapping[str, str]
) -> ToolResult:
    """The result of run_cells; `present` are the cells after the run, `stale` those that others' results made so."""
    counts = count_to_id(present)
    counts |= {run.snapshot.execution_count: run.cell.id for run in outcome.runs if run.snapshot.execution_count}
    first = _first_line(outcome, counts, notebook, goes_on=ctx.kernels_last)
    notes = [run.snapshot.advice for run in outcome.runs if run.snapshot.advice]
    if outcome.left:
        notes.append(f"not run: {', '.join(outcome.left[:40])}{', …' if len(outcome.left) > 40 else ''}")
    if stale:
        notes.append(f"stale, to be run again: {', '.join(list(stale)[:20])}{', …' if len(stale) > 20 else ''}")
    blocks: list[Json] = [{"type": "text", "text": "\n".join([first, *notes])}]
    shown = outcome.runs if len(outcome.runs) <= MOST_SHOWN else [*outcome.runs[:FIRST], *outcome.runs[-LAST:]]
    room = max(200, (RESULT_LIMIT - len(blocks[0]["text"])) // max(1, len(shown)) - HEADERS)
    by_id = {cell.id: cell for cell in present}
    handles = Handles(ctx)
    for number, run in enumerate(shown):
        if number == FIRST and len(shown) < len(outcome.runs):
            blocks.append({"type": "text", "text": f"[… {len(outcome.runs) - len(shown)} more cells ran here …]"})
        cell = _as_run(by_id.get(run.cell.id, run.cell), run)
        handle = handles.keep_file(run.snapshot.spill, cell.id)
        blocks.append({"type": "text", "text": header(cell, stale, status=_status(run))})
        more = "" if handle else f"read_output(cell={cell.id!r}) pages through it"
        blocks += output_blocks(
            run.snapshot.outputs, counts, limit=room, handle=handle, more=more, keep=handles.keeper(cell.id)
        )
    records = [
        record(_as_run(by_id.get(run.cell.id, run.cell), run), stale, status=_status(run), outputs=True)
        | handles.of(run.cell.id)
        for run in outcome.runs
    ]
    details: Json = {
        "path": notebook.path,
        "ran_in": notebook.path,
        "status": first.split(" ", 1)[0].rstrip(":"),
        "cells": records,
        "not_run": list(outcome.left),
        "seconds": round(sum(run.snapshot.seconds for run in outcome.runs), 3),
        "handle": handles.last,
    }
    if outcome.refusal is not None:
        key = "refused" if isinstance(outcome.refusal, Refused) else "error"
        details[key] = {"kind": outcome.refusal.kind, "reason": outcome.refusal.message}
    # A cell that ignored its interrupt is no success either: nobody knows how it will end.
    disobeyed = any(run.timed_out and run.snapshot.advice for run in outcome.runs)
    return ToolResult(join_blocks(blocks), details, is_error=first.startswith("error") or disobeyed)


def _first_line(outcome: Outcome, counts: Mapping[int, str], notebook: Notebook, *, goes_on: bool) -> str:
    """`ok …`, `running …` or `error: ENAME: EVALUE in cell ID line N` (DESIGN section 4)."""
    if outcome.refusal is not None:
        content = getattr(outcome.refusal, "content", "")
        return f"error: {outcome.refusal.message}" + (f"\nThe cell now:\n{content}" if content else "")
    seconds = duration(sum(run.snapshot.seconds for run in outcome.runs))
    for run in outcome.runs:
        problem = _problem(run, counts, goes_on=goes_on)
        if problem:
            return problem
    name = (notebook.path or notebook.backend).replace("\\", "/").rsplit("/", 1)[-1]
    count = len(outcome.runs)
    return f"ok {count} cell{'' if count == 1 else 's'} ran in {name} ({seconds})"


def _problem(run: CellRun, counts: Mapping[int, str], *, goes_on: bool) -> str:
    cell, snapshot = run.cell.id, run.snapshot
    seconds = duration(snapshot.seconds)
    if snapshot.status in ("running", "queued"):
        interrupted = " although it was interrupted" if snapshot.advice else ""
        after = "its outputs go on into the notebook. control_kernel('wait') waits for it" if goes_on else ENDS
        if snapshot.asks:
            return f"waiting: cell {cell} asks the person for input ({snapshot.asks!r}) in the notebook; {after}."
        return f"running cell {cell} for {seconds}{interrupted}; {after}."
    if run.timed_out and snapshot.status == "interrupted":
        return f"error: TimeoutError: interrupted after {seconds} in cell {cell}"
    if snapshot.status == "dead":
        return f"error: KernelDied: the kernel ended in cell {cell} after {seconds}"
    if snapshot.status == "aborted":
        return f"error: Aborted: cell {cell} was not run"
    if snapshot.status in ("error", "interrupted"):
        return f"error: {_error_in(snapshot, counts, cell)}"
    failed = failed_install(run.cell.source, snapshot.outputs)
    return f"error: InstallFailed: {failed} in cell {cell}" if failed else ""


def _error_in(snapshot: Snapshot, counts: Mapping[int, str], cell: str) -> str:
    output = next((each for each in snapshot.outputs if each.get("output_type") == "error"), None)
    if output is None:
        name, value, _ = snapshot.error or ("KeyboardInterrupt", "", [])
        output = {"ename": name, "evalue": value, "traceback": []}
    line = error_line(output, counts)
    return line if " in cell " in line else f"{line} in cell {cell}"


def _status(run: CellRun) -> str:
    return "error" if run.timed_out and run.snapshot.status == "interrupted" else run.snapshot.status


def _as_run(cell: Cell, run: CellRun) -> Cell:
    """The cell with what the run gave, which a slow document may not show yet."""
    return replace(cell, outputs=run.snapshot.outputs, execution_count=run.snapshot.execution_count)


def code_result(ctx: ToolContext, code: str, snapshot: Snapshot, running: bool, present: Sequence[Cell]) -> ToolResult:
    """The result of run_code. Its traceback names itself `run_code`, whatever cell has the same number."""
    counts = count_to_id(present)
    if snapshot.execution_count is not None:
        counts[snapshot.execution_count] = CODE
    first = _code_status(code, snapshot, running, counts, goes_on=ctx.kernels_last)
    handles = Handles(ctx)
    handle = handles.keep_file(snapshot.spill, CODE)
    head = "\n".join([first, *([snapshot.advice] if snapshot.advice else [])])
    limit = RESULT_LIMIT - len(head) - HEADERS
    shown = output_blocks(snapshot.outputs, counts, limit=limit, handle=handle, keep=handles.keeper(CODE))
    blocks = join_blocks([{"type": "text", "text": head}, *shown])
    for block in blocks:
        if block["type"] == "text":
            block["text"] = block["text"].replace(f"cell {CODE}", CODE)
    details: Json = {
        "status": snapshot.status,
        "execution_count": snapshot.execution_count,
        "seconds": round(snapshot.seconds, 3),
        "outputs": brief_outputs(snapshot.outputs),
        "code": code,
        "handle": handles.last,
    }
    return ToolResult(blocks, details, is_error=first.startswith("error"))


def _code_status(code: str, snapshot: Snapshot, running: bool, counts: Mapping[int, str], *, goes_on: bool) -> str:
    seconds = duration(snapshot.seconds)
    if running:
        ways = "control_kernel('wait') waits for it, control_kernel('interrupt') ends it"
        return f"running for {seconds}; {ways if goes_on else ENDS}"
    if snapshot.status == "dead":
        return f"error: KernelDied: the kernel ended after {seconds}"
    if snapshot.status == "aborted":
        return "error: Aborted: the code was not run"
    if snapshot.status in ("error", "interrupted"):
        return f"error: {_error_in(snapshot, counts, CODE)}"
    failed = failed_install(code, snapshot.outputs)
    return f"error: InstallFailed: {failed}" if failed else f"ok ({seconds})"
