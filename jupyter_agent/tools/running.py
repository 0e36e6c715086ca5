"""Tools that run code, page through its outputs, look at variables and control the kernel."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments, KernelError, NotebookRefused
from jupyter_agent.kernel.protocol import Snapshot, Variable
from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.notebook.flow_state import rerun_plan
from jupyter_agent.notebook.outputs import output_blocks
from jupyter_agent.notebook.render import join_blocks
from jupyter_agent.notebook.transaction import unknown_cell
from jupyter_agent.text import clip
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult, tool
from jupyter_agent.tools.cell_runs import OnTimeout, check_expected, check_timeout, follow, run_effect, select
from jupyter_agent.tools.cells import language_of, stale_cells
from jupyter_agent.tools.controls import CONTROLS, Action
from jupyter_agent.tools.run_report import code_result, runs_result

PAGE = RESULT_LIMIT
MOST_VARIABLES = 150
COPY_ENDS = 15.0
"""Seconds beyond its timeout in which a scratch copy is certainly ended by the kernel that made it."""


@tool(always=True)
async def run_cells(
    ctx: ToolContext,
    cells: list[str] | Literal["all", "stale"] | None = None,
    path: str | None = None,
    from_cell: str | None = None,
    timeout: float = 300,
    on_timeout: OnTimeout = "keep",
    stop_on_error: bool = True,
    expected_hashes: Annotated[dict[str, Any] | None, "{id: hash last seen}"] = None,
) -> ToolResult:
    """Run code cells in order; outputs land in the notebook. At the timeout (seconds in all) a cell runs on (keep:
    see control_kernel wait) or is interrupted."""
    check_timeout(timeout)
    notebook = await ctx.notebook(path)
    present = await notebook.cells()
    wanted, skipped = await _wanted(ctx, notebook, present, cells, from_cell, path)
    check_expected(present, expected_hashes or {})
    chosen = select(present, wanted, from_cell)
    if not chosen:
        return ToolResult.of(f"ok nothing to run{skipped}", path=notebook.path, cells=[])
    kernel = await ctx.kernel(notebook)
    effect = await run_effect(
        ctx, notebook, kernel, chosen, timeout=timeout, on_timeout=on_timeout, stop_on_error=stop_on_error
    )
    await ctx.allow(effect)
    outcome = await effect.commit()
    present = await notebook.cells()
    rerun = {run.cell.id for run in outcome.runs}
    stale = await stale_cells(ctx, notebook, present, path)
    return runs_result(ctx, notebook, outcome, present, {cell: why for cell, why in stale.items() if cell not in rerun})


async def _wanted(
    ctx: ToolContext,
    notebook: Notebook,
    present: tuple[Cell, ...],
    cells: list[str] | str | None,
    from_cell: str | None,
    path: str | None,
) -> tuple[list[str] | None, str]:
    """Ids to run (None: all), and a remark on those left out."""
    if isinstance(cells, list):
        named = [name for name in cells if name not in ("all", "stale")]
        if named or len(cells) != 1:
            return named, ""
        cells = cells[0]
    if cells is None and from_cell is None:
        raise BadArguments('run_cells needs cells: a list of ids, "all" or "stale".')
    if cells != "stale":
        return None, ""
    stale = await stale_cells(ctx, notebook, present, path)
    plan = rerun_plan(analyse(present, language=language_of(await notebook.metadata())), stale)
    blocked = ", ".join(f"{cell} (tagged {tag})" for cell, tag in plan.blocked.items())
    wanted = [cell for cell in plan.cells if cell not in plan.blocked]
    return wanted, f"; not to be rerun: {blocked}" if blocked else ""


@tool(always=True)
async def run_code(ctx: ToolContext, code: str, scratch: bool = False, timeout: float = 300) -> ToolResult:
    """Run code in the notebook's kernel without a cell. scratch: in a throw-away copy of the kernel."""
    if not code.strip():
        raise BadArguments("run_code needs code.")
    check_timeout(timeout)
    notebook = await _notebook_or_none(ctx)
    kernel = await ctx.kernel(notebook)
    state = await kernel.state()
    where = "a throw-away copy of the kernel" if scratch else "the kernel"
    title = f"Start a {state.name} kernel and run code" if state.status == "none" else f"Run code in {where}"

    async def apply() -> tuple[Snapshot, bool]:
        # With store_history=False IPython would put a result into the person's Out[n] of the cell that ran last.
        execution = await (kernel.scratch(code, timeout=timeout) if scratch else kernel.run(code))
        ctx.executions[_key(notebook)] = execution
        snapshot = await execution.wait(timeout + COPY_ENDS if scratch else timeout)
        if not execution.done:
            follow(ctx, execution, "The code", None)
        return snapshot, not execution.done

    effect: Effect[tuple[Snapshot, bool]] = Effect(
        "execute",
        _key(notebook) or "kernel",
        title,
        code,
        apply,
        payload=f"scratch\n{code}" if scratch else code,
        details={"where": "kernel", "language": kernel.language},
    )
    await ctx.allow(effect)
    snapshot, running = await effect.commit()
    if scratch and snapshot.status == "aborted":
        raise KernelError(snapshot.advice, kind="unsupported")
    present = await notebook.cells() if notebook is not None else ()
    return code_result(ctx, code, snapshot, running, present)


@tool(always=True)
async def read_output(
    ctx: ToolContext,
    handle: str | None = None,
    cell: str | None = None,
    index: int | None = None,
    path: str | None = None,
    offset: int = 0,
    limit: int = PAGE,
) -> ToolResult:
    """Page through a cut result by its handle, or a cell's outputs (index: one of them). offset, limit: characters."""
    offset, limit = max(offset, 0), min(max(limit, 1), 4 * PAGE)
    if handle is not None:
        return _page(ctx.kept(handle).read_bytes().decode("utf-8", "replace"), offset, limit, [], handle=handle)
    if cell is None:
        raise BadArguments("read_output needs a handle or a cell.")
    notebook = await ctx.notebook(path)
    present = await notebook.cells()
    found = next((each for each in present if each.id == cell), None)
    if found is None:
        raise unknown_cell(cell, present)
    outputs = list(found.outputs)
    if index is not None:
        if not -len(outputs) <= index < len(outputs):
            raise NotebookRefused("op", f"cell {cell} has {len(outputs)} outputs, counted from 0; there is no {index}.")
        outputs = [outputs[index]]
    blocks = output_blocks(outputs)
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    images = [block for block in blocks if block["type"] != "text"] if offset == 0 else []
    return _page(text, offset, limit, images, cell=cell)


def _page(text: str, offset: int, limit: int, images: list[dict[str, Any]], **details: Any) -> ToolResult:
    offset = min(offset, len(text))
    part = text[offset : offset + limit]
    end = offset + len(part)
    more = f"; goes on at offset={end}" if end < len(text) else ""
    first = f"ok characters {offset:,}-{end:,} of {len(text):,}{more}"
    blocks = join_blocks([{"type": "text", "text": first}, {"type": "text", "text": part}, *images])
    return ToolResult(blocks, {**details, "offset": offset, "total": len(text), "next": end if more else None})


@tool(always=True)
async def inspect_variables(ctx: ToolContext, names: list[str] | None = None, detail: bool = False) -> ToolResult:
    """The kernel's variables without side effects, also while a cell runs. detail: columns, dtypes, head."""
    notebook = await _notebook_or_none(ctx)
    kernel = await ctx.kernel(notebook)
    found = await kernel.variables(names, detail=detail)
    missing = [variable.name for variable in found if variable.type == "undefined"]
    count = len(found) - len(missing)
    lines = [
        f"ok {count} variable{'' if count == 1 else 's'}" + (f"; not defined: {', '.join(missing)}" if missing else "")
    ]
    shown = [variable for variable in found if variable.type != "undefined"]
    for variable in shown[:MOST_VARIABLES]:
        lines += _described(variable)
    if len(shown) > MOST_VARIABLES:
        names_left = ", ".join(variable.name for variable in shown[MOST_VARIABLES:])
        lines.append(f"[… further: {names_left} …]")
    text = "\n".join(lines)
    handle = ctx.keep(text, "variables") if len(text.encode("utf-8", "surrogatepass")) > RESULT_LIMIT else None
    records = [
        {"name": v.name, "type": v.type, "shape": v.shape, "size": v.size, "preview": v.preview, "detail": v.detail}
        for v in found
    ]
    return ToolResult.of(clip(text, RESULT_LIMIT, handle=handle), variables=records, handle=handle)


def _described(variable: Variable) -> list[str]:
    size = f" {_bytes(variable.size)}" if variable.size is not None else ""
    shape = f" {variable.shape}" if variable.shape else ""
    lines = [f"{variable.name}: {variable.type}{shape}{size} = {variable.preview}"]
    detail = variable.detail
    if "head" in detail:
        pairs = zip(detail["columns"], detail["dtypes"], strict=True)
        lines.append("  columns: " + ", ".join(f"{name} {kind}" for name, kind in pairs))
        if detail.get("missing"):
            lines.append("  missing: " + ", ".join(f"{name} {count}" for name, count in detail["missing"].items()))
        lines += ["  " + " | ".join(map(str, row)) for row in detail["head"]]
    elif "preview" in detail:
        lines.append(f"  {detail['preview']}")
    elif "attributes" in detail:
        lines += [f"  .{name} = {value}" for name, value in detail["attributes"].items()]
    return lines


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"


@tool(always=True)
async def control_kernel(ctx: ToolContext, action: Action, timeout: float = 300) -> ToolResult:
    """status, wait (for what runs, up to timeout seconds), interrupt, restart (loses all variables), start."""
    notebook = await _notebook_or_none(ctx)
    kernel = await ctx.kernel(notebook)
    return await CONTROLS[action](ctx, kernel, notebook, check_timeout(timeout))


async def _notebook_or_none(ctx: ToolContext) -> Notebook | None:
    """The conversation's notebook; a conversation may have none and still a kernel."""
    try:
        return await ctx.notebook()
    except NotebookRefused as refused:
        if refused.kind == "missing":
            return None
        raise


def _key(notebook: Notebook | None) -> str:
    return (notebook.path or "") if notebook is not None else ""


__all__ = ["control_kernel", "inspect_variables", "read_output", "run_cells", "run_code"]
