"""rename: one variable of the notebook, everywhere it means that variable, and nowhere else. Pure."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Sequence
from dataclasses import replace

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import CellFlow, analyse
from jupyter_agent.notebook.flow_cell import scan
from jupyter_agent.notebook.flow_source import Magic, PythonSource, to_python
from jupyter_agent.refactor.common import Params, flag
from jupyter_agent.refactor.fstrings import fstring_fields
from jupyter_agent.refactor.names import Found, Unplaced, all_identifiers, occurrences
from jupyter_agent.refactor.plan import Context, Plan, make_plan, refused
from jupyter_agent.refactor.spans import Edit, Span, Text, apply_edits


def rename(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Rename the notebook's variable `old` to `new` in every cell, f-string fields and `!cmd {old}` included.

    A parameter, local variable or attribute of the same name is another thing and stays. With `text=true` also whole
    words in comments and strings, and in the code spans and blocks of markdown. Refused where a use cannot be placed.
    """
    old, new = params.get("old", ""), params.get("new", "")
    _check_names(old, new, context)
    text_too = flag(params, "text")
    after: list[Cell] = []
    bound = False
    warned: list[str] = []
    for cell in cells:
        if cell.type == "markdown":
            after.append(replace(cell, source=_in_markdown(cell.source, old, new)) if text_too else cell)
            continue
        if cell.type != "code":
            after.append(cell)
            continue
        source = to_python(cell.source)
        names = scan(source)
        bound = bound or old in names.writes | names.maybe_writes
        if source.tree is not None and new in all_identifiers(source.tree):
            raise refused(f"cell {cell.id} already uses the name {new}. Choose another one.")
        renamed, notes = _in_code(cell, source, old, new, text_too)
        warned += notes
        after.append(replace(cell, source=renamed))
    if not bound:
        raise refused(f"no cell binds {old} as a variable of the notebook. Check the spelling of old.")
    _check_unknown(cells, old)
    count = sum(first.source != second.source for first, second in zip(cells, after, strict=True))
    return make_plan(cells, after, notes=[f"{old} becomes {new} in {count} cells", *dict.fromkeys(warned)])


def _check_names(old: str, new: str, context: Context) -> None:
    if context.language != "python":
        raise refused(f"rename knows the scopes of Python only, and this notebook is in {context.language}.")
    if not old.isidentifier():
        raise refused(f"rename needs old=NAME, a variable of the notebook; {old!r} is not a name.")
    if not new.isidentifier() or keyword.iskeyword(new):
        raise refused(f"{new!r} is not a name that Python allows. Choose another new name.")
    if old == new:
        raise refused("old and new are the same name.")
    if hasattr(builtins, new):
        raise refused(f"{new} is a builtin of Python; the variable would hide it. Choose another new name.")


def _check_unknown(cells: Sequence[Cell], old: str) -> None:
    """Code that may use any name by a string cannot be renamed with certainty."""
    graph = analyse(cells)
    binder = next((flow for flow in graph.cells if old in flow.writes | flow.maybe_writes), None)
    early = any(old in flow.undefined | flow.maybe_undefined for flow in graph.cells)
    for flow in graph.cells:
        for unknown in scan(to_python(flow.cell.source)).unknown:
            if unknown.what.startswith(("%load_ext", "%reload_ext")) or unknown.what.startswith("syntax error"):
                continue
            if not unknown.reads and binder is not None and not early and _above(flow, unknown.line, binder, old):
                # A star import that may have bound the name is followed by the notebook's own binding of it.
                continue
            may = "use" if unknown.reads else "bind"
            raise refused(
                f"cell {flow.id}, line {unknown.line}: {unknown.what}, so it may {may} {old} in a way that is not "
                "seen. Rename by hand."
            )


def _above(flow: CellFlow, line: int, binder: CellFlow, old: str) -> bool:
    """Whether that line runs before anything in the first cell that binds `old` mentions it."""
    if flow.position != binder.position:
        return flow.position < binder.position
    mentioned = [
        number
        for number, text in enumerate(binder.cell.source.split("\n"), 1)
        if re.search(rf"\b{re.escape(old)}\b", text)
    ]
    return bool(mentioned) and line < mentioned[0]


def _in_code(cell: Cell, source: PythonSource, old: str, new: str, text_too: bool) -> tuple[str, list[str]]:
    word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    if not word.search(cell.source):
        return cell.source, []
    if source.error is not None:
        raise refused(f"cell {cell.id} has a syntax error and contains {old}. Repair it first.")
    if source.shifted:
        raise refused(f"cell {cell.id} is indented or has pasted prompts. Remove them first.")
    edits, notes = _magic_edits(cell, source, word, old, new)
    if source.tree is not None:
        text = Text(cell.source)
        # The tree is of the transformed text, in which code stands on the same lines and columns.
        try:
            found = occurrences(text, source.tree, old)
        except Unplaced as place:
            raise refused(f"cell {cell.id}: a use of {old} cannot be placed ({place}). Rename it by hand.") from None
        edits += [_edit(cell, each, old, new) for each in found]
        _check_query_strings(cell, source.tree, old, text_too)
        notes += _name_notes(source.tree, old)
        if text_too:
            edits += _text_edits(source, text, word, new, {edit.span.start for edit in edits})
    try:
        return apply_edits(cell.source, edits), notes
    except ValueError:
        raise refused(f"cell {cell.id}: uses of {old} overlap in a way that is not understood.") from None


def _edit(cell: Cell, found: Found, old: str, new: str) -> Edit:
    if found.kind == "debug":
        raise refused(f"cell {cell.id} prints the name itself by {{{old}=}}; renaming would change the output.")
    if found.kind == "import":
        return Edit(found.span, f"{old} as {new}")
    return Edit(found.span, new)


def _name_notes(tree: ast.Module, old: str) -> list[str]:
    defined = any(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and n.name == old for n in tree.body
    )
    return (
        ["the definition's own __name__ changes too, and with it what shows it (reprs, tracebacks)"] if defined else []
    )


def _magic_edits(
    cell: Cell, source: PythonSource, word: re.Pattern[str], old: str, new: str
) -> tuple[list[Edit], list[str]]:
    """`!cmd {old}` and `$old` are renamed, help requests too; any other mention in a magic is refused."""
    edits: list[Edit] = []
    text = Text(cell.source)
    for magic in source.magics:
        start = text.starts[magic.line - 1]
        end = text.starts[magic.end - 1] + len(text.lines[magic.end - 1])
        if magic.name.startswith("%%") and source.tree is not None:
            end = start + len(text.lines[magic.line - 1])
        region = cell.source[start:end]
        if not word.search(region) or _is_statement(magic, source, text):
            continue
        spans = _magic_spans(magic, region, old)
        if spans is None:
            raise refused(
                f"cell {cell.id}, line {magic.line}: {magic.name} mentions {old} in a way that is not understood. "
                "Rename it by hand."
            )
        edits += [Edit(Span(start + a, start + b), new) for a, b in spans if word.fullmatch(region[a:b])]
    return edits, []


def _is_statement(magic: Magic, source: PythonSource, text: Text) -> bool:
    """`%time x = old`: the statement is in the tree, in its own columns."""
    line = source.text.split("\n")[magic.line - 1]
    return line.lstrip().startswith("if 1:")


def _magic_spans(magic: Magic, region: str, old: str) -> list[tuple[int, int]] | None:
    escaped = re.escape(old)
    assigned = re.match(rf"\s*(?:[\w\s,]*,\s*)?{escaped}\s*(?:,[\w\s,]*)?=\s*[!%]", region)
    if magic.name == "?":
        return [match.span(1) for match in re.finditer(rf"(?<![\w.])({escaped})(?!\w)", region)]
    if magic.name == "%%capture":
        return [match.span(1) for match in re.finditer(rf"(?<!\w)({escaped})(?!\w)", region)]
    body = region
    head = 0
    if assigned or re.match(r"\s*[\w\s,]+=\s*[!%]", region):
        head = region.index("=")
        body = region[head:]
    if magic.name not in ("!",) and not magic.name.startswith("%%") and magic.name not in ("%cd", "%env", "%pip"):
        return [] if not re.search(rf"(?<!\w){escaped}(?!\w)", body) else None
    if magic.name.startswith("%%") and magic.name not in ("%%!", "%%sx", "%%system"):
        # The body of another language is not filled in by IPython; its options are.
        first = region.split("\n")[0]
        mentions = re.search(rf"(?<!\w){escaped}(?!\w)", first)
        return None if mentions else []
    spans: list[tuple[int, int]] = []
    for match in re.finditer(rf"(?<![\\$])\$({escaped})(?!\w)", body):
        spans.append((head + match.start(1), head + match.end(1)))
    for match in re.finditer(r"(?<!\{)\{([^{}]+)\}(?!\})", body):
        for inner in re.finditer(rf"(?<![\w.'\"])({escaped})(?!\w)", match[1]):
            spans.append((head + match.start(1) + inner.start(1), head + match.start(1) + inner.end(1)))
    return spans


def _check_query_strings(cell: Cell, tree: ast.Module, old: str, text_too: bool) -> None:
    """`df.query('a > @old')` reads the variable by a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not text_too:
            if not re.search(rf"@{re.escape(old)}(?!\w)", node.value):
                continue
            raise refused(
                f"cell {cell.id}, line {node.lineno}: a string reads @{old}, as data frames' query does. Rename with "
                "text=true, which changes strings too."
            )


def _text_edits(source: PythonSource, text: Text, word: re.Pattern[str], new: str, taken: set[int]) -> list[Edit]:
    """Whole words in comments and in the text of strings."""
    edits: list[Edit] = []
    for token in tokenize.generate_tokens(io.StringIO(source.text + "\n").readline):
        name = tokenize.tok_name[token.type]
        if name not in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
            continue
        if text.lines[token.start[0] - 1] != source.text.split("\n")[token.start[0] - 1]:
            continue
        start = text.starts[token.start[0] - 1] + token.start[1]
        end = text.starts[token.end[0] - 1] + token.end[1]
        fields = _fields(text.source[start:end]) if name == "STRING" else []
        for match in word.finditer(text.source, start, end):
            if match.start() in taken or any(a <= match.start() - start < b for a, b in fields):
                continue
            edits.append(Edit(Span(match.start(), match.end()), new))
    return edits


def _fields(literal: str) -> list[tuple[int, int]]:
    """Ranges of the replacement fields of an f-string: code, not text."""
    return [(each.start, each.start + len(each.text)) for each in fstring_fields(literal, Span(0, len(literal)))]


_CODE_SPAN = re.compile(
    r"(?P<fence>^(?P<mark>`{3,}|~{3,})[^\n]*\n.*?^(?P=mark)[ \t]*$)|(?P<ticks>`+)(?P<code>.+?)(?P=ticks)",
    re.M | re.S,
)


def _in_markdown(source: str, old: str, new: str) -> str:
    """Whole words inside code spans and fenced blocks."""
    word = re.compile(rf"(?<![\w]){re.escape(old)}(?!\w)")
    return _CODE_SPAN.sub(lambda match: word.sub(lambda _: new, match[0]), source)
