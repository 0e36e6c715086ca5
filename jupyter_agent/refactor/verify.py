"""The proof that a notebook does what it says: run it afresh and compare its outputs cell by cell.

Never changes a notebook, a person's kernel or a file of the notebook's folder: everything runs in `verify_run`'s
kernels and copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.refactor.verify_compare import marks, output_difference
from jupyter_agent.refactor.verify_config import project_patterns
from jupyter_agent.refactor.verify_run import CELL_TIMEOUT, CellRun, FreshRun, OnCell, StartKernel, run_fresh
from jupyter_agent.refactor.verify_text import RELATIVE_TOLERANCE, Rules, normal, same_text

ORIGINAL_STOPPED = "The original did not run to its end here"
Verdict = Literal["same", "changed", "new_error", "not_deterministic", "unproven"]
Status = Literal["proven", "unproven", "failed"]


@dataclass(frozen=True)
class CellVerdict:
    """`cells` are the ids compared as one, usually one; `index` is the first one's place in the notebook, from 0.

    `reason` is a sentence, empty where the outputs are plainly the same; `difference` shows what differs (a unified
    diff, or a sentence about an image); `fails` says that the cell ends in an error, be it the expected one;
    `untouched` that it differs by chance alone, since up to its end the same code ran before a change and after it.
    """

    cells: tuple[str, ...]
    index: int
    verdict: Verdict
    reason: str = ""
    difference: str = ""
    seconds: float = 0.0
    fails: bool = False
    untouched: bool = False


@dataclass(frozen=True)
class VerifyReport:
    """The verdicts in document order; `runs` is how often a notebook was executed, `seconds` how long all took."""

    verdicts: tuple[CellVerdict, ...]
    runs: int
    seconds: float
    relative_tolerance: float = RELATIVE_TOLERANCE
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """`failed` if a cell's output changed or an error is new; `proven` only if every cell ran and gave the same, or
        differs by chance and lies before everything that was changed."""
        found = {verdict.verdict for verdict in self.verdicts if not verdict.untouched}
        if found & {"changed", "new_error"}:
            return "failed"
        return "proven" if found <= {"same"} and not any(v.fails for v in self.verdicts) else "unproven"

    @property
    def ok(self) -> bool:
        return self.status == "proven"

    def count(self, verdict: Verdict) -> int:
        return sum(1 for item in self.verdicts if item.verdict == verdict)

    @property
    def summary(self) -> str:
        """One line: `proven: 9 cells same (2.1 s)`."""
        kinds: tuple[Verdict, ...] = ("new_error", "changed", "not_deterministic", "unproven", "same")
        counts = [f"{self.count(kind)} {kind.replace('_', ' ')}" for kind in kinds if self.count(kind)]
        return f"{self.status}: {', '.join(counts) or 'no code cells'} ({self.seconds:.1f} s)"

    def to_json(self) -> dict[str, Any]:
        cells = [
            {
                "cells": list(item.cells),
                "index": item.index,
                "verdict": item.verdict,
                "reason": item.reason,
                "difference": item.difference,
                "seconds": round(item.seconds, 3),
            }
            for item in self.verdicts
        ]
        return {
            "status": self.status,
            "ok": self.ok,
            "cells": cells,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "relative_tolerance": self.relative_tolerance,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Original:
    """What a notebook is compared with: other cells, and the groups of ids (old, new) that correspond.

    With `execute`, the other cells are run afresh too (they are the same notebook before a refactoring); else their
    stored outputs count. Without `groups`, cells correspond by id; one without a partner joins the cell before it.
    """

    cells: Sequence[Cell]
    execute: bool = False
    files: Mapping[str, bytes] | None = None
    groups: Sequence[tuple[Sequence[str], Sequence[str]]] | None = None


async def verify(
    cells: Sequence[Cell],
    metadata: Mapping[str, Any],
    *,
    path: Path | None = None,
    original: Original | None = None,
    files: Mapping[str, bytes] | None = None,
    sanitize: Sequence[tuple[str, str]] | None = None,
    timeout: float = CELL_TIMEOUT,
    start: StartKernel | None = None,
    on_cell: OnCell | None = None,
) -> VerifyReport:
    """Run `cells` in a fresh kernel and compare with `original`, or with the outputs stored in them.

    Where an output differs, what it is compared with is run once more: a cell that differs between two runs of the
    same code is `not_deterministic`, not `changed`. `timeout` is seconds a cell; `path`, `files`, `start` and
    `on_cell` are as in `run_fresh`; `sanitize` are nbval's pairs, None for those that the project's pytest
    configuration names. Raises KernelError when no kernel starts, UsageError when those pairs cannot be read.
    """
    patterns = project_patterns(path) if sanitize is None else tuple(sanitize)

    async def run(which: Sequence[Cell], with_files: Mapping[str, bytes] | None, *, seeded: bool = False) -> FreshRun:
        return await run_fresh(
            which,
            metadata,
            path=path,
            files=with_files,
            past_foreseen=True,
            seeded=seeded,
            timeout=timeout,
            start=start,
            on_cell=on_cell,
        )

    base = original or Original(cells)
    # Chance is the same for both; what then still differs is looked at without that help.
    before = await run(base.cells, base.files, seeded=True) if base.execute else None
    after = await run(cells, files, seeded=base.execute)
    runs = [item for item in (before, after) if item is not None]
    pairs = _pairs(base, cells)
    rules = Rules(patterns, clock=(runs[0].began, after.ended), sources=_lines([*base.cells, *cells]))
    verdicts = [_verdict(pair, before, after, rules) for pair in pairs]
    if base.execute and not files:
        same = _same_beginning(base.cells, cells)
        verdicts = [
            _untouched(each) if {cell.id for cell in (*pair.old, *pair.new)} <= same else each
            for each, pair in zip(verdicts, pairs, strict=True)
        ]
    if any(item.verdict == "changed" for item in verdicts):
        # The original twice: against its first run where it was executed, else the notebook's own code against itself.
        once = before or after
        again = await run(base.cells, base.files) if base.execute else await run(cells, files)
        runs.append(again)
        rules = replace(rules, clock=(runs[0].began, again.ended))
        verdicts = [
            _chance(verdict, pair, once, again, base.execute, rules)
            for verdict, pair in zip(verdicts, pairs, strict=True)
        ]
    notes = tuple(dict.fromkeys(note for item in runs for note in item.notes))
    return VerifyReport(tuple(verdicts), len(runs), sum(item.seconds for item in runs), notes=notes)


# ------------------------------------------------------------------------------------------------ what is compared


@dataclass
class _Pair:
    """Code cells that correspond, each side in document order."""

    old: list[Cell] = field(default_factory=list)
    new: list[Cell] = field(default_factory=list)


def _pairs(base: Original, cells: Sequence[Cell]) -> list[_Pair]:
    """Every code cell of both sides in exactly one pair, in the order of the new notebook."""
    old = [cell for cell in base.cells if cell.type == "code"]
    new = [cell for cell in cells if cell.type == "code"]
    groups = base.groups if base.groups is not None else _groups_by_id(old, new)
    pairs: list[_Pair] = []
    placed: set[str] = set()
    for old_ids, new_ids in groups:
        pair = _Pair([cell for cell in old if cell.id in old_ids], [cell for cell in new if cell.id in new_ids])
        placed |= {f"old {cell.id}" for cell in pair.old} | {f"new {cell.id}" for cell in pair.new}
        if pair.old or pair.new:
            pairs.append(pair)
    pairs += [_Pair(old=[cell]) for cell in old if f"old {cell.id}" not in placed]
    pairs += [_Pair(new=[cell]) for cell in new if f"new {cell.id}" not in placed]
    return sorted(pairs, key=lambda pair: (pair.new or pair.old)[0].index)


def _groups_by_id(old: Sequence[Cell], new: Sequence[Cell]) -> list[tuple[list[str], list[str]]]:
    """Pairs of equal id; a cell without a partner joins the partnered one before it (or, at the top, after it)."""
    shared = {cell.id for cell in old} & {cell.id for cell in new}
    if not shared:
        return [([cell.id for cell in old], [cell.id for cell in new])]
    groups: dict[str, tuple[list[str], list[str]]] = {cell.id: ([], []) for cell in new if cell.id in shared}
    for side, cells in enumerate((old, new)):
        anchor = next(cell.id for cell in cells if cell.id in shared)
        for cell in cells:
            anchor = cell.id if cell.id in shared else anchor
            groups[anchor][side].append(cell.id)
    return list(groups.values())


# ------------------------------------------------------------------------------------------------------- verdicts


def _verdict(pair: _Pair, before: FreshRun | None, after: FreshRun, rules: Rules) -> CellVerdict:
    shown = pair.new or pair.old
    runs = [after.cells[cell.id] for cell in pair.new]
    ids, seconds = tuple(cell.id for cell in shown), sum(run.seconds for run in runs)

    def verdict(kind: Verdict, reason: str = "", difference: str = "", fails: bool = False) -> CellVerdict:
        return CellVerdict(ids, shown[0].index, kind, reason, difference, seconds, fails)

    old, new = _outputs(pair.old, before), _outputs(pair.new, after)
    old_runs = [before.cells[cell.id] for cell in pair.old] if before is not None else []
    stopped = next(iter(sorted((run for run in runs if run.status != "ok"), key=lambda run: run.foreseen)), None)
    # An error that the notebook stores, and that comes as before when both sides are run, is what the cell shows.
    shows_error = stopped is not None and stopped.foreseen and any(run.foreseen for run in old_runs)
    if stopped is not None and not shows_error:
        if stopped.status == "error":
            return verdict(*_error_verdict(pair, stopped, before, after, rules), fails=True)
        return verdict("new_error" if stopped.status == "dead" else "unproven", stopped.reason)
    unfinished = next((run for run in old_runs if run.status != "ok" and not (shows_error and run.foreseen)), None)
    if unfinished is not None:
        return verdict("unproven", f"{ORIGINAL_STOPPED}: {unfinished.reason}")
    if not all(marks(cell).compared for cell in shown):
        return verdict("same", "Its output is not compared: it is marked nbval-ignore-output.")
    if before is None and new and not old and all(cell.execution_count is None for cell in pair.old):
        return verdict("unproven", "It ran without an error, but no output is stored to compare with.")
    if any(run.truncated for run in [*runs, *old_runs]):
        return verdict("unproven", "It puts out more than is kept, so only a part could be compared.")
    difference = output_difference(old, new, rules)
    if not difference:
        return verdict("same", f"It fails as it did before: {stopped.reason}" if stopped is not None else "")
    skipped = _skipped_before(shown[0], after)
    if skipped:
        return verdict("unproven", f"Its output differs, but {skipped} before it was not run.", difference)
    return verdict("changed", "Its output differs.", difference)


def _error_verdict(
    pair: _Pair, run: CellRun, before: FreshRun | None, after: FreshRun, rules: Rules
) -> tuple[Verdict, str]:
    assert run.error is not None
    old_error = _error(_outputs(pair.old, before))
    if old_error is not None and old_error[0] == run.error[0] and _same_message(old_error[1], run.error[1], rules):
        return "same", f"It fails as it did before: {run.reason}"
    if run.needs:
        return "unproven", f"It needs {run.needs}: {run.reason}"
    first = (pair.new or pair.old)[0]
    skipped = _skipped_before(first, after)
    if skipped:
        return "unproven", f"It fails ({run.reason}), but {skipped} before it was not run."
    stopping = next((id for id, each in after.cells.items() if each.foreseen and id != first.id), None)
    if before is None and stopping is not None and all(cell.execution_count is None for cell in pair.old):
        return "unproven", f"It fails ({run.reason}), but it was never run: the error in cell {stopping} came before."
    if run.error[0] == "NameError" and before is None and any(cell.execution_count for cell in pair.old):
        return "new_error", f"{run.reason}. Its stored output came from a kernel that knew more: hidden state."
    return "new_error", run.reason


def _chance(
    verdict: CellVerdict, pair: _Pair, once: FreshRun, again: FreshRun, executed: bool, rules: Rules
) -> CellVerdict:
    """A `changed` cell whose code gives different outputs in two runs by itself is not deterministic."""
    if verdict.verdict != "changed":
        return verdict
    cells = pair.old if executed else pair.new
    second = [again.cells[cell.id] for cell in cells]
    if not all(run.status == "ok" or run.foreseen for run in second):
        # What was not run to its end a second time says nothing of chance.
        return verdict
    if not output_difference(_outputs(cells, once), _outputs(cells, again), rules):
        return verdict
    reason = "Its output differs between two runs of the same code, so nothing follows from the difference."
    return CellVerdict(verdict.cells, verdict.index, "not_deterministic", reason, verdict.difference, verdict.seconds)


def _lines(cells: Sequence[Cell]) -> frozenset[str]:
    return frozenset(line.strip() for cell in cells if cell.type == "code" for line in cell.source.split("\n"))


def _same_beginning(old: Sequence[Cell], new: Sequence[Cell]) -> set[str]:
    """Ids of the code cells down to the first that is not on both sides the same."""
    code = ([cell for cell in cells if cell.type == "code"] for cells in (old, new))
    same = takewhile(lambda pair: all(_as_run(pair[0]) == _as_run(each) for each in pair), zip(*code, strict=False))
    return {cell.id for cell, _ in same}


def _as_run(cell: Cell) -> tuple[str, str, tuple[str, ...]]:
    return cell.id, cell.source, cell.tags


def _untouched(verdict: CellVerdict) -> CellVerdict:
    if verdict.verdict != "changed":
        return verdict
    reason = "Its output differs, but all code down to it is the same before and after: that is chance."
    return replace(verdict, verdict="not_deterministic", reason=reason, untouched=True)


def _outputs(cells: Sequence[Cell], run: FreshRun | None) -> list[Output]:
    """Outputs of the cells in order: those of the run, or the stored ones where there was none."""
    return [output for cell in cells for output in (cell.outputs if run is None else run.cells[cell.id].outputs)]


def _error(outputs: Sequence[Output]) -> tuple[str, str] | None:
    errors = [output for output in outputs if output.get("output_type") == "error"]
    return (str(errors[0].get("ename", "")), str(errors[0].get("evalue", ""))) if errors else None


def _same_message(old: str, new: str, rules: Rules) -> bool:
    return same_text(normal(old, rules), normal(new, rules), rules)


def _skipped_before(cell: Cell, run: FreshRun) -> str:
    """The first cell that was skipped before `cell`, as words for a sentence; `""` if none was."""
    for id, earlier in run.cells.items():
        if id == cell.id:
            break
        if earlier.status == "skipped":
            return f"cell {id}"
    return ""
