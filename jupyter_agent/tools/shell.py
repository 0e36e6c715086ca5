"""Tools that run shell commands: in the foreground by a deadline, or in the background under an id."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments, WorkspaceRefused
from jupyter_agent.permission.command import parse_command
from jupyter_agent.permission.destroyers import destroyer
from jupyter_agent.permission.read_only import is_read_only
from jupyter_agent.shell import BackgroundStatus, ShellResult
from jupyter_agent.text import RESULT_LIMIT, as_seen, clip
from jupyter_agent.tool import ToolContext, ToolResult, tool

LONGEST = 3_600
"""Seconds that a foreground command may be given."""
PROGRESS_SECONDS = 2.0
_GLOBBED = 1_000


@tool(always=True)
async def run_bash(ctx: ToolContext, command: str, timeout: float = 60, background: bool = False) -> ToolResult:
    """Run a bash command without stdin. Folder and exported variables carry over; at the timeout (s) all it started is
    ended. background: returns an id for check_command."""
    if not command.strip():
        raise BadArguments("run_bash needs a command.")
    if not 0 < timeout <= LONGEST:
        raise BadArguments(f"timeout is in seconds, up to {LONGEST}. For longer, background=true.")
    shell = ctx.shell
    details = _analysed(ctx, command)
    note = "in the background" if background else f"for at most {timeout:g} s"
    preview = f"{command}\n\n({note}, in {shell.cwd})"

    async def start() -> str:
        return await shell.start_background(command)

    async def run() -> ShellResult:
        return await shell.run(command, timeout, on_output=_progress(ctx))

    title = f"Run: {command.strip().splitlines()[0][:100]}"
    if background:
        started: Effect[str] = Effect("execute", command, title, preview, start, details=details)
        await ctx.allow(started)
        id = await started.commit()
        text = f"ok running in the background as {id}; check_command(id={id!r}) shows its output, stop_command ends it"
        return ToolResult.of(text, id=id)
    effect: Effect[ShellResult] = Effect("execute", command, title, preview, run, details=details)
    await ctx.allow(effect)
    return _result(ctx, await effect.commit(), command, timeout)


def _analysed(ctx: ToolContext, command: str) -> dict[str, Any]:
    """What rules and modes decide by."""
    parsed = parse_command(command)
    inside = _inside(ctx)
    private = (ctx.workspace.root / ".agentignore").exists()
    changed = bool(ctx.shell.to_json()["environ"])
    details: dict[str, Any] = {
        "where": "shell",
        "cwd": ctx.shell.cwd,
        # After `export PATH=…`, or of a function, a known name may be another program.
        "read_only": not changed and is_read_only(parsed, inside=inside, trusted=ctx.trusted, private=private),
    }
    if parsed.plain:
        details["argv"] = [[word.text for word in one] for one in parsed.commands]
    else:
        details["not_plain"] = parsed.reason
    what = destroyer(command)
    if what is not None:
        details["destroyer"] = what
    return details


def _inside(ctx: ToolContext) -> Callable[[str], bool]:
    """Whether a path argument, or everything that a pattern stands for, is inside the workspace and not ignored."""

    def inside(path: str) -> bool:
        here = os.path.join(ctx.shell.cwd, path)
        found = [here]
        if glob.has_magic(path):
            found = []
            for match in glob.iglob(here):
                found.append(match)
                if len(found) > _GLOBBED:
                    return False
        try:
            for each in found:
                ctx.workspace.resolve(each)
        except WorkspaceRefused:
            return False
        return True

    return inside


def _result(ctx: ToolContext, result: ShellResult, command: str, timeout: float) -> ToolResult:
    seconds = f"{result.seconds:.1f} s"
    if result.timed_out:
        status = f"error: timed out after {timeout:g} s; it and all it started were ended"
    elif result.exit_code is None:
        status = f"error: it was ended from outside after {seconds}"
    else:
        status = f"{'ok' if result.exit_code == 0 else 'error:'} exit code {result.exit_code} after {seconds}"
    lines = [f"{status}, in {_folder(ctx, result.cwd)}"]
    if result.left:
        lines.append(f"note: ended what it left running ({'; '.join(result.left)}); use background=true to keep it")
    shown = as_seen(result.output)
    head = "\n".join(lines)
    room = RESULT_LIMIT - len(head.encode("utf-8", "replace")) - 1
    handle = None
    if result.truncated or len(shown.encode("utf-8", "replace")) > room:
        handle = ctx.keep_file(result.spill, f"bash-{command[:24]}")
    result.spill.unlink(missing_ok=True)
    # A cut that the shell made has a notice without a handle; add where all of it is.
    more = f"; read_output(handle={handle!r}) shows all {result.size:,} bytes" if result.truncated else ""
    text = clip(shown.rstrip("\n"), room - len(more), handle=handle) if shown.strip() else "(no output)"
    return ToolResult.of(
        f"{head}{more}\n{text}",
        is_error=result.exit_code != 0,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        seconds=result.seconds,
        cwd=result.cwd,
        handle=handle,
        size=result.size,
        left=list(result.left),
    )


def _folder(ctx: ToolContext, cwd: str) -> str:
    name = ctx.workspace.relative(Path(cwd))
    return "the root" if name == "." else name


def _progress(ctx: ToolContext) -> Callable[[str], None]:
    """Reports the last line of the output now and then: each report is an event in the journal."""
    last = time.monotonic()

    def report(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            ctx.progress(as_seen(text).rstrip().rsplit("\n", 1)[-1][-200:])

    return report


@tool()
async def check_command(ctx: ToolContext, id: str, offset: int | None = None) -> ToolResult:
    """State of a background command and its output from byte offset, or since the last check."""
    return _background(ctx, await ctx.shell.check(id, offset))


@tool()
async def stop_command(ctx: ToolContext, id: str) -> ToolResult:
    """End a background command and everything it started."""
    return _background(ctx, await ctx.shell.stop(id))


def _background(ctx: ToolContext, status: BackgroundStatus) -> ToolResult:
    if status.running:
        state = f"running for {status.seconds:.0f} s"
    elif status.exit_code is None:
        state = "ended without an exit code"
    else:
        state = (
            f"{'ok' if status.exit_code == 0 else 'error:'} exit code {status.exit_code} after {status.seconds:.1f} s"
        )
    note = f"; {status.note}" if status.note else ""
    lines = [f"{state}, output bytes {status.offset:,}-{status.next_offset:,} of {status.size:,}{note}"]
    shown = as_seen(status.output)
    handle = None
    if len(shown.encode("utf-8", "replace")) > RESULT_LIMIT - 400:
        handle = ctx.keep_file(status.spill, f"bash-{status.id}")
    lines.append(clip(shown.rstrip("\n"), RESULT_LIMIT - 400, handle=handle) if shown.strip() else "(no new output)")
    return ToolResult.of(
        "\n".join(lines),
        is_error=status.exit_code not in (0, None),
        id=status.id,
        running=status.running,
        exit_code=status.exit_code,
        offset=status.next_offset,
        size=status.size,
        handle=handle,
    )


__all__ = ["check_command", "run_bash", "stop_command"]
