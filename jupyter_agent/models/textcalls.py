"""Tool calls that a model wrote as text: found, read tolerantly, taken out of the text. Pure.

For endpoints that are not first-party: small local models write `{"name": …, "arguments": …}` in a fence, in
`<tool_call>` tags or bare, and SEARCH/REPLACE blocks under a file's path, whatever the API offers. Only names of tools
that were sent count; everything else stays text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jupyter_agent.models.protocol import Call, Reply
from jupyter_agent.models.stream import CUT_REASONS

CALL_FENCES = frozenset({"", "json", "jsonc", "json5", "tool", "tool_call", "tool_code", "tool_use", "python", "xml"})
"""Languages of fences that may hold calls. A Python fence counts only when all of it is a call's dict."""

_NAME_KEYS = ("name", "tool_name", "tool", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "input", "args", "params", "kwargs", "tool_input", "action_input")
_TAG = re.compile(r"<(tool_call|tools|tool_use|function_call)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_FUNCTION_TAG = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*(?:</function>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,})([\w-]*)[^\n`]*\n(.*?)(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BARE = re.compile(r"^[ \t]*(?:\[TOOL_CALLS\]\s*)?(?=\{|\[\s*\{)", re.MULTILINE)
_BLOCK = re.compile(r"<{5,9} SEARCH *\n(?P<search>.*?)^={5,9} *\n(?P<replace>.*?)^>{5,9} REPLACE *$", re.DOTALL | re.M)
_TARGET = re.compile(
    r"^[ \t]*[#*>`/ ]*(?:(?P<kind>cell|file|path|id)\s*[:= ]\s*)?(?P<target>[\w.\-/\\ ]+?)[`*: ]*$", re.IGNORECASE
)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')


@dataclass(frozen=True)
class Found:
    """The calls in a text, in order, and the text without them. `unfinished` names the tool of a call that the end
    of the text cuts off."""

    text: str
    calls: Sequence[tuple[str, Any]]
    unfinished: str | None = None


def with_text_calls(reply: Reply, names: Collection[str], number: int) -> Reply:
    """The reply with the calls its text holds; `number` makes their ids unique in the conversation.

    A reply with real tool calls is left alone. `raw` keeps the text as the model wrote it.
    """
    if reply.calls or reply.cut or not reply.text:
        return reply
    found = parse(reply.text, names)
    cut = found.unfinished if reply.stop_reason in CUT_REASONS else None
    if not found.calls:
        return replace(reply, cut=cut)
    calls = [Call(f"text_{number}_{index}", name, arguments) for index, (name, arguments) in enumerate(found.calls)]
    return replace(reply, text=found.text, calls=calls, text_calls=True, cut=cut)


def parse(text: str, names: Collection[str]) -> Found:
    """Every call of a known tool in the text."""
    places: list[tuple[int, int, list[tuple[str, Any]]]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= taken_start or start >= taken_end for taken_start, taken_end, _ in places)

    def take(start: int, end: int, calls: list[tuple[str, Any]] | None) -> None:
        if calls and free(start, end):
            places.append((start, end, calls))

    for match in _FUNCTION_TAG.finditer(text):
        take(*match.span(), _calls({"name": match[1], "arguments": _value(match[2])}, names))
    for match in _TAG.finditer(text):
        take(*match.span(), _calls_in_body(match[2], names))
    for start, end, call in _marker_calls(text, names):
        take(start, end, [call])
    for match in _FENCE.finditer(text):
        if match[2].lower() in CALL_FENCES:
            take(*match.span(), _calls_in_body(match[3], names))
    for match in _BARE.finditer(text):
        value, end = _decode(text, match.end())
        if end == match.end():
            value, end = _value(text[end:]), len(text)
        take(match.start(), end, _calls(value, names))
    places.sort(key=lambda place: place[0])
    return Found(_without(text, places), [call for _, _, calls in places for call in calls], _unfinished(text, names))


def _without(text: str, places: Sequence[tuple[int, int, Any]]) -> str:
    if not places:
        return text
    kept, position = [], 0
    for start, end, _ in places:
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip()


def _unfinished(text: str, names: Collection[str]) -> str | None:
    """The tool of a call whose JSON begins and does not end; sought behind the last complete value."""
    for match in _BARE.finditer(text):
        tail = text[match.end() :]
        if _decode(text, match.end())[1] == match.end() and (name := re.search(r'"name"\s*:\s*"([\w.-]+)"', tail)):
            return name[1] if name[1] in names else None
    return None


# --- JSON, written carelessly ---------------------------------------------------------------------------------------


def _calls_in_body(body: str, names: Collection[str]) -> list[tuple[str, Any]] | None:
    """The calls of a fence or tag; None unless all of it is calls."""
    return _calls(_values(body.rstrip()), names) or _python_call(body, names)


def _values(body: str) -> list[Any]:
    """Several JSON values one after another, else the one value that the whole body is."""
    values, position = [], 0
    while position < len(body):
        start = len(body) - len(body[position:].lstrip(" \t\r\n,;"))
        value, position = _decode(body, start)
        if position == start:
            return [_value(body)]
        values.append(value)
    return values


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The JSON value at `start` and where it ends; (None, start) where there is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        return None, start


def _python_call(body: str, names: Collection[str]) -> list[tuple[str, Any]] | None:
    """`tool(argument=literal, …)`, as some models write it in a code fence."""
    try:
        tree = ast.parse(body.strip(), mode="eval").body
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in names and not tree.args:
            return [(tree.func.id, {str(word.arg): ast.literal_eval(word.value) for word in tree.keywords})]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    return None


def _value(text: str) -> Any:
    """JSON, also with wrong escapes, or a Python literal (single quotes, True, triple-quoted strings); the text itself
    where it is neither."""
    for candidate in (text, _BAD_ESCAPE.sub(r"\\\\", text)):
        try:
            return json.loads(candidate, strict=False)
        except (json.JSONDecodeError, RecursionError):
            continue
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _calls(value: Any, names: Collection[str]) -> list[tuple[str, Any]] | None:
    """The calls a parsed value stands for; None unless it is nothing but calls of known tools."""
    if isinstance(value, list):
        each = [_calls(item, names) for item in value]
        return [call for calls in each for call in calls or ()] if each and all(each) else None
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("tool_calls"), list):
        return _calls(value["tool_calls"], names)
    if isinstance(value.get("function"), Mapping):
        return _calls(value["function"], names)
    for key in _NAME_KEYS:
        name = value.get(key)
        if isinstance(name, str) and (known := name.removeprefix("functions.")) in names:
            return [(known, _arguments(value, key))]
    return None


def _arguments(value: Mapping[str, Any], name_key: str) -> Any:
    """The arguments beside a name; all other keys where no usual one holds them."""
    for key in _ARGUMENT_KEYS:
        if key in value and key != name_key:
            return _object(value[key])
    return {key: item for key, item in value.items() if key not in (name_key, "type", "id")}


def _object(arguments: Any) -> Any:
    """An object where one was clearly meant: JSON in a string, one object in a list, objects with distinct keys."""
    if isinstance(arguments, str):
        parsed = _value(arguments) if arguments.strip() else {}
        return _object(parsed) if isinstance(parsed, Mapping | list) else arguments
    if arguments is None or arguments == []:
        return {}
    if isinstance(arguments, list) and all(isinstance(item, Mapping) for item in arguments):
        keys = [key for item in arguments for key in item]
        if len(keys) == len(set(keys)):
            return {key: value for item in arguments for key, value in item.items()}
    return arguments


# --- SEARCH/REPLACE blocks --------------------------------------------------------------------------------------------


def _marker_calls(text: str, names: Collection[str]) -> list[tuple[int, int, tuple[str, Any]]]:
    """One edit call for each run of marker blocks under one line that names a file, or `cell ID`."""
    found: list[tuple[int, int, tuple[str, Any]]] = []
    blocks: list[dict[str, str]] = []
    start = end = 0
    target: tuple[str, str] | None = None
    for match in _BLOCK.finditer(text):
        between = text[end : match.start()]
        named = _target(between)
        if blocks and target and (named is None or named[:2] == target) and not between.strip("` \t\r\n"):
            pass
        else:
            found += _edit_call(start, end, target, blocks, names)
            blocks, target = [], named[:2] if named else None
            start = end + named[2] if named else match.start()
        search, replacement = match["search"].removesuffix("\n"), match["replace"].removesuffix("\n")
        blocks.append({"search": search, "replace": replacement})
        end = match.end()
        if fence := re.match(r"\s*\n`{3,}[ \t]*$", text[end:], re.MULTILINE):
            end += fence.end()
    return found + _edit_call(start, end, target, blocks, names)


def _target(before: str) -> tuple[str, str, int] | None:
    """(kind, target, offset of its line) from the last line with text above a block; a fence between is skipped."""
    lines = before.split("\n")
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if not line or line.startswith("```"):
            continue
        match = _TARGET.fullmatch(lines[index])
        if match is None:
            return None
        kind = "cell" if (match["kind"] or "").lower() in ("cell", "id") else "file"
        target = match["target"].strip()
        if not match["kind"] and (" " in target or not {".", "/", "\\"} & set(target)):
            return None  # prose
        return kind, target, sum(len(part) + 1 for part in lines[:index])
    return None


def _edit_call(
    start: int, end: int, target: tuple[str, str] | None, blocks: list[dict[str, str]], names: Collection[str]
) -> list[tuple[int, int, tuple[str, Any]]]:
    if not target or not blocks:
        return []
    if target[0] == "cell" and "edit_cells" in names:
        return [(start, end, ("edit_cells", {"ops": [{"op": "edit", "cell": target[1], "blocks": blocks}]}))]
    if target[0] == "file" and "edit_file" in names:
        return [(start, end, ("edit_file", {"path": target[1], "blocks": blocks}))]
    return []
