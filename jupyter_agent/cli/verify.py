"""`jupyter agent verify`: notebooks run in a fresh kernel, outputs compared cell by cell. Changes no notebook.

An unproven notebook is reported as unproven and counted as skipped in the JUnit report, never as passed; it fails the
command only with --strict, because a cell that its author tagged never to be rerun is no defect.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from jupyter_agent.cli.main import DONE, FAILED, INTERRUPTED
from jupyter_agent.cli.many import run_all
from jupyter_agent.cli.opening import place_of_notebook
from jupyter_agent.cli.report import Text, print_json, write_junit
from jupyter_agent.errors import UsageError
from jupyter_agent.refactor.proving import Outcome, Task


def command_verify(arguments: Namespace) -> int:
    against = arguments.against
    if against and against != "HEAD":
        if len(arguments.notebooks) > 1:
            raise UsageError("--against FILE compares one notebook. Name one, or use --against HEAD.")
        if not Path(against).is_file():
            raise UsageError(f"There is no notebook {against} to compare with.")
        against = str(Path(against).resolve())
    names = notebook_names(arguments.notebooks)
    tasks = [Task(path, against=against, timeout=arguments.timeout) for path in names]
    outcomes: dict[str, Outcome] = {}
    text = Text()

    async def done(task: Task, outcome: Outcome) -> None:
        outcomes[names[task.path]] = outcome
        if arguments.json:
            print_json(outcome)
        else:
            _print(text, names[task.path], outcome)

    try:
        complete = asyncio.run(run_all(tasks, done, jobs=arguments.jobs, scheduler=arguments.scheduler))
    finally:
        if arguments.junit:
            write_junit(arguments.junit, outcomes, "verify")
    if len(tasks) > 1 and not arguments.json:
        summarise(text, list(names.values()), outcomes)
    if not complete:
        return INTERRUPTED
    bad = any(_fails(outcome, strict=arguments.strict) for outcome in outcomes.values())
    return FAILED if bad else DONE


def _fails(outcome: Outcome, *, strict: bool) -> bool:
    return outcome.failed or (strict and outcome.status != "proven")


def notebook_names(given: Sequence[str]) -> dict[str, str]:
    """Absolute path to the name as given, in order, each notebook once. Raises UsageError for what is not there."""
    names: dict[str, str] = {}
    for name in given:
        path = place_of_notebook(name, None).notebook
        assert path is not None
        names.setdefault(str(path), name)
    return names


def _print(text: Text, name: str, outcome: Outcome) -> None:
    if outcome.report is None:
        text.line(f"{name}: {outcome.reason}")
        return
    text.line(f"{name}: {outcome.report.summary}")
    text.report(outcome.report)


def summarise(text: Text, names: Sequence[str], outcomes: dict[str, Outcome]) -> None:
    """A table of all notebooks, those that were not reached included."""
    rows = []
    for name in names:
        outcome = outcomes.get(name)
        status = outcome.status if outcome is not None else "not done"
        rows.append((name, status, _remark(outcome)))
    counts: dict[str, int] = {}
    for _, status, _ in rows:
        counts[status] = counts.get(status, 0) + 1
    text.table(rows, f"{len(rows)} notebooks: " + ", ".join(f"{count} {status}" for status, count in counts.items()))


def _remark(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.reason:
        return outcome.reason.split("\n", 1)[0]
    return outcome.report.summary.partition(": ")[2] if outcome.report is not None else ""
