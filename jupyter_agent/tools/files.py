"""Tools that read, edit and write files. Notebooks have tools of their own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from jupyter_agent.edit import EditRefused, edit, parse_blocks
from jupyter_agent.edit.arguments import read_arguments
from jupyter_agent.edit.syntax import SyntaxProblem, check_syntax
from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments, WorkspaceRefused
from jupyter_agent.events import Json
from jupyter_agent.notebook.images import Image, fit_image
from jupyter_agent.text import clip
from jupyter_agent.tool import ToolContext, ToolResult, tool
from jupyter_agent.tools.columnar import COLUMNAR, summarise_columnar
from jupyter_agent.tools.file_text import View, decode, lines_of, view
from jupyter_agent.tools.rewrite import as_before, check_rewrite
from jupyter_agent.workspace import FileContent, Workspace, Written, describe
from jupyter_agent.workspace.data_files import (
    SQLITE_MAGIC,
    SUFFIXES,
    summarise_delimited,
    summarise_json_lines,
    summarise_sqlite,
)

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")
DIFF_LIMIT = 8_000
"""Bytes of the diff in a result; the whole is in `details.diff`."""


class Block(TypedDict):
    search: str
    replace: str


@tool(always=True)
async def read_file(
    ctx: ToolContext, path: str, start_line: int | None = None, end_line: int | None = None
) -> ToolResult:
    """A file's numbered lines (200 unless a range is given), an image, or a data file's schema and head."""
    workspace = ctx.workspace
    real = workspace.resolve(path)
    name = workspace.relative(real)
    await ctx.allow(_read_effect(real, name))
    _check_not_notebook(real, name, "read_cells")
    suffix = real.suffix.lower()
    if suffix in IMAGES:
        return await asyncio.to_thread(_image, workspace, real, name)
    if suffix in COLUMNAR:
        return await summarise_columnar(ctx, real, name)
    if suffix in SUFFIXES and start_line is None and end_line is None:
        return await asyncio.to_thread(_data_file, workspace, real, name)
    content = await asyncio.to_thread(workspace.read, real)
    text, _ = decode(content, name)
    shown = view(lines_of(text), name, start_line, end_line)
    _saw(workspace, content, shown)
    return _numbered(content, shown, name)


def _read_effect(real: Path, name: str) -> Effect[None]:
    """So that rules can speak of reading; nothing is committed."""

    async def apply() -> None:
        return None

    return Effect("read", str(real), f"Read {name}", name, apply)


def _check_not_notebook(real: Path, name: str, instead: str) -> None:
    if real.suffix.lower() == ".ipynb":
        raise WorkspaceRefused("notebook", f"{name} is a notebook. Use {instead}(path={name!r}).")


def _image(workspace: Workspace, real: Path, name: str) -> ToolResult:
    content = workspace.read(real, 50 << 20)
    image = fit_image(content.data, real.suffix.lstrip(".").upper())
    label = image.label if isinstance(image, Image) else image
    blocks: list[Json] = [{"type": "text", "text": f"ok {name}: {label}"}]
    if isinstance(image, Image):
        blocks.append(image.block())
    return ToolResult(blocks, {"path": name, "sha256": content.sha256, "size": len(content.data)})


def _data_file(workspace: Workspace, real: Path, name: str) -> ToolResult:
    kind = SUFFIXES[real.suffix.lower()]
    with workspace.open(real) as descriptor:
        size = os.fstat(descriptor).st_size
        with open(descriptor, "rb", closefd=False) as file:
            if kind == "SQLite":
                found = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
                summary = summarise_sqlite(str(real)) if found else "not a SQLite database; look at it with run_bash"
            elif kind == "JSON lines":
                summary = summarise_json_lines(file, size)
            else:
                summary = summarise_delimited(file, size, kind)
    more = "" if kind == "SQLite" else "; start_line shows its lines"
    head = f"ok {name}, {size:,} bytes{more}: "
    return ToolResult.of(clip(head + summary), path=name, size=size, format=kind)


def _saw(workspace: Workspace, content: FileContent, shown: View) -> None:
    if workspace.ledger is not None:
        for start, end in shown.seen or ((1, 0),):
            workspace.ledger.saw(str(content.path), content.sha256, shown.total, start, end)


def _numbered(content: FileContent, shown: View, name: str) -> ToolResult:
    if not shown.total:
        first = f"ok {name} is empty"
    else:
        first = f"ok {name} lines {shown.start}-{shown.end} of {shown.total:,}"
    if shown.end < shown.total:
        first += f"; start_line={shown.end + 1} shows more"
    if content.links > 1:
        first += f"; has {content.links} hard links"
    notes = [f"note: {note}" for note in shown.notes]
    text = "\n".join([first, *notes, *([shown.text] if shown.text else [])])
    details: Json = {
        "path": name,
        "sha256": content.sha256,
        "start": shown.start,
        "end": shown.end,
        "total": shown.total,
    }
    return ToolResult([{"type": "text", "text": text}], details)


# ------------------------------------------------------------------------------------------------------- editing


def _canonical(arguments: Json) -> Json:
    """An edit call in our own argument names, whoever's the model learnt."""
    if arguments.get("retry_of"):
        return arguments
    read = read_arguments(arguments)
    blocks = [{"search": search, "replace": replace} for search, replace in read.blocks]
    fitted: Json = {"path": read.path, "blocks": blocks, "start_line": read.start_line, "end_line": read.end_line}
    fitted |= {"expected_count": read.expected_count, "replace_all": read.replace_all}
    return {key: value for key, value in fitted.items() if value is not None}


@tool(always=True, repair=_canonical)
async def edit_file(
    ctx: ToolContext,
    path: str,
    blocks: list[Block] | None = None,
    text: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    expected_count: int = 1,
    replace_all: bool = False,
    retry_of: str | None = None,
) -> ToolResult:
    """Replace blocks of whole lines, all or none; or text with SEARCH/REPLACE markers. Each SEARCH must be unique
    (within start_line-end_line). retry_of: a refused edit's id."""
    pairs = _pairs(ctx, blocks, text, retry_of)
    workspace = ctx.workspace
    async with workspace.lock(path) as real:
        name = workspace.relative(real)
        _check_not_notebook(real, name, "edit_cells")
        content = await asyncio.to_thread(workspace.read, real)
        decode(content, name)
        _check_read(workspace, content, name, start_line)
        try:
            result = edit(
                content.data,
                pairs,
                filename=name,
                start_line=start_line,
                end_line=end_line,
                expected_count=expected_count,
                replace_all=replace_all,
            )
        except EditRefused as error:
            raise _with_retry(ctx, error, pairs) from None
        effect = workspace.write(real, result.data, expected=content.sha256)
        written = await _commit(ctx, effect, content.data, result.data)
        problems = check_syntax(content.data, result.data, name)
    places = ", ".join(_place(hunk.new_start_line, hunk.new_end_line) for hunk in result.hunks[:10])
    more = ", …" if len(result.hunks) > 10 else ""
    one = len(result.hunks) == 1 and "-" not in places
    status = f"ok edited {name} at line{'' if one else 's'} {places}{more}"
    details = {"hunks": len(result.hunks), "warnings": list(result.warnings)}
    return _written(name, written, status, result.warnings, problems, details)


def _place(start: int, end: int) -> str:
    return f"{start}-{end}" if end > start else str(start)


def _pairs(
    ctx: ToolContext, blocks: Sequence[Block] | None, text: str | None, retry_of: str | None
) -> list[tuple[str, str]]:
    if retry_of is not None:
        try:
            return [(search, replace) for search, replace in json.loads(ctx.kept(retry_of).read_text(encoding="utf-8"))]
        except (ValueError, TypeError):
            raise BadArguments(f"{retry_of!r} is no refused edit. Send the blocks again.") from None
    if text is not None:
        return parse_blocks(text)
    if not blocks:
        raise BadArguments("edit_file needs blocks, or text with SEARCH/REPLACE markers.")
    return [(block["search"], block["replace"]) for block in blocks]


def _with_retry(ctx: ToolContext, error: EditRefused, pairs: Sequence[tuple[str, str]]) -> EditRefused:
    """The refusal with a handle by which the same blocks can be tried again, on the file as it is then."""
    handle = ctx.keep(json.dumps(pairs), "refused-edit")
    hint = f" Same blocks again: edit_file(path, retry_of={handle!r}), also with a line range."
    return EditRefused(error.kind, error.message + hint, error.places, error.closest)


def _check_read(workspace: Workspace, content: FileContent, name: str, start_line: int | None = None) -> None:
    """Refuse what was not read, or changed since, and show it: then it counts as read."""
    if workspace.ledger is None:
        return
    state = workspace.ledger.state(str(content.path), content.sha256)
    if state == "current":
        return
    shown = view(lines_of(decode(content, name)[0]), name, start_line, None)
    _saw(workspace, content, shown)
    why = "was not read before" if state == "unread" else "changed since it was read"
    message = f"{name} {why}, so it was not changed. This is what it holds now; repeat the call if it still fits."
    raise WorkspaceRefused(
        "unread" if state == "unread" else "changed",
        message,
        content=_numbered(content, shown, name).content[0]["text"],
    )


async def _commit(ctx: ToolContext, effect: Effect[Written], before: bytes, after: bytes) -> Written:
    await ctx.allow(effect)
    written = await effect.commit()
    ledger = ctx.workspace.ledger
    if ledger is not None:
        texts = [data.decode("utf-8", "surrogateescape") for data in (before, after)]
        ledger.wrote(str(written.path), texts[0], texts[1], effect.before, written.sha256)
    return written


def _written(
    name: str,
    written: Written,
    status: str,
    warnings: Sequence[str],
    problems: Sequence[SyntaxProblem],
    details: Mapping[str, Any],
) -> ToolResult:
    lines = [status, *(f"note: {warning}" for warning in warnings)]
    lines += [f"new syntax error, {problem}" for problem in problems]
    if written.diff:
        lines.append(clip(written.diff.rstrip("\n"), DIFF_LIMIT))
    text = "\n".join(lines).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    syntax = [{"line": problem.line, "message": problem.message} for problem in problems]
    return ToolResult.of(
        text, **details, path=name, sha256=written.sha256, size=written.size, diff=written.diff, syntax=syntax
    )


@tool(always=True)
async def write_file(
    ctx: ToolContext, path: str, content: str, percentage_to_change: float | None = None
) -> ToolResult:
    """Create a file, or rewrite one that was read whole: then percentage_to_change is required (up to 50: use
    edit_file)."""
    workspace = ctx.workspace
    async with workspace.lock(path) as real:
        name = workspace.relative(real)
        _check_not_notebook(real, name, "edit_cells or create_notebook")
        before = await asyncio.to_thread(_existing, workspace, real)
        if before is not None:
            _check_may_rewrite(workspace, before, name, percentage_to_change)
            check_rewrite(decode(before, name)[0], content, name, percentage_to_change or 0)
        else:
            check_rewrite("", content, name, 100)
        data = as_before(content, before.data if before is not None else None, name)
        effect = workspace.write(real, data, expected=before.sha256 if before is not None else "")
        old = before.data if before is not None else b""
        written = await _commit(ctx, effect, old, data)
        problems = check_syntax(old if before is not None else None, data, name)
    lines = len(lines_of(content))
    status = f"ok {'rewrote' if before is not None else 'created'} {name}, {lines:,} line{'' if lines == 1 else 's'}"
    details = {"created": before is None}
    if before is None:
        # What was just sent need not be sent back.
        result = _written(name, written, status, (), problems, details)
        shown = [status, *(f"new syntax error, {problem}" for problem in problems)]
        return ToolResult.of("\n".join(shown), **result.details)
    return _written(name, written, status, (), problems, details)


def _existing(workspace: Workspace, real: Path) -> FileContent | None:
    try:
        return workspace.read(real)
    except WorkspaceRefused as error:
        if error.kind == "missing":
            return None
        raise


def _check_may_rewrite(workspace: Workspace, before: FileContent, name: str, percentage: float | None) -> None:
    decode(before, name)
    if percentage is None:
        raise BadArguments(f"{name} exists: say percentage_to_change, or use edit_file to change a part of it.")
    if not 0 <= percentage <= 100:
        raise BadArguments("percentage_to_change is a number from 0 to 100.")
    if percentage <= 50:
        raise WorkspaceRefused("use_edit", f"{name} changes by {percentage:g} % only: use edit_file.")
    if workspace.ledger is None:
        return
    _check_read(workspace, before, name)
    unseen = workspace.ledger.unseen(str(before.path))
    if unseen:
        raise WorkspaceRefused(
            "unread",
            f"Lines {describe(unseen)} of {name} were never read, and a rewrite would replace them unseen. "
            "Read them first, or use edit_file.",
        )


__all__ = ["edit_file", "read_file", "write_file"]
