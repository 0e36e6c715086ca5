"""Tracebacks as the notebook's author needs them: own frames with cell id and line, libraries counted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jupyter_agent.text import as_seen

# Headings of frames: IPython 8 and 9 ("Cell In[5], line 2, in f(x)", "File path:12, in f(x)"), older ones
# ("Input In [5], in <cell line: 1>()", "<ipython-input-5-…> in f(x)", "path in f(x)").
_CELL = re.compile(
    r"^(?P<indent>\s*)(?:Cell In ?\[(?P<a>\d+)\]|Input In \[(?P<b>\d+)\]|<ipython-input-(?P<c>\d+)-\w+>)"
)
_FILE = re.compile(
    r"^(?:File \"?(?P<a>[^\n\"]+?)\"?(?::\d+|, line \d+)|(?P<b>(?:[~/.]|[A-Za-z]:\\|<)[^\n]*?)(?: in |:\d+))"
    r"(?:, in |$|.*\()"
)
_TIMED = re.compile(r"^File <timed exec>(?::|, line )(\d+)")
"""The body of a `%%time` cell: its lines count from below the magic."""
_ARROW = re.compile(r"^-+> (\d+)")
_LINE = re.compile(r", line (\d+)")
_RULE = re.compile(r"^-{20,}$")
_HEAD = re.compile(r"^\w[\w.]* +Traceback \(most recent call last\)$")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python\d|<frozen |[/\\]IPython[/\\]|[/\\]ipykernel[/\\]"
    r"|\.py[xd]$|\.pxi$"
)
_PACKAGES = (
    re.compile(r"(?:site|dist)-packages[/\\]([\w-]+)"),
    re.compile(r"lib[/\\]python[\d.]+[/\\]([\w-]+)"),
    re.compile(r"^([\w-]+)[/\\]"),
)


def error_line(output: Mapping[str, Any], counts: Mapping[int, str] | None = None) -> str:
    """`ENAME: EVALUE in cell ID line N`, as far as known; one line."""
    name = str(output.get("ename") or "error")
    value = " ".join(as_seen(str(output.get("evalue") or "")).split())
    # A syntax error names the temporary file that IPython compiled.
    value = re.sub(r" \(\d+\.py, line \d+\)$", "", value)
    message = f"{name}: {value[:500]}" if value else name
    cell, line = error_place(output, counts or {})
    where = f" in cell {cell}" if cell else ""
    return f"{message}{where}{f' line {line}' if cell and line else ''}"


def error_place(output: Mapping[str, Any], counts: Mapping[int, str]) -> tuple[str | None, int | None]:
    """Cell id and 1-based line of the innermost frame that is in a cell. `counts`: execution count to cell id."""
    cell: str | None = None
    line: int | None = None
    inside = False
    for text in _lines(output):
        match = _CELL.match(text)
        if match:
            cell = counts.get(_count(match))
            given = _LINE.search(text)
            line, inside = int(given[1]) if given else None, True
        elif inside and (arrow := _ARROW.match(text)):
            line = int(arrow[1])
        elif cell is not None and (timed := _TIMED.match(text)):
            line, inside = int(timed[1]) + 1, False
        elif _FILE.match(text):
            inside = False
    return cell, line


def traceback_text(output: Mapping[str, Any], counts: Mapping[int, str] | None = None) -> str:
    """The traceback without ANSI and rules, `In[n]` as cell ids; frames of libraries and repeated ones counted.

    `counts` maps execution counts to cell ids, of the cells as they are now. A traceback of another shape (another
    language) stays as it is.
    """
    shown: list[str] = []
    skipped: list[str] = []
    repeated = 0
    previous = ""
    for package, text in _parts(output, counts or {}):
        if package is not None:
            skipped.append(package)
            continue
        if text == previous:
            repeated += 1
            continue
        shown += _notes(skipped, repeated)
        skipped, repeated, previous = [], 0, text
        shown.append(text)
    shown += _notes(skipped, repeated)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip("\n")


def _parts(output: Mapping[str, Any], counts: Mapping[int, str]) -> Iterator[tuple[str | None, str]]:
    """The traceback's frames and the text between them: (package of a library's frame or None, text)."""
    package: str | None = None
    part: list[str] = []
    in_frame = False
    for line in _lines(output):
        if _RULE.match(line) or _HEAD.match(line):
            continue
        cell = _CELL.match(line)
        file = None if cell else _FILE.match(line)
        # A line at the margin ends a frame: the error's own line, or the sentence between chained errors.
        ends = in_frame and line != "" and not line[0].isspace() and not _ARROW.match(line)
        if cell or file or ends:
            if part:
                yield package, "\n".join(part)
            part, package, in_frame = [], None, bool(cell or file)
        if cell:
            line = _with_id(line, cell, counts)
        elif file:
            package = _package(file["a"] or file["b"])
        part.append(line)
    yield package, "\n".join(part)


def _package(path: str) -> str | None:
    """The library a file belongs to, None for a file of the user."""
    if not _LIBRARY.search(path):
        return None
    found = (pattern.search(path) for pattern in _PACKAGES)
    return next((match[1] for match in found if match), "a library")


def _notes(skipped: Sequence[str], repeated: int) -> Iterator[str]:
    if repeated:
        yield f"[… the same frame {repeated:,} times more …]\n"
    if skipped:
        names = ", ".join(dict.fromkeys(skipped))
        yield f"[… {len(skipped):,} frame{'s' if len(skipped) > 1 else ''} in {names} …]\n"


def _lines(output: Mapping[str, Any]) -> list[str]:
    traceback = output.get("traceback") or []
    text = "\n".join(map(str, traceback)) if isinstance(traceback, Sequence) else ""
    if not text.strip():
        text = f"{output.get('ename', 'error')}: {output.get('evalue', '')}"
    return as_seen(text).split("\n")


def _count(match: re.Match[str]) -> int:
    return int(match["a"] or match["b"] or match["c"])


def _with_id(line: str, match: re.Match[str], counts: Mapping[int, str]) -> str:
    cell = counts.get(_count(match))
    name = f"cell {cell}" if cell else f"In[{_count(match)}] (no longer in the notebook)"
    return f"{match['indent']}{name}{line[match.end() :]}"
