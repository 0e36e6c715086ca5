"""Tools that read and edit notebook cells. They never touch a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments
from jupyter_agent.events import Json
from jupyter_agent.notebook.assertions import lost_assertions
from jupyter_agent.notebook.cells import CELL_TYPES, new_id, normal_source
from jupyter_agent.notebook.document import Cell, EditOutcome, Notebook
from jupyter_agent.notebook.outputs import count_to_id
from jupyter_agent.notebook.render import cell_blocks, header, join_blocks, outline_entry, record
from jupyter_agent.notebook.transaction import unknown_cell
from jupyter_agent.text import clip
from jupyter_agent.tool import ToolContext, ToolResult, tool
from jupyter_agent.tools.cell_operations import Op, bare, operations, repair
from jupyter_agent.tools.cell_syntax import check_cells
from jupyter_agent.tools.handles import Handles
from jupyter_agent.workspace import TAMPERING

OUTLINE_LIMIT = 16_000
"""Bytes of an outline; `start` pages on."""
SOURCE_LIMIT = 64_000
"""Bytes of sources in one result: about 24,000 tokens of Python (DESIGN section 4)."""
OUTPUT_LIMIT = 16_000
"""Bytes of output text in one result."""
DIFF_LIMIT = 8_000
"""Bytes of the diff in a result; the whole is in `details.diff`."""


@tool(always=True)
async def read_cells(
    ctx: ToolContext,
    path: str | None = None,
    cells: list[str] | None = None,
    outputs: Literal["summary", "full", "none"] = "summary",
    start: int | None = None,
    limit: int | None = None,
) -> ToolResult:
    """Cells of a notebook by id; without cells the outline. start, limit: cells of the outline, else source lines
    (numbered)."""
    notebook = await ctx.notebook(path)
    present = await notebook.cells()
    stale = await stale_cells(ctx, notebook, present, path)
    if not cells or cells == ["all"]:
        return _outline(notebook, present, stale, start or 0, limit)
    by_id = {cell.id: cell for cell in present}
    cells = [bare(cell_id) for cell_id in cells]
    missing = next((cell_id for cell_id in cells if cell_id not in by_id), None)
    if missing is not None:
        raise unknown_cell(missing, present)
    wanted = [by_id[cell_id] for cell_id in dict.fromkeys(cells)]
    counts = count_to_id(present)
    blocks: list[Json] = [{"type": "text", "text": f"ok {_cells(len(wanted))} of {len(present)} in {_name(notebook)}"}]
    room, source_room = OUTPUT_LIMIT // len(wanted), SOURCE_LIMIT
    handles = Handles(ctx)
    shown: list[Cell] = []
    for cell in wanted:
        size = len(cell.source.encode("utf-8", "surrogatepass"))
        if size > source_room and shown:
            rest = ", ".join(each.id for each in wanted[len(shown) :])
            blocks.append({"type": "text", "text": f"[… not shown, too long for one result: {rest} …]"})
            break
        if size > SOURCE_LIMIT and start is None:
            start, limit = 1, limit or 1_000
        more = f"read_output(cell={cell.id!r}) pages through it"
        blocks += cell_blocks(
            cell,
            outputs=outputs,
            stale=stale,
            counts=counts,
            start=start,
            limit=limit,
            room=room,
            more=more,
            keep=handles.keeper(cell.id),
        )
        source_room -= size
        shown.append(cell)
    records = [record(cell, stale, source=True, outputs=outputs == "full") | handles.of(cell.id) for cell in shown]
    details = {"path": notebook.path, "cells": records, "handle": handles.last}
    return ToolResult(join_blocks(blocks), details)


def _outline(
    notebook: Notebook, cells: Sequence[Cell], stale: Mapping[str, str], start: int, limit: int | None
) -> ToolResult:
    start = max(start, 0)
    end = len(cells) if limit is None else min(start + max(limit, 1), len(cells))
    lines: list[str] = []
    room = OUTLINE_LIMIT
    for cell in cells[start:end]:
        entry = outline_entry(cell, stale)
        room -= len(entry.encode("utf-8", "surrogatepass")) + 1
        if room < 0 and lines:
            break
        lines.append(entry)
    reached = start + len(lines)
    notes = [f"ok {_cells(len(cells))} in {_name(notebook)}"]
    if stale:
        notes[0] += f", {len(stale)} stale"
    if reached < len(cells):
        lines.append(f"[… {len(cells) - reached:,} more cells; read_cells(start={reached}) goes on …]")
    details: dict[str, Any] = {
        "path": notebook.path,
        "total": len(cells),
        "cells": [record(cell, stale) for cell in cells[start:reached]],
    }
    return ToolResult.of("\n".join([*notes, *lines]), **details)


@tool(always=True, repair=repair)
async def edit_cells(
    ctx: ToolContext,
    ops: list[Op],
    path: str | None = None,
) -> ToolResult:
    """Change cells, all ops or none: edit{cell, blocks} replace{cell, source} insert{after|before, type, source; else
    appended} delete{cells} move{cells, after|before} split{cell, at: first lines of new cells} merge{cells}
    set_type{cell, type} clear_outputs{cells} set_tags{cell, tags}. replace, delete, split, merge, set_type need
    expected_hash."""
    wanted = operations(ops)
    notebook = await ctx.notebook(path)
    before = await notebook.cells()
    effect = await notebook.edit(wanted)
    _protect(ctx, notebook, before, effect, path)
    await ctx.allow(effect)
    outcome = await effect.commit()
    return await _edited(ctx, notebook, before, outcome, path)


def _protect(
    ctx: ToolContext, notebook: Notebook, before: Sequence[Cell], effect: Effect[EditOutcome], path: str | None
) -> None:
    """Mark what needs approval in every mode: a protected notebook, and checks of the person's that are changed."""
    reasons = []
    if notebook.path is not None and (reason := ctx.workspace.protection(Path(notebook.path))):
        reasons.append(reason)
    sources, types = effect.details.get("sources", {}), effect.details.get("types", {})
    gone = effect.details.get("deleted", ())
    made = ctx.cell_log(path).created if notebook.path is not None else set()
    touched = [cell for cell in before if cell.id in sources or cell.id in gone]
    after = [Cell(id, 0, types.get(id, "code"), source) for id, source in sources.items()]
    for cell, check in lost_assertions([cell for cell in touched if cell.id not in made], after).items():
        reasons.append(f"cell {cell} loses a check ({check[:80]}), and {TAMPERING}")
    if reasons:
        effect.details["protected"] = "; ".join(reasons[:5])


async def _edited(
    ctx: ToolContext, notebook: Notebook, before: Sequence[Cell], outcome: EditOutcome, path: str | None
) -> ToolResult:
    language = language_of(await notebook.metadata())
    old = {cell.id: cell for cell in before}
    changed = [cell for cell in outcome.cells if cell.id in outcome.changed]
    rerun = {cell.id for cell in changed if cell.id in old and old[cell.id].source != cell.source}
    stale = await stale_cells(ctx, notebook, outcome.cells, path, rerun)
    lines = [_edit_status(outcome, notebook)]
    lines += [header(cell, stale) + (" NEW" if cell.id in outcome.created else "") for cell in changed]
    syntax = await check_cells(ctx, notebook, changed, old, language)
    lines += [f"syntax error in cell {cell}: {problem}" for cell, problem in syntax.problems.items()]
    if syntax.checked and not syntax.problems and any(cell.type == "code" for cell in changed):
        lines.append("syntax ok")
    lines += [f"note: {warning}" for warning in outcome.warnings]
    others = [cell for cell in stale if cell not in outcome.changed]
    if others:
        lines.append(f"stale, to be run again: {', '.join(others[:20])}{', …' if len(others) > 20 else ''}")
    if outcome.diff:
        lines.append(clip(outcome.diff.rstrip("\n"), DIFF_LIMIT))
    return ToolResult.of(
        "\n".join(lines),
        path=notebook.path,
        cells=[record(cell, stale, source=True) for cell in changed],
        created=list(outcome.created),
        deleted=list(outcome.deleted),
        warnings=list(outcome.warnings),
        syntax=syntax.problems,
        diff=outcome.diff,
    )


def _edit_status(outcome: EditOutcome, notebook: Notebook) -> str:
    created, deleted = len(outcome.created), len(outcome.deleted)
    parts = [
        f"{_cells(count)} {verb}"
        for count, verb in ((len(outcome.changed) - created, "changed"), (created, "new"), (deleted, "deleted"))
        if count
    ]
    gone = f" (deleted: {', '.join(outcome.deleted)})" if outcome.deleted else ""
    return f"ok {', '.join(parts) or 'nothing changed'} in {_name(notebook)}{gone}"


@tool()
async def create_notebook(
    ctx: ToolContext,
    path: str,
    cells: Annotated[list[dict[str, Any]] | None, "[{type, source}]"] = None,
    kernel: Annotated[str, "kernelspec name"] = "python3",
) -> ToolResult:
    """Create a notebook file (.ipynb)."""
    from jupyter_agent.notebook.file import create_notebook as create_effect
    from jupyter_agent.notebook.servers import check_not_open

    if not path.endswith(".ipynb"):
        raise BadArguments(f"{path!r} must end in .ipynb.")
    target = ctx.workspace.resolve(path)
    made = _new_cells(cells or [])
    effect = create_effect(target, made, kernel_metadata(kernel), guard=check_not_open, root=ctx.workspace.root)
    if (reason := ctx.workspace.protection(target)) is not None:
        effect.details["protected"] = reason
    await ctx.allow(effect)
    await effect.commit()
    lines = [f"ok created {path} with {_cells(len(made))}", *(header(cell) for cell in made)]
    return ToolResult.of("\n".join(lines), path=str(target), cells=[record(cell, source=True) for cell in made])


@tool()
async def repair_notebook(ctx: ToolContext, path: str) -> ToolResult:
    """Give cells with duplicate, missing or invalid ids new ids; nothing else changes."""
    from jupyter_agent.notebook.repair import repair_ids
    from jupyter_agent.notebook.servers import check_not_open

    effect = repair_ids(ctx.workspace.resolve(path), guard=check_not_open, root=ctx.workspace.root)
    await ctx.allow(effect)
    fresh = await effect.commit()
    lines = [f"ok {_cells(len(fresh))} got new ids", *(f"#{index} id={made}" for index, made in fresh.items())]
    return ToolResult.of("\n".join(lines), path=effect.target, ids={str(index): made for index, made in fresh.items()})


def _new_cells(given: Sequence[Mapping[str, Any]]) -> list[Cell]:
    made: list[Cell] = []
    taken: set[str] = set()
    for index, item in enumerate(given):
        cell_type = item.get("type", item.get("cell_type", "code"))
        source = item.get("source", item.get("content", ""))
        if isinstance(source, list):
            source = "".join(map(str, source))
        if cell_type not in CELL_TYPES or not isinstance(source, str):
            raise BadArguments(f"cells[{index}] must be {{type: code|markdown|raw, source: text}}.")
        cell_id = new_id(taken)
        taken.add(cell_id)
        made.append(Cell(cell_id, index, cell_type, normal_source(source)))
    return made


def kernel_metadata(kernel: str) -> Json:
    """Notebook metadata that names an installed kernel. Raises BadArguments naming the installed ones."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    try:
        spec = manager.get_kernel_spec(kernel)
    except NoSuchKernel:
        names = ", ".join(sorted(manager.find_kernel_specs())) or "none"
        raise BadArguments(f"There is no kernel {kernel!r}. Installed are: {names}.") from None
    return {
        "kernelspec": {"display_name": spec.display_name, "language": spec.language, "name": kernel},
        "language_info": {"name": spec.language},
    }


async def stale_cells(
    ctx: ToolContext,
    notebook: Notebook,
    cells: Sequence[Cell],
    path: str | None = None,
    changed: set[str] | None = None,
) -> dict[str, str]:
    """Cells whose outputs no longer are what the notebook gives, with the reason, from data flow and from what this
    conversation edited and ran."""
    from jupyter_agent.notebook.flow import analyse
    from jupyter_agent.notebook.flow_state import stale

    unrun = ctx.cell_log(path).unrun() if notebook.path is not None else set()
    graph = analyse(cells, language=language_of(await notebook.metadata()))
    return stale(graph, unrun | (changed or set()))


def language_of(metadata: Mapping[str, Any]) -> str:
    """The language of a notebook's code cells, by its metadata; Python where it does not say."""
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(part)
        if isinstance(section, Mapping) and isinstance(section.get(key), str):
            return str(section[key])
    return "python"


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _name(notebook: Notebook) -> str:
    return (notebook.path or notebook.backend).replace("\\", "/").rsplit("/", 1)[-1]
