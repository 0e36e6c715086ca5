"""What fresh runs of a notebook say about a change to it: proven, failed, or in a sentence why neither.

Runs kernels on copies of the notebook's folder; changes nothing of the person's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jupyter_agent.events import Json, Verified
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.verify_compare import marks, output_difference
from jupyter_agent.refactor.verify_copy import Window, written_in
from jupyter_agent.refactor.verify_run import CellRun, FreshRun, run_fresh
from jupyter_agent.refactor.verify_text import DURATIONS, Rules

CELL_TIMEOUT = 300.0


@dataclass(frozen=True)
class Finding:
    """What checking one target came to, in a sentence; `cells` per cell {id, hash, status}.

    Of the statuses, `error` and `differs` are trouble the model made and can mend.
    """

    verified: Verified
    text: str
    cells: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Case:
    """A changed notebook. `scope`: the changed and dependent code cells; `needed`: those and what they need, in order.

    `before` are the code cells as the turn found them, `ran` maps a cell to the hash of the source that last ran in the
    live kernel, and `windows` are the times in which the turn's code ran there.
    """

    cells: Sequence[Cell]
    metadata: Mapping[str, Any]
    path: Path | None
    scope: Sequence[str]
    needed: Collection[str]
    before: Sequence[Cell]
    ran: Mapping[str, str]
    windows: Sequence[Window] = ()

    def cell(self, id: str) -> Cell:
        return next(cell for cell in self.cells if cell.id == id)

    async def run(
        self,
        cells: Sequence[Cell] | None = None,
        *,
        only: Collection[str] | None = None,
        without: Collection[Path] = (),
    ) -> FreshRun:
        return await run_fresh(
            self.cells if cells is None else cells,
            self.metadata,
            path=self.path,
            only=only,
            without=without,
            timeout=CELL_TIMEOUT,
        )


async def judge(case: Case) -> Finding:
    """The verdict. Files that the turn's runs left behind are hidden state too: the proof has to do without them."""
    left = await asyncio.to_thread(written_in, case.path, case.windows) if case.windows else ()
    finding = await _attempt(case, left)
    if not left or finding.verified == "proven":
        return finding
    whole = await _attempt(case, ())
    if whole.verified != "proven":
        return whole
    names = ", ".join(path.name for path in list(left)[:5]) + (", …" if len(left) > 5 else "")
    return Finding(
        "unproven",
        f"it gives this only with files that code of this turn left behind ({names}); in a folder without them: "
        f"{finding.text}",
    )


async def _attempt(case: Case, without: Collection[Path]) -> Finding:
    run = await case.run(without=without)
    failure = run.failure
    if failure is not None and failure[0] not in case.needed:
        # Something the change has nothing to do with fails: what it has to do with can still be shown to run.
        run = await case.run(only=set(case.needed), without=without)
        failure = run.failure
    if failure is not None:
        return _failed(case, *failure)
    missed = [cell for cell in case.scope if run.cells[cell].status != "ok"]
    if missed:
        return Finding("unproven", f"cell {missed[0]} was not run: {run.cells[missed[0]].reason}")
    return await _compared(case, run, without)


def _failed(case: Case, cell: str, stopped: CellRun) -> Finding:
    if stopped.needs or stopped.status == "timeout":
        return Finding("unproven", f"cell {cell} did not run to its end in a fresh kernel: {stopped.reason}")
    text = f"cell {cell} fails in a fresh kernel: {stopped.reason}"
    return Finding("failed", text, (_entry(case.cell(cell), "error"),))


def _entry(cell: Cell, status: str) -> Json:
    return {"id": cell.id, "hash": cell.hash, "status": status}


# ------------------------------------------------------------------------------------------------- what is shown


async def _compared(case: Case, run: FreshRun, without: Collection[Path]) -> Finding:
    """Everything ran: does the notebook show what it gives?"""
    compared = [cell for cell in map(case.cell, case.scope) if marks(cell).compared]
    live = [cell for cell in compared if case.ran.get(cell.id) == cell.hash]
    kept = [cell for cell in compared if cell not in live and (cell.outputs or cell.execution_count is not None)]
    differing = _differences([*live, *kept], run)
    if not differing:
        return _proven(case)
    again = await case.run(only=set(run.cells), without=without)
    chance = {id for id in differing if not _repeats(id, run, again)}
    for cell in live:
        if cell.id in differing and cell.id not in chance:
            return Finding(
                "unproven",
                f"cell {cell.id} shows something else than in a fresh kernel, so it rests on hidden state:\n"
                f"{differing[cell.id]}",
                (_entry(cell, "differs"),),
            )
    lucky = next((id for id in chance if not _only_durations(id, run, again)), None)
    if lucky is not None:
        text = f"cell {lucky} gives something else in each fresh kernel (chance without a seed, or the time)"
        return Finding(
            "unproven", f"{text}, so nothing is proved by what it shows.", (_entry(case.cell(lucky), "chance"),)
        )
    old = [cell.id for cell in kept if cell.id in differing and cell.id not in chance]
    return await _reproduced_before(case, old, without) if old else _proven(case)


async def _reproduced_before(case: Case, ids: Sequence[str], without: Collection[Path]) -> Finding:
    """Stored outputs that the change alters: did they come from the notebook as the turn found it?"""
    run = await case.run(case.before, without=without)
    for cell in case.before:
        if cell.id not in ids:
            continue
        ended = run.cells[cell.id].status in ("ok", "error")
        difference = _differences([cell], run) if ended else {cell.id: run.cells[cell.id].reason}
        if difference:
            return Finding(
                "unproven",
                f"what cell {cell.id} showed before the change did not come from the notebook as it was, so it rests "
                f"on hidden state:\n{difference[cell.id]}",
                (_entry(case.cell(cell.id), "hidden"),),
            )
    return _proven(case, f" Outputs from before the change are still shown in {', '.join(ids)}.")


def _proven(case: Case, remark: str = "") -> Finding:
    count = len(case.scope)
    what = "1 changed or dependent cell" if count == 1 else f"{count} changed and dependent cells"
    entries = tuple(_entry(case.cell(id), "ok") for id in case.scope)
    return Finding("proven", f"{what} ran in order in a fresh kernel.{remark}", entries)


def _differences(shown: Sequence[Cell], run: FreshRun) -> dict[str, str]:
    rules = Rules(clock=(run.began, run.ended))
    found = {cell.id: output_difference(cell.outputs, run.cells[cell.id].outputs, rules) for cell in shown}
    return {id: text for id, text in found.items() if text}


def _repeats(id: str, run: FreshRun, again: FreshRun) -> bool:
    """Whether two fresh runs gave the same, so that a difference from the document means something."""
    return not output_difference(run.cells[id].outputs, again.cells[id].outputs, _rules_of(run, again))


def _only_durations(id: str, run: FreshRun, again: FreshRun) -> bool:
    """Whether two fresh runs differ in nothing but how long something took."""
    rules = replace(_rules_of(run, again), sanitize=DURATIONS)
    return not output_difference(run.cells[id].outputs, again.cells[id].outputs, rules)


def _rules_of(run: FreshRun, again: FreshRun) -> Rules:
    return Rules(clock=(run.began, again.ended))
