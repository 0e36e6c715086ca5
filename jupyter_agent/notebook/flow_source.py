"""From a cell's source to Python that keeps every line, and every column of code: pure text, no IPython needed.

What IPython would do with magics, `!commands` and `?help` is replaced by inert Python on the same lines, and what they
read, bind or may do is recorded beside it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from jupyter_agent.notebook import flow_known as known


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something whose reads or bindings cannot be known from the text. `line` is 1-based in the cell."""

    line: int
    what: str
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Magic:
    """A magic, command or help request on 1-based inclusive lines. `name` is `%time`, `%%bash`, `!` or `?`."""

    line: int
    end: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PythonSource:
    """`tree` is None where the cell is not Python (see `language`) or has a syntax error (see `error`, `error_line`).

    Positions in `tree` are those of the cell's own source unless `shifted` (a cell that IPython dedents or whose
    prompts it strips). `local`: names bound by the body are gone afterwards (`%%timeit`).
    """

    text: str
    language: str = "python"
    tree: ast.Module | None = None
    error: str | None = None
    error_line: int | None = None
    magics: tuple[Magic, ...] = ()
    soft_reads: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()
    unknown: tuple[Unknown, ...] = ()
    shifted: bool = False
    local: bool = False
    local_lines: frozenset[int] = frozenset()
    setup: frozenset[str] = frozenset()
    """Names that the line of `%%timeit` binds for its body."""


@dataclass
class _Notes:
    """What the replaced lines do, collected while they are replaced."""

    magics: list[Magic] = field(default_factory=list)
    soft_reads: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    deletes: set[str] = field(default_factory=set)
    unknown: list[Unknown] = field(default_factory=list)
    local: bool = False
    local_lines: set[int] = field(default_factory=set)
    setup: set[str] = field(default_factory=set)
    language: str = "python"


def parse(text: str) -> ast.Module:
    """`ast.parse` without its warnings (invalid escapes warn, and warnings may be errors). Raises SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


_ESCAPES = re.compile(r"(?:^|\n)[ \t]*[%!?]|\?[ \t]*(?:\n|$)|=[ \t]*[!%]")
"""What a cell that needs IPython's syntax has somewhere: a quick test, which may say yes for plain Python."""


def to_python(source: str) -> PythonSource:
    """Never raises: a syntax error is part of the result."""
    if not _ESCAPES.search(source):
        try:
            return PythonSource(source, tree=parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    notes = _Notes()
    text, shifted = _strip_prompts_and_indent(source)
    lines = text.split("\n")
    start = _cell_magic(lines, notes)
    if notes.language != "python":
        blank = "\n" * (len(lines) - 1)
        return _result(blank, None, None, None, notes, shifted)
    _line_magics(lines, start, notes)
    text = "\n".join(lines)
    try:
        return _result(text, parse(text), None, None, notes, shifted)
    except SyntaxError as error:
        return _result(text, None, error.msg or "invalid syntax", error.lineno, notes, shifted)
    except (ValueError, RecursionError, MemoryError) as error:
        return _result(text, None, str(error) or type(error).__name__, None, notes, shifted)


def _result(
    text: str, tree: ast.Module | None, error: str | None, line: int | None, notes: _Notes, shifted: bool
) -> PythonSource:
    return PythonSource(
        text,
        language=notes.language,
        tree=tree,
        error=error,
        error_line=line,
        magics=tuple(notes.magics),
        soft_reads=frozenset(notes.soft_reads),
        reads=frozenset(notes.reads),
        writes=frozenset(notes.writes),
        deletes=frozenset(notes.deletes),
        unknown=tuple(notes.unknown),
        shifted=shifted,
        local=notes.local,
        local_lines=frozenset(notes.local_lines),
        setup=frozenset(notes.setup),
    )


_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:|   \.+:)(?: |$)", re.M)


def _strip_prompts_and_indent(source: str) -> tuple[str, bool]:
    """IPython runs pasted prompts and uniformly indented cells; their columns move, their lines do not."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    if re.match(r"[ \t]*(?:>>>|In \[\d+\]:) ?", first):
        return _PROMPT.sub("", source), True
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return source, False
    stripped = [line[len(indent) :] if line.startswith(indent) else line for line in source.split("\n")]
    return "\n".join(stripped), True


# Cell magics


_OPTION = re.compile(r"(?:^|\s)-{1,2}([\w-]+)(?:[ =]+([^\s-][^\s]*))?")


def _cell_magic(lines: list[str], notes: _Notes) -> int:
    """Blank the leading `%%magic` lines in place; return the index of the first line of the body."""
    index = 0
    while True:
        while index < len(lines) and not lines[index].strip():
            index += 1
        if index >= len(lines) or not lines[index].startswith("%%"):
            return index
        match = re.match(r"%%(\S+)[ \t]*(.*)", lines[index])
        if match is None:
            return index
        name, arguments = match.groups()
        notes.magics.append(Magic(index + 1, len(lines), "%%" + name, arguments))
        if name not in known.PYTHON_CELL_MAGICS:
            _foreign_cell_magic(name, arguments, index, lines, notes)
            return len(lines)
        _python_cell_magic(name, arguments, index, notes)
        lines[index] = ""
        index += 1


def _python_cell_magic(name: str, arguments: str, index: int, notes: _Notes) -> None:
    if name == "capture":
        words = [word for word in arguments.split() if not word.startswith("-")]
        notes.writes.update(word for word in words[:1] if word.isidentifier())
    elif name in known.LOCAL_SCOPE_MAGICS:
        notes.local = True
        setup = _without_options(arguments)
        names, bound = _statement_names(setup)
        notes.reads.update(names - bound)
        notes.setup.update(bound)
        if setup and not names and not bound:
            notes.unknown.append(Unknown(index + 1, f"%%{name} {setup}", reads=True, writes=False))
    elif name == "debug":
        notes.unknown.append(Unknown(index + 1, "%%debug lets a person bind any name", reads=True, writes=True))


def _foreign_cell_magic(name: str, arguments: str, index: int, lines: list[str], notes: _Notes) -> None:
    language = known.OTHER_LANGUAGE_MAGICS.get(name.rstrip("!") or "!")
    notes.language = language or f"%%{name}"
    if language is None:
        notes.unknown.append(Unknown(index + 1, f"%%{name} may read and bind any name", reads=True, writes=True))
        return
    notes.soft_reads.update(_interpolated(arguments))
    if language in ("bash", "sql") and name.startswith(("!", "sx", "system", "sql")):
        notes.soft_reads.update(_interpolated("\n".join(lines[index + 1 :])))
    for option, value in _OPTION.findall(arguments):
        if option in ("out", "err", "o", "output", "proc") and value.isidentifier():
            notes.writes.add(value)
        elif option in ("i", "input"):
            notes.reads.update(part for part in value.split(",") if part.isidentifier())


# Line magics, commands, help


_TOKEN = re.compile(
    r"#[^\n]*|(?P<prefix>\b[rRbBuUfFtT]{1,2})?(?P<quote>\"\"\"|'''|\"|')|(?P<open>[(\[{])|(?P<close>[)\]}])"
)
_MAGIC_LINE = re.compile(r"(?P<indent>[ \t]*)(?P<escape>%|!!?|\?\??)(?P<rest>.*)", re.S)
_ASSIGNED = re.compile(
    r"(?P<target>[ \t]*[^\W\d][\w.]*(?:[ \t]*\[[^\]=]*\])?(?:[ \t]*,[ \t]*[*\w.]+)*[ \t]*,?[ \t]*=[ \t]*)"
    r"(?P<escape>!|%)(?P<rest>[^=\s].*)",
    re.S,
)
_HELP_END = re.compile(r"(?P<indent>[ \t]*)(?P<what>%{0,2}(?!\d)[\w*][\w*.\[\]'\"]*)\?{1,2}[ \t]*(?:#.*)?$")


def _line_magics(lines: list[str], start: int, notes: _Notes) -> None:
    """Replace, in place, each logical line that only IPython understands."""
    if _automagic(lines, start, notes):
        return
    for index, end in _logical_lines(lines, start):
        text = "\n".join(lines[index : end + 1])
        replaced = _replace_logical(text, index + 1, end + 1, notes)
        if replaced is not None:
            lines[index] = replaced
            lines[index + 1 : end + 1] = [""] * (end - index)


def _automagic(lines: list[str], start: int, notes: _Notes) -> bool:
    """`pip install x` alone in a cell: IPython runs it as `%pip …` when the text is one line."""
    if len(lines) != start + 1:
        return False
    words = lines[start].split(None, 1)
    if not words or words[0] not in known.QUIET_LINE_MAGICS | {"run", "load_ext", "store", "reset", "xdel", "load"}:
        return False
    lines[start] = _line_magic("", words[0], words[1] if len(words) > 1 else "", start + 1, start + 1, notes)
    return True


def _logical_lines(lines: list[str], start: int) -> Iterator[tuple[int, int]]:
    """Indices (first, last) of the lines at which a statement may start, where the escape characters have meaning.

    For escaped lines the range includes backslash continuations; for others it is one line, and the scan goes on
    through brackets and strings without yielding.
    """
    depth, quote, continued, index = 0, "", False, start
    while index < len(lines):
        line = lines[index]
        if depth == 0 and not quote and not continued and line.strip():
            end = index
            if _may_be_escaped(line):
                while lines[end].endswith("\\") and end + 1 < len(lines):
                    end += 1
                yield index, end
                if lines[index] != line:
                    index = end + 1
                    continue
        depth, quote = _scan(line, depth, quote)
        continued = line.endswith("\\") and not quote
        index += 1


def _may_be_escaped(line: str) -> bool:
    stripped = line.lstrip(" \t")
    return stripped[0] in "%!?" or "?" in stripped or _ASSIGNED.match(line) is not None


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Bracket depth and open triple quote after `line`."""
    position = 0
    while True:
        if quote:
            end = _end_of_string(line, position, quote)
            if end < 0:
                return depth, quote if len(quote) == 3 or line.endswith("\\") else ""
            position, quote = end, ""
        match = _TOKEN.search(line, position)
        if match is None:
            return depth, ""
        position = match.end()
        if match["quote"]:
            quote = match["quote"]
        elif match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)


def _end_of_string(line: str, position: int, quote: str) -> int:
    while True:
        end = line.find(quote, position)
        if end < 0:
            return -1
        backslashes = len(line[:end]) - len(line[:end].rstrip("\\"))
        if backslashes % 2 == 0:
            return end + len(quote)
        position = end + 1


def _replace_logical(text: str, line: int, end: int, notes: _Notes) -> str | None:
    """Inert Python for one escaped logical line, None when it is not one. Records what it does."""
    help_request = _HELP_END.match(text)
    if help_request:
        notes.magics.append(Magic(line, end, "?", text.strip()))
        notes.soft_reads.update(re.findall(r"^[^\W\d]\w*", help_request["what"]))
        return help_request["indent"] + "pass"
    match = _MAGIC_LINE.match(text)
    if match is None:
        return _replace_assigned(text, line, end, notes)
    indent, escape, rest = match["indent"], match["escape"], match["rest"]
    if escape == "%":
        name, _, arguments = rest.strip().partition(" ")
        return _line_magic(indent, name, arguments, line, end, notes, rest if "\n" not in rest else None)
    notes.magics.append(Magic(line, end, escape[0], rest.strip()))
    found = _interpolated(rest) if escape[0] == "!" else set(re.findall(r"^\s*([^\W\d]\w*)", rest))
    notes.soft_reads.update(found)
    return indent + "pass"


def _replace_assigned(text: str, line: int, end: int, notes: _Notes) -> str | None:
    """`x = !cmd` and `x = %magic …`: the target stays, the value becomes None."""
    match = _ASSIGNED.match(text)
    if match is None:
        return None
    target, escape, rest = match["target"], match["escape"], match["rest"]
    name, _, arguments = rest.strip().partition(" ")
    if escape == "!":
        notes.magics.append(Magic(line, end, "!", rest.strip()))
        notes.soft_reads.update(_interpolated(rest))
    elif name in known.PYTHON_STATEMENT_MAGICS:
        notes.magics.append(Magic(line, end, "%" + name, arguments))
        notes.reads.update(_statement_names(_without_options(arguments))[0])
    else:
        _line_magic("", name, arguments, line, end, notes)
    return target + "None"


def _line_magic(
    indent: str, name: str, arguments: str, line: int, end: int, notes: _Notes, rest: str | None = None
) -> str:
    notes.magics.append(Magic(line, end, "%" + name, arguments))
    if name in known.PYTHON_STATEMENT_MAGICS:
        return _statement_magic(indent, name, arguments, line, notes, rest)
    notes.soft_reads.update(_interpolated(arguments))
    if name == "xdel":
        notes.deletes.update(word for word in arguments.split() if word.isidentifier())
    elif name == "store" and "-r" not in arguments.split():
        notes.reads.update(word for word in arguments.split() if word.isidentifier())
    elif name in ("load_ext", "reload_ext") and arguments.strip() in known.QUIET_EXTENSIONS:
        pass
    elif name == "sc":
        notes.writes.update(re.findall(r"^\s*(?:-\w\s+)*([^\W\d]\w*)\s*=", arguments))
    elif name not in known.QUIET_LINE_MAGICS:
        notes.unknown.append(Unknown(line, f"%{name} may read, bind or remove any name", reads=True, writes=True))
    return indent + "pass"


def _statement_magic(indent: str, name: str, arguments: str, line: int, notes: _Notes, rest: str | None) -> str:
    """`%time x = f(y)` → `if 1: x = f(y)`: the same columns, and the same meaning."""
    statement = _without_options(arguments)
    for function in re.findall(r"(?:^|\s)-f\s+([\w.]+)", arguments):
        notes.reads.add(function.split(".")[0])
    if not statement:
        return indent + "pass"
    try:
        parse(statement)
    except (SyntaxError, ValueError):
        what = f"the argument of %{name} is not Python"
        notes.unknown.append(Unknown(line, what, reads=True, writes=True))
        return indent + "pass"
    if name in known.LOCAL_SCOPE_MAGICS:
        notes.local_lines.add(line)
    prefix = "if 1:"
    if rest is None or not rest.rstrip().endswith(statement):
        return f"{indent}{prefix} {statement}"
    column = 1 + len(rest.rstrip()) - len(statement)
    return indent + prefix.ljust(column) + statement


_OPTIONS = re.compile(r"\s*(?:-(?:[fsTDnrpt])\s*[\w./]+(?=\s|$)|--?[\w-]+(?:=\S+)?(?=\s|$))")


def _without_options(arguments: str) -> str:
    text = arguments.strip()
    while match := _OPTIONS.match(text):
        text = text[match.end() :].lstrip()
    return text.strip()


def _statement_names(statement: str) -> tuple[set[str], set[str]]:
    """Names loaded and names stored in a statement, both empty when it does not parse."""
    try:
        tree = parse(statement)
    except (SyntaxError, ValueError):
        return set(), set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return (
        {node.id for node in names if isinstance(node.ctx, ast.Load)},
        {node.id for node in names if isinstance(node.ctx, ast.Store)},
    )


def _interpolated(text: str) -> set[str]:
    """Names in `{expression}` and `$name` of a command, which IPython fills in when they exist."""
    names = set(re.findall(r"(?<![\\$])\$([^\W\d]\w*)", text))
    for expression in re.findall(r"(?<!\{)\{([^{}]+)\}(?!\})", text):
        names |= _statement_names(expression.split(":")[0].split("!")[0].strip() or "0")[0]
    return names
