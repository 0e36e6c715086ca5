"""`jupyter agent verify`: notebooks run in a fresh kernel, outputs compared cell by cell. Changes no notebook."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_agent.cli.main import DONE, FAILED
from jupyter_agent.cli.opening import place_of_notebook
from jupyter_agent.errors import AgentError, UsageError
from jupyter_agent.events import Json
from jupyter_agent.notebook import open_notebook
from jupyter_agent.refactor.verify import Original, VerifyReport, verify

if TYPE_CHECKING:
    from jupyter_agent.notebook.document import Cell

_MARK = {"same": "✔", "changed": "✘", "new_error": "✘", "not_deterministic": "~", "unproven": "○"}


@dataclass(frozen=True)
class Outcome:
    """One notebook's report, or the sentence that says why there is none."""

    name: str
    report: VerifyReport | None
    error: str = ""

    @property
    def differs(self) -> bool:
        return self.report is None or self.report.status == "failed"

    def to_json(self) -> Json:
        if self.report is None:
            return {"notebook": self.name, "status": "error", "error": self.error}
        return {"notebook": self.name, **self.report.to_json()}


def command_verify(arguments: Namespace) -> int:
    if arguments.against and arguments.against != "HEAD" and len(arguments.notebooks) > 1:
        raise UsageError("--against FILE compares one notebook. Name one, or use --against HEAD.")
    paths = [place_of_notebook(name, None).notebook for name in arguments.notebooks]
    outcomes = asyncio.run(_verify_all([path for path in paths if path is not None], arguments))
    for outcome in outcomes:
        if arguments.json:
            print(json.dumps(outcome.to_json()))
        else:
            _print(outcome)
    return FAILED if any(outcome.differs for outcome in outcomes) else DONE


async def _verify_all(paths: Sequence[Path], arguments: Namespace) -> list[Outcome]:
    limit = asyncio.Semaphore(arguments.jobs)

    async def one(path: Path) -> Outcome:
        async with limit:
            return await _verify_one(path, arguments.against, arguments.timeout)

    return list(await asyncio.gather(*(one(path) for path in paths)))


async def _verify_one(path: Path, against: str | None, timeout: float) -> Outcome:
    try:
        notebook = await open_notebook(path)
        original = Original(await _cells_of(path, against)) if against else None
        cells, metadata = await notebook.cells(), await notebook.metadata()
        report = await verify(cells, metadata, path=path, original=original, timeout=timeout)
    except AgentError as error:
        return Outcome(str(path), None, error.message)
    return Outcome(str(path), report)


async def _cells_of(path: Path, against: str) -> tuple[Cell, ...]:
    """The cells to compare with: those of a file, or of the notebook as git's HEAD has it."""
    if against != "HEAD":
        if not Path(against).is_file():
            raise UsageError(f"There is no notebook {against} to compare with.")
        return await (await open_notebook(against)).cells()
    # The repository's configuration may name programs to run; these settings run none of them (fault f64).
    safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"]
    command = ["git", *safe, "show", "--no-textconv", f"HEAD:./{path.name}"]
    shown = await asyncio.to_thread(subprocess.run, command, cwd=path.parent, capture_output=True, check=False)
    if shown.returncode != 0:
        reason = shown.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise UsageError(f"git has no {path.name} at HEAD: {reason[0] if reason else 'no reason given'}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(shown.stdout)
        return await (await open_notebook(copy)).cells()


def _print(outcome: Outcome) -> None:
    report = outcome.report
    if report is None:
        print(f"{outcome.name}: {outcome.error}")
        return
    print(f"{outcome.name}: {report.summary}")
    for verdict in report.verdicts:
        if verdict.verdict == "same" and not verdict.reason:
            continue
        kind = verdict.verdict.replace("_", " ")
        print(f"  {_MARK[verdict.verdict]} {', '.join(verdict.cells)}: {kind}. {verdict.reason}")
        for line in verdict.difference.splitlines():
            print(f"      {line}")
    for note in report.notes:
        print(f"  note: {note}")
