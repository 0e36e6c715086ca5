"""Reads an edit out of a tool call, whoever's argument names the model learnt. Pure.

Ours are `blocks` of `search` and `replace`, or `text` with markers. Understood too: `old_string`/`new_string` with
`replace_all` (Claude's Edit), `edits` of those (MultiEdit), `expected_replacements` (Gemini's replace), `old_str`,
`oldText`, `diff` with markers (Cline). Two forms in one call, or anything that can be read two ways, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_agent.edit.markers import parse_blocks
from jupyter_agent.errors import BadArguments

_PATH = ("path", "file_path", "filePath", "absolute_path", "target_file", "filename")
SEARCH_NAMES = ("search", "old_string", "oldString", "old_str", "old_text", "oldText", "SEARCH")
REPLACE_NAMES = ("replace", "new_string", "newString", "new_str", "new_text", "newText", "replacement", "REPLACE")
_LISTS = ("blocks", "edits", "replacements")
_TEXTS = ("text", "diff")
_COUNT = ("expected_count", "expected_replacements", "expectedReplacements")
_ALL = ("replace_all", "replaceAll", "allow_multiple")
_FIRST, _LAST = ("start_line",), ("end_line",)
_OPTIONS: tuple[tuple[tuple[str, ...], type, Any], ...] = (
    (_ALL, bool, False),
    (_COUNT, int, 1),
    (_FIRST, int, None),
    (_LAST, int, None),
)
_FORM = "Send blocks as a list of {search, replace}, or text with SEARCH/REPLACE markers."


@dataclass(frozen=True)
class EditArguments:
    """What `edit` takes, and the path the call names, if it does."""

    blocks: tuple[tuple[str, str], ...]
    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    expected_count: int = 1
    replace_all: bool = False


def read_arguments(arguments: Mapping[str, Any]) -> EditArguments:
    """Raises BadArguments, or EditRefused("syntax", …) for malformed marker text."""
    blocks, options = _read(arguments)
    given = {**arguments, **options}
    count = _one(given, _COUNT, int)
    return EditArguments(
        blocks=tuple(blocks),
        path=_one(arguments, _PATH, str),
        start_line=_one(given, _FIRST, int),
        end_line=_one(given, _LAST, int),
        expected_count=1 if count is None else count,
        replace_all=bool(_one(given, _ALL, bool)),
    )


def _read(arguments: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """The blocks, and the options that stand in them instead of in the call."""
    listed = _one(arguments, _LISTS, list)
    text = _one(arguments, _TEXTS, str)
    single = _one(arguments, SEARCH_NAMES, str)
    given = [form for form in (listed, text, single) if form is not None]
    if len(given) != 1:
        many = "No edit is in the call." if not given else "The call gives its edit in several forms."
        raise BadArguments(f"{many} {_FORM}")
    if listed is not None:
        return [read_pair(item) for item in listed], _shared_options(listed)
    if text is not None:
        return parse_blocks(text), {}
    return [read_pair(arguments)], {}


def read_pair(item: object) -> tuple[str, str]:
    """SEARCH and REPLACE of one block, under whoever's names. Raises BadArguments."""
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        item = {"search": item[0], "replace": item[1]}
    if not isinstance(item, Mapping):
        raise BadArguments(f"A block must be an object with search and replace. {_FORM}")
    search, replace = _one(item, SEARCH_NAMES, str), _one(item, REPLACE_NAMES, str)
    if search is None or replace is None:
        missing = "search" if search is None else 'replace (use "" to delete the lines)'
        raise BadArguments(f"A block lacks {missing}. {_FORM}")
    return _whole_lines(search, replace)


def _whole_lines(search: str, replace: str) -> tuple[str, str]:
    """Takes the last newline off both where both mean whole lines with theirs."""
    ends = search.endswith("\n") and (replace.endswith("\n") or not replace)
    if not ends or not search.strip():
        return search, replace
    return search.removesuffix("\n").removesuffix("\r"), replace.removesuffix("\n").removesuffix("\r")


def _shared_options(items: Sequence[object]) -> dict[str, Any]:
    """`replace_all`, the count and the lines that stand in the blocks, if all blocks mean the same."""
    options: dict[str, Any] = {}
    for names, kind, default in _OPTIONS:
        given = {_one(item, names, kind) for item in items}
        if given <= {None}:
            continue
        meant = {default if value is None else value for value in given}
        if len(meant) > 1:
            raise BadArguments(f"The blocks differ in {names[0]}, which holds for a whole call: send two calls.")
        options[names[0]] = meant.pop()
    return options


def _one(arguments: object, names: Sequence[str], kind: type) -> Any:
    """The value under the one of `names` that is given; None if none is. Raises BadArguments if two differ."""
    if not isinstance(arguments, Mapping):
        return None
    given = {name: _fitted(name, arguments[name], kind) for name in names if arguments.get(name) is not None}
    values = list(given.values())
    if any(value != values[0] for value in values):
        raise BadArguments(f"{' and '.join(given)} mean the same and differ. Send only {names[0]}.")
    return values[0] if values else None


def _fitted(name: str, value: Any, kind: type) -> Any:
    """`value` as `kind`: numbers, booleans and lists may come as text, a lone block without its list."""
    if kind is list and isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise BadArguments(f"{name} is text that is not JSON. {_FORM}") from None
    if kind is list and isinstance(value, Mapping):
        value = [value]
    if kind is int and isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadArguments(f"{name} must be of type {kind.__name__}. {_FORM}")
    return value
