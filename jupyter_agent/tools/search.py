"""Tools that search: text and definitions in files and notebook cells, and files by name."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from jupyter_agent.edit.languages import language_of_file
from jupyter_agent.effect import Effect
from jupyter_agent.errors import BadArguments, NotebookRefused, WorkspaceRefused
from jupyter_agent.text import clip
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult, tool
from jupyter_agent.tools import ripgrep
from jupyter_agent.tools.notebook_lines import NotebookLines, notebook_lines, read_cells_of
from jupyter_agent.tools.symbols import DEFINITIONS, Symbol, symbols
from jupyter_agent.workspace import Workspace

MOST: Final = 500
"""Hits or files in one result."""
NOTEBOOKS: Final = 1_000
SYMBOL_SECONDS: Final = 8.0
_SOURCE_LIMIT: Final = 4 << 20


@dataclass(frozen=True)
class Where:
    """What a search looks at: paths for the engine, notebooks by path, and whether a path is wanted at all."""

    paths: tuple[str, ...]
    notebooks: tuple[str, ...]
    keep: Callable[[str], bool]
    notes: tuple[str, ...] = ()


@tool(always=True)
async def search_code(
    ctx: ToolContext,
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    kind: Literal["text", "symbol"] = "text",
    context: int = 0,
    limit: int = 50,
    outputs: Annotated[bool, "notebook outputs too"] = False,
) -> ToolResult:
    """Lines that match a regular expression (path:line), also in notebook cells (path#cell-id:line); symbol:
    definitions whose name matches."""
    if not pattern:
        raise BadArguments("search_code needs a pattern.")
    where = await _where(ctx, path, glob)
    if kind == "symbol":
        return await _symbols(ctx, pattern, where, _limit(limit))
    context = min(max(context, 0), 20)
    workspace = ctx.workspace
    ignore = workspace.root / ".agentignore"
    found = ripgrep.Found()
    if where.paths:
        found = await ripgrep.search(
            str(workspace.root),
            pattern,
            where.paths,
            globs=(*([glob] if glob else []), "!*.ipynb"),
            context=context,
            keep=where.keep,
            ignore_file=str(ignore) if ignore.is_file() else None,
        )
    cells = await asyncio.to_thread(notebook_lines, workspace, where.notebooks, outputs=outputs)
    in_cells = await ripgrep.search_text(cells.text, pattern) if cells.lines else ripgrep.Found()
    hits = sorted(found.hits, key=lambda hit: (hit.path, hit.line)) + _in_cells(cells, in_cells, context)
    notes = [*where.notes, *_notes(found, in_cells, cells)]
    complete = found.complete and in_cells.complete
    return _result(hits, found.total + in_cells.total, complete, _limit(limit), notes, pattern)


def _limit(limit: int) -> int:
    return min(max(limit, 1), MOST)


async def _where(ctx: ToolContext, path: str | None, glob: str | None) -> Where:
    workspace = ctx.workspace
    real = workspace.resolve(path or ".")
    name = workspace.relative(real)
    effect: Effect[None] = Effect("read", str(real), f"Search {name}", name, _nothing)
    await ctx.allow(effect)

    def keep(found: str) -> bool:
        try:
            workspace.resolve(found)
        except WorkspaceRefused:
            return False
        return True

    start = f"./{name}" if name != "." else "."
    if real.is_file() or not real.is_dir():
        with workspace.open(real):
            pass  # refuses what is missing, or would block
        if real.suffix == ".ipynb":
            return Where((), (name,), keep)
        return Where((start,), (), keep)
    names, complete = await ripgrep.list_files(str(workspace.root), [start], ["*.ipynb"])
    if glob is not None:
        names = [each for each in names if _matches(glob, each)]
    notebooks = [each for each in sorted(names) if keep(each)]
    notes = [] if complete else ["not all notebooks were looked at: there are too many files"]
    if len(notebooks) > NOTEBOOKS:
        notes.append(f"only the first {NOTEBOOKS:,} of {len(notebooks):,} notebooks were looked at; give a path")
    return Where((start,), tuple(notebooks[:NOTEBOOKS]), keep, tuple(notes))


async def _nothing() -> None:
    return None


def _matches(glob: str, name: str) -> bool:
    from pathspec import GitIgnoreSpec

    if glob.startswith("!"):
        return not GitIgnoreSpec.from_lines([glob[1:]]).match_file(name)
    return GitIgnoreSpec.from_lines([glob]).match_file(name)


def _in_cells(cells: NotebookLines, found: ripgrep.Found, context: int) -> list[ripgrep.Hit]:
    """Hits in notebooks, at their places, with lines of context from the same cell."""
    by_line = {hit.line - 1: hit for hit in found.hits}
    hits: dict[int, ripgrep.Hit] = {}
    for number, hit in by_line.items():
        place, _ = cells.places[number]
        for near in range(max(number - context, 0), min(number + context + 1, len(cells.places))):
            near_place, line = cells.places[near]
            if near_place == place:
                text = hit.text if near == number else cells.lines[near][: ripgrep.WIDTH]
                hits[near] = ripgrep.Hit(place, line, text, near in by_line)
    return [hits[number] for number in sorted(hits)]


def _notes(found: ripgrep.Found, in_cells: ripgrep.Found, cells: NotebookLines) -> list[str]:
    notes = []
    if found.literal or in_cells.literal:
        notes.append("the pattern is no valid regular expression; it was searched literally")
    if found.timed_out or in_cells.timed_out:
        notes.append(f"stopped after {ripgrep.SECONDS:g} s: narrow it with path or glob, or simplify the pattern")
    if cells.unread:
        notes.append(f"notebooks that could not be read: {', '.join(cells.unread[:5])}")
    return notes


def _result(
    hits: Sequence[ripgrep.Hit], total: int, complete: bool, limit: int, notes: Sequence[str], pattern: str
) -> ToolResult:
    shown: list[ripgrep.Hit] = []
    matches = 0
    for hit in hits:
        if matches == limit and hit.match:
            break
        matches += hit.match
        shown.append(hit)
    count = "no" if not total else f"{total:,}" if complete else f"more than {total:,}"
    first = f"ok {count} {'match' if total == 1 else 'matches'}"
    if matches < total:
        first += f", the first {matches} shown; narrow the search, or raise limit"
    lines = [first, *(f"note: {note}" for note in notes)]
    with_context = any(not hit.match for hit in shown)
    for number, hit in enumerate(shown):
        if with_context and number and _apart(shown[number - 1], hit):
            lines.append("--")
        mark = ":" if hit.match else "-"
        lines.append(f"{hit.path}{mark}{hit.line}{mark} {hit.text}")
    records = [{"path": hit.path, "line": hit.line, "text": hit.text} for hit in shown if hit.match]
    text = clip("\n".join(lines), RESULT_LIMIT, more="narrow the search")
    return ToolResult.of(text, total=total, complete=complete, hits=records)


def _apart(one: ripgrep.Hit, other: ripgrep.Hit) -> bool:
    return one.path != other.path or other.line != one.line + 1


# ------------------------------------------------------------------------------------------------------- symbols


async def _symbols(ctx: ToolContext, pattern: str, where: Where, limit: int) -> ToolResult:
    workspace = ctx.workspace
    names, complete = await ripgrep.list_files(str(workspace.root), where.paths) if where.paths else ([], True)
    sources = [name for name in sorted(names) if language_of_file(name) in DEFINITIONS and where.keep(name)]
    # A plain word must stand in the file: most files need not be parsed.
    word = pattern.encode("utf-8", "replace") if re.fullmatch(r"\w+", pattern) else b""
    found, whole = await asyncio.to_thread(_definitions, workspace, sources, where.notebooks, word)
    listing = "".join(f"{symbol.name}\n" for _, symbol in found).encode("utf-8", "replace")
    matching = await ripgrep.search_text(listing, pattern) if found else ripgrep.Found()
    chosen = [found[hit.line - 1] for hit in matching.hits]
    # The name itself comes before names that only contain it.
    chosen.sort(key=lambda each: each[1].name != pattern)
    hits = [ripgrep.Hit(place, symbol.line, f"{symbol.kind} {symbol.name}: {symbol.text}") for place, symbol in chosen]
    notes = [*where.notes]
    if not whole:
        notes.append(f"stopped after {SYMBOL_SECONDS:g} s; give a path")
    return _result(hits, matching.total, complete and whole and matching.complete, limit, notes, pattern)


def _definitions(
    workspace: Workspace, sources: Sequence[str], notebooks: Sequence[str], word: bytes
) -> tuple[list[tuple[str, Symbol]], bool]:
    """(definitions with their place, whether all files were looked at within the time)."""
    limit = time.monotonic() + SYMBOL_SECONDS
    found: list[tuple[str, Symbol]] = []
    for name in sources:
        if time.monotonic() > limit:
            return found, False
        try:
            data = workspace.read(name, _SOURCE_LIMIT).data
        except WorkspaceRefused:
            continue
        if word in data:
            found += [(name, symbol) for symbol in symbols(data, language_of_file(name) or "")]
    for name in notebooks:
        if time.monotonic() > limit:
            return found, False
        try:
            cells = [cell for cell in read_cells_of(workspace, name) if cell.type == "code"]
        except (NotebookRefused, WorkspaceRefused):
            continue
        for cell in cells:
            source = cell.source.encode("utf-8", "replace")
            found += [(f"{name}#{cell.id}", symbol) for symbol in symbols(source, "python")]
    return found, True


# --------------------------------------------------------------------------------------------------------- files


COUNTED = 5_000
"""Files that are asked one by one whether `.agentignore` names them; beyond, the total is an upper bound."""


@tool(always=True)
async def find_files(ctx: ToolContext, query: str, path: str | None = None, limit: int = 50) -> ToolResult:
    """Files by name: a glob (*.csv, src/**/test_*.py) or a part of the name or path, spelled roughly."""
    workspace = ctx.workspace
    real = workspace.resolve(path or ".")
    if not real.is_dir():
        raise WorkspaceRefused("missing", f"{path} is not a folder. Leave path out to search the whole root.")
    name = workspace.relative(real)
    effect: Effect[None] = Effect("read", str(real), f"Find files in {name}", name, _nothing)
    await ctx.allow(effect)
    names, complete = await ripgrep.list_files(str(workspace.root), ["." if name == "." else f"./{name}"])
    ranked = await asyncio.to_thread(rank_files, query.strip(), names)
    looked = ranked[:COUNTED]
    visible = await asyncio.to_thread(lambda: [each for each in looked if not workspace.ignored(workspace.root / each)])
    total = len(visible) + len(ranked) - len(looked)
    shown = visible[: _limit(limit)]
    most = "up to " if total > len(visible) else ""
    first = f"ok {most}{total:,} {'file' if total == 1 else 'files'}{'' if complete else ' of those looked at'}"
    if len(shown) < total:
        first += f", the first {len(shown)} shown"
    text = clip("\n".join([first, *shown]), RESULT_LIMIT, more="narrow the query")
    return ToolResult.of(text, total=total, complete=complete, files=shown)


def rank_files(query: str, names: Sequence[str]) -> list[str]:
    """Names that fit, best first: a glob's matches by name; else exact names, parts of names, of paths, letters in
    order. Equal ones by length and alphabet."""
    if not query:
        return sorted(names)
    if re.search(r"[*?\[]", query):
        from pathspec import GitIgnoreSpec

        spec = GitIgnoreSpec.from_lines([query])
        return sorted(spec.match_files(names))
    wanted = query.lower().replace("\\", "/")
    letters = re.compile("[^/]*?".join(map(re.escape, wanted.replace(" ", ""))))
    scored = [
        (score, len(name), name) for name in names if (score := _score(wanted, letters, name.lower())) is not None
    ]
    rough = all(score == _ROUGH for score, _, _ in scored)
    return [name for score, _, name in sorted(scored) if rough or score < _ROUGH]


_ROUGH: Final = 6
"""The score of a name that only has the letters in order: shown where nothing fits better."""


def _score(wanted: str, letters: re.Pattern[str], name: str) -> int | None:
    last = name.rsplit("/", 1)[-1]
    if wanted in (last, name):
        return 0
    if last.rsplit(".", 1)[0] == wanted:
        return 1
    if last.startswith(wanted):
        return 2
    if wanted in last:
        return 3
    if wanted in name:
        return 4
    if all(word in name for word in wanted.split()):
        return 5
    return _ROUGH if letters.search(last) else None


__all__ = ["find_files", "search_code"]
