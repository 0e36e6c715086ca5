"""The actions of control_kernel: status, wait, interrupt, restart, start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from jupyter_agent.effect import Effect
from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.protocol import Busy, Kernel, KernelState
from jupyter_agent.notebook.document import Notebook
from jupyter_agent.notebook.outputs import brief_outputs, output_blocks
from jupyter_agent.notebook.render import join_blocks
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult
from jupyter_agent.tools.cell_runs import duration
from jupyter_agent.tools.handles import Handles

Action = Literal["status", "wait", "interrupt", "restart", "start"]
Control = Callable[[ToolContext, Kernel, Notebook | None, float], Awaitable[ToolResult]]

LOOK_AGAIN = 0.1
"""Seconds between looks at a kernel that somebody else keeps busy."""


async def busy_text(busy: Busy, notebook: Notebook | None) -> str:
    """What runs, by the cell it is the source of where that can be told."""
    if busy.code and notebook is not None and not busy.what.startswith("cell "):
        cells = [cell.id for cell in await notebook.cells() if cell.type == "code" and cell.source == busy.code]
        if len(cells) == 1:
            return f"running cell {cells[0]} for {duration(busy.seconds)}"
    return busy.sentence()


async def status(ctx: ToolContext, kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    state = await kernel.state()
    name = _named(state)
    if state.status == "none":
        return ToolResult.of(f"ok none: no kernel runs yet; {name} starts with the first run.", kernel=_record(state))
    doing = f": {await busy_text(state.busy, notebook)}" if state.busy else ""
    owner = "started by this program" if state.ours else "started by another program"
    times = "once" if state.restarts == 1 else f"{state.restarts} times"
    restarts = f", restarted {times}" if state.restarts else ""
    return ToolResult.of(f"ok {state.status}{doing}; {name}, {owner}{restarts}.", kernel=_record(state))


def _named(state: KernelState) -> str:
    """`python3 (python)`; a connection file need not say the kernel's name."""
    return f"{state.name} ({state.language})" if state.name else f"a {state.language} kernel"


def _record(state: KernelState) -> dict[str, Any]:
    busy = state.busy
    return {
        "status": state.status,
        "name": state.name,
        "language": state.language,
        "ours": state.ours,
        "restarts": state.restarts,
        "busy": None if busy is None else {"seconds": busy.seconds, "what": busy.what, "ours": busy.ours},
    }


async def wait(ctx: ToolContext, kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    """Wait for our own execution, else for whatever runs; the outputs so far in any case."""
    execution = ctx.executions.get(_key(notebook))
    if execution is None or execution.done:
        return await _wait_for_others(kernel, notebook, timeout)
    snapshot = await execution.wait(timeout)
    seconds = duration(snapshot.seconds)
    if not execution.done:
        first = f"running for {seconds}; wait again, or interrupt it"
    elif snapshot.status == "ok":
        first = f"ok ended after {seconds}"
    else:
        name, value, _ = snapshot.error or (snapshot.status, "", [])
        first = f"error: {name or 'error'}: {value} after {seconds}"
    head = "\n".join([first, *([snapshot.advice] if snapshot.advice else [])])
    handles = Handles(ctx)
    handle = handles.keep_file(snapshot.spill, "wait")
    limit = RESULT_LIMIT - len(head) - 100
    shown = output_blocks(snapshot.outputs, limit=limit, handle=handle, keep=handles.keeper("wait"))
    blocks = [{"type": "text", "text": head}, *shown]
    details = {
        "status": snapshot.status,
        "seconds": snapshot.seconds,
        "outputs": brief_outputs(snapshot.outputs),
        "kernel": _record(await kernel.state()),
        "handle": handles.last,
    }
    return ToolResult(join_blocks(blocks), details, is_error=first.startswith("error"))


async def _wait_for_others(kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    began, first = time.monotonic(), await kernel.state()
    state = await _idle(kernel, timeout)
    if state.busy is not None:
        text = f"running: the kernel is still {await busy_text(state.busy, notebook)}"
        return ToolResult.of(text, status=state.status, kernel=_record(state))
    text = _nothing(state)
    if first.busy is not None:
        text = f"ok {state.status}: what ran has ended, after {duration(time.monotonic() - began)} of waiting"
    return ToolResult.of(text, status=state.status, kernel=_record(state))


def _nothing(state: KernelState) -> str:
    if state.status == "none":
        return "ok none: no kernel runs yet"
    return f"ok {state.status}: nothing runs in the kernel"


async def _idle(kernel: Kernel, timeout: float) -> KernelState:
    """The state once nothing runs, or after `timeout` seconds. Polled: a kernel tells its state, not changes."""
    deadline = time.monotonic() + timeout
    while True:
        state = await kernel.state()
        if state.status not in ("busy", "starting") or time.monotonic() >= deadline:
            return state
        await asyncio.sleep(LOOK_AGAIN)


async def interrupt(ctx: ToolContext, kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    state = await kernel.state()
    execution = ctx.executions.get(_key(notebook))
    if state.busy is None and (execution is None or execution.done):
        return ToolResult.of(_nothing(state), kernel=_record(state))
    what = await busy_text(state.busy, notebook) if state.busy else "running what was sent last"
    details: dict[str, Any] = {}
    if state.busy is not None and not state.busy.ours:
        details["protected"] = "what runs there was not started by this conversation"

    async def apply() -> None:
        if execution is not None and not execution.done:
            await execution.interrupt()
        else:
            await kernel.interrupt()

    effect: Effect[None] = Effect(
        "kernel", _key(notebook) or "kernel", f"Interrupt the kernel ({what})", what, apply, details=details
    )
    await ctx.allow(effect)
    await effect.commit()
    if execution is not None and not execution.done:
        return ToolResult.of(f"running on: {execution.snapshot.advice}", is_error=True, kernel=_record(state))
    state = await _idle(kernel, min(timeout, 5.0))
    if state.busy is not None:
        text = f"running on: the kernel is still {await busy_text(state.busy, notebook)}. Ask before restarting it."
        return ToolResult.of(text, is_error=True, kernel=_record(state))
    return ToolResult.of(f"ok interrupted; the kernel is {state.status}", kernel=_record(state))


async def restart(ctx: ToolContext, kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    state = await kernel.state()
    names = await _names(kernel, state)
    details: dict[str, Any] = {}
    if names:
        details["loses_variables"] = names
    lost = f"These variables are lost: {', '.join(names[:60])}{', …' if len(names) > 60 else ''}" if names else ""
    busy = f"It is {await busy_text(state.busy, notebook)}; this ends. " if state.busy else ""
    effect: Effect[None] = Effect(
        "kernel",
        _key(notebook) or "kernel",
        f"Restart the {state.name} kernel" if state.name else "Restart the kernel",
        f"{busy}{lost}" or "The kernel holds no variables.",
        kernel.restart,
        details=details,
    )
    await ctx.allow(effect)
    await effect.commit()
    text = "ok restarted: all variables are gone, cells must be run again before their results are used"
    return ToolResult.of(text, kernel=_record(await kernel.state()), lost=names)


async def _names(kernel: Kernel, state: KernelState) -> list[str]:
    """What a restart would lose; `unknown` where the kernel cannot say."""
    if state.status in ("none", "dead"):
        return []
    try:
        return [variable.name for variable in await kernel.variables()]
    except KernelError:
        return ["unknown: the kernel cannot be asked now"]


async def start(ctx: ToolContext, kernel: Kernel, notebook: Notebook | None, timeout: float) -> ToolResult:
    state = await kernel.state()
    if state.status == "dead":
        return await restart(ctx, kernel, notebook, timeout)
    if state.status == "none":
        effect: Effect[Any] = Effect(
            "kernel", _key(notebook) or "kernel", f"Start a {state.name} kernel", f"kernel {state.name}", kernel.start
        )
        await ctx.allow(effect)
        await effect.commit()
    return await status(ctx, kernel, notebook, timeout)


def _key(notebook: Notebook | None) -> str:
    return (notebook.path or "") if notebook is not None else ""


CONTROLS: Mapping[Action, Control] = {
    "status": status,
    "wait": wait,
    "interrupt": interrupt,
    "restart": restart,
    "start": start,
}
