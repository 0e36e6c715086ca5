"""The verify step: what a turn changed is checked before "done" is said, as cheaply as the change allows.

Order: the changed cells that were not run since, in the live kernel where runs are accepted; then changed and dependent
cells in order in a fresh kernel, on a copy, their outputs held against those in the document. A failure goes back to
the model once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.checkpoint import reversals
from jupyter_agent.effect import Effect
from jupyter_agent.errors import AgentError, Denied
from jupyter_agent.events import Json, ToolFinished, ToolStart, Verified
from jupyter_agent.evidence import Case, Finding, judge
from jupyter_agent.notebook.cells import from_json, renumbered
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse, recorded_seconds
from jupyter_agent.notebook.flow_state import rerun_plan
from jupyter_agent.refactor.verify_copy import Window
from jupyter_agent.summary import edits_of

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation
    from jupyter_agent.notebook.document import Notebook

COST_LIMIT = 300.0
"""Seconds of recorded running time beyond which cells are not run again unasked: they may take hours."""
TOOL = "verify_notebook"
"""The name under which the step stands in the journal and in rules."""


@dataclass(frozen=True)
class Check:
    """The state of the verify step in a turn. `again`: the model was just told something and has to go on; `told` are
    the failures it was told of so far."""

    verified: Verified = "none"
    again: bool = False
    told: frozenset[str] = frozenset()


async def check_turn(conversation: Conversation, previous: Check) -> Check:
    """Check everything the turn changed. Never raises but Stopped and CancelledError."""
    edits = edits_of(conversation.turn_events())
    if not edits or not conversation.settings.verify:
        return Check("unproven" if edits else "none", told=previous.told)
    notebooks = list(dict.fromkeys(change["target"] for change in edits if change["cell"]))
    findings = [await _check_notebook(conversation, path, edits) for path in notebooks]
    findings += [_unproven_file(conversation, change["target"]) for change in edits if not change["cell"]]
    verified = _worst([finding.verified for finding in findings])
    failures = [finding for finding in findings if finding.verified == "failed" or finding.cells]
    keys = {hashlib.sha256(finding.text.encode("utf-8", "replace")).hexdigest() for finding in failures}
    troubled = verified != "proven" and any(_is_trouble(finding) for finding in failures)
    again = troubled and not keys <= previous.told
    return Check(verified, again, previous.told | keys)


def _is_trouble(finding: Finding) -> bool:
    return finding.verified != "proven" and any(cell["status"] in ("error", "differs") for cell in finding.cells)


def _worst(found: Sequence[Verified]) -> Verified:
    for verdict in ("failed", "unproven", "proven"):
        if verdict in found:
            return verdict
    return "none"


def _unproven_file(conversation: Conversation, target: str) -> Finding:
    name = conversation.workspace.relative(target)
    return Finding("unproven", f"{name} changed; no check proves a file by itself.")


async def _check_notebook(conversation: Conversation, path: str, edits: Sequence[Json]) -> Finding:
    """Check one notebook and put the finding into the journal."""
    changed = {change["cell"]: change["status"] for change in edits if change["target"] == path}
    call, began = "", time.monotonic()
    try:
        notebook = await conversation.host.notebook(Path(path))
        await _run_what_was_not_run(conversation, notebook, path)
        call, began = _begin(conversation, path), time.monotonic()
        finding = await _fresh(conversation, notebook, changed)
    except Denied as error:
        finding = Finding("unproven", error.message)
    except AgentError as error:
        finding = Finding("unproven", f"The check could not be made: {error.message}")
    _publish(conversation, call or _begin(conversation, path), path, finding, time.monotonic() - began)
    return finding


def _begin(conversation: Conversation, path: str) -> str:
    """Show the check as a call of the program's own; its id."""
    call = new_call_id()
    conversation.publish(ToolStart(call=call, name=TOOL, arguments={"path": conversation.workspace.relative(path)}))
    return call


def _publish(conversation: Conversation, call: str, path: str, finding: Finding, seconds: float) -> None:
    """The finding as the result of that call: the person sees a card, the model the text."""
    name = conversation.workspace.relative(path)
    trouble = _is_trouble(finding)
    # Below its first line a finding may show outputs.
    kept_back = conversation.settings.withhold.outputs
    text = f"{finding.verified}: {finding.text.splitlines()[0] if kept_back else finding.text}"
    conversation.publish(
        ToolFinished(
            call=call,
            name=TOOL,
            content=[{"type": "text", "text": text}],
            details={"path": name, "verified": finding.verified, "cells": list(finding.cells)},
            is_error=trouble,
            seconds=round(seconds, 3),
        )
    )


async def _run_what_was_not_run(conversation: Conversation, notebook: Notebook, path: str) -> None:
    """Run changed cells, and those that became stale by it, in the live kernel if that runs and runs are accepted."""
    kernel = await conversation.host.kernel(notebook)
    if (await kernel.state()).status in ("none", "dead", "unknown") or not _accepted(conversation, "run_cells", path):
        return
    cells = await notebook.cells()
    unrun = conversation.cell_log(path).unrun() & {cell.id for cell in cells if cell.type == "code"}
    if not unrun:
        return
    plan = rerun_plan(analyse(cells, language=kernel.language), unrun)
    if plan.blocked or plan.seconds > COST_LIMIT:
        return
    arguments = {"path": path, "cells": list(plan.cells)}
    await run_call(conversation, new_call_id(), "run_cells", arguments)


def _accepted(conversation: Conversation, tool: str, path: str) -> bool:
    """Whether code may run in the kernel of `path` without asking anybody."""
    return conversation.gate.verdict(tool, _execution(path, "", ()))[0] == "allow"


def _execution(path: str, title: str, code: Sequence[Cell]) -> Effect[None]:
    async def granted() -> None:
        return None

    preview = "\n\n".join(f"# cell {cell.id}\n{cell.source}" for cell in code)
    return Effect("execute", path, title, preview, granted, payload=preview, details={"where": "kernel"})


async def _fresh(conversation: Conversation, notebook: Notebook, changed: dict[str, str]) -> Finding:
    if notebook.path and not Path(notebook.path).parent.is_dir():
        return Finding("unproven", "the notebook is on another machine, and what its cells read is not on this one.")
    cells, metadata = await notebook.cells(), await notebook.metadata()
    graph = analyse(cells, language=_language(metadata))
    code = [cell for cell in cells if cell.type == "code"]
    touched = {cell.id for cell in code if cell.id in changed}
    if not touched and "deleted" not in changed.values():
        return Finding("unproven", "only text cells changed; nothing that runs depends on them.")
    # A cell that read what a changed cell used to bind hangs on the change too, though not on the cell as it is now.
    old = _as_before(conversation, notebook, cells)
    touched |= {cell for cell in analyse(old, language=graph.language).dependents(changed) if cell in graph}
    plan = rerun_plan(graph, touched, fresh=True)
    if plan.blocked:
        names = ", ".join(f"{cell} ({tag})" for cell, tag in plan.blocked.items())
        return Finding("unproven", f"cells are tagged not to be run: {names}.")
    seconds = sum(recorded_seconds(cell.metadata) or 0.0 for cell in code)
    if seconds > COST_LIMIT:
        return Finding("unproven", f"its cells took {seconds:.0f} s when they last ran; that is not repeated unasked.")
    await _ask_to_run(conversation, notebook, code)
    dependents = [*graph.dependents(touched)]
    scope = [cell.id for cell in code if cell.id in touched or cell.id in dependents]
    log = conversation.cell_log(notebook.path)
    return await judge(
        Case(
            cells=cells,
            metadata=metadata,
            path=Path(notebook.path) if notebook.path else None,
            scope=scope,
            needed=plan.cells,
            before=old,
            ran=log.ran,
            windows=_windows(conversation),
        )
    )


def _windows(conversation: Conversation) -> list[Window]:
    """When code of this turn ran in live kernels."""
    runs = [
        event
        for event in conversation.turn_events()
        if isinstance(event, ToolFinished) and event.name in ("run_cells", "run_code")
    ]
    return [(event.time - event.seconds, event.time) for event in runs]


def _as_before(conversation: Conversation, notebook: Notebook, cells: Sequence[Cell]) -> list[Cell]:
    """The code cells as they were when the turn began, in their order, deleted ones put back where they stood."""
    images: dict[str, Json] = {}
    created: set[str] = set()
    for item in reversals(conversation.events, conversation.turn):
        if item.target == notebook.path and item.cell and item.checkpoint:
            images[item.cell] = json.loads(conversation.checkpoints.load(item.checkpoint))
        elif item.target == notebook.path and item.cell and not item.before:
            created.add(item.cell)
    found = [cell for cell in cells if cell.id not in created]
    present = {cell.id for cell in found}
    gone = [(id, image) for id, image in images.items() if id not in present]
    found = [from_json(images[cell.id]["cell"], cell.id, 0) if cell.id in images else cell for cell in found]
    while gone:
        order = [cell.id for cell in found]
        # A deleted cell goes behind the one it stood behind, which may be a deleted one itself.
        next_up = next((each for each in gone if each[1]["after"] in order), gone[0])
        gone.remove(next_up)
        id, image = next_up
        found.insert(order.index(image["after"]) + 1 if image["after"] in order else 0, from_json(image["cell"], id, 0))
    return [cell for cell in renumbered(found) if cell.type == "code"]


async def _ask_to_run(conversation: Conversation, notebook: Notebook, code: Sequence[Cell]) -> None:
    """Ask for the run in a fresh kernel. Raises Denied, without counting as a refused ask where nobody is there."""
    effect = _execution(notebook.path or "", f"Verify: run {len(code)} cells in a fresh kernel, on a copy", code)
    if conversation.gate.verdict(TOOL, effect)[0] == "ask" and conversation.gate.asker is None:
        raise Denied("running cells was not accepted, so nothing was proved.")
    await conversation.gate.allow(TOOL, effect)
    await effect.commit()


def _language(metadata: Any) -> str:
    info = metadata.get("language_info")
    spec = metadata.get("kernelspec")
    return str((info or {}).get("name") or (spec or {}).get("language") or "python")
