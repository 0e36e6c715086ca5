"""Scripts of the stand-in model: JSON lines in, the reply for one request out. Pure, no I/O.

The format is documented in `jupyter_agent.testing.scripted`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

CONTENT_KEYS = ("text", "thinking", "calls", "content")
REPLY_KEYS = frozenset(
    (
        *CONTENT_KEYS,
        "as_text",
        "cut",
        "stop_reason",
        "stop_details",
        "usage",
        "model",
        "expect",
        "when",
        "save",
        "fault",
        "repeat",
        "delay",
        "pause",
        "pause_until",
        "pause_at",
        "comment",
    )
)
SERVER_KEYS = frozenset({"models", "api_key", "strict"})
_TEMPLATE = re.compile(r"\{\{(regex|anywhere|system|number|saved)(?:#(-?\d+))?:(.+?)(?::(\d+))?\}\}(?!\})", re.DOTALL)
_FAULTS = frozenset(
    (
        "close_before_headers",
        "reset",
        "stall_before_headers",
        "html_200",
        "not_streamed",
        "close_after_headers",
        "close_midway",
        "stall",
        "sse_error",
        "clean_cut",
        "bad_json",
        "no_stop_reason",
    )
)


class ScriptError(ValueError):
    """A script is malformed, or a request does not fit it; the message names the line."""


@dataclass
class Line:
    """One reply of a script and how often it may still be given (None: without end)."""

    number: int
    reply: Json
    left: int | None = 1
    used: int = 0


@dataclass
class Script:
    """The replies in order, and what the script says about the server itself."""

    lines: list[Line]
    server: Json = field(default_factory=dict)
    saved: dict[str, str] = field(default_factory=dict)

    def next(self, request: Mapping[str, Any]) -> Line:
        """The reply for a request: the first line whose `when` matches, else the first unused line without `when`.

        Raises ScriptError when none is left.
        """
        for line in self.lines:
            if line.left != 0 and "when" in line.reply and not mismatches(line.reply["when"], request):
                return self._take(line)
        for line in self.lines:
            if line.left != 0 and "when" not in line.reply:
                return self._take(line)
        raise ScriptError(f"the script has no reply left for a request that ends with: {last_text(request)[-300:]!r}")

    def _take(self, line: Line) -> Line:
        line.used += 1
        if line.left is not None:
            line.left -= 1
        return line

    def unused(self) -> list[Line]:
        """Lines that were never given; a `forever` line or one with `when` need not be."""
        return [line for line in self.lines if line.left and not line.used and "when" not in line.reply]

    def fill(self, line: Line, request: Mapping[str, Any]) -> Json:
        """The reply with `save` applied and every template filled from the request; raises ScriptError."""
        for pattern in _listed(line.reply.get("save", ())):
            match = _search(pattern, tool_result_text(request), 1)
            if match is None:
                raise ScriptError(f"line {line.number}: nothing to save: {pattern!r} is not in the last tool results")
            self.saved.update({name: value for name, value in match.groupdict().items() if value is not None})
        filled = dict(line.reply)
        for key in CONTENT_KEYS:
            if key in filled:
                filled[key] = self._filled(filled[key], request, line.number)
        return filled

    def _filled(self, value: Any, request: Mapping[str, Any], number: int) -> Any:
        if isinstance(value, Mapping):
            return {key: self._filled(item, request, number) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item, request, number) for item in value]
        if not isinstance(value, str):
            return value
        whole = _TEMPLATE.fullmatch(value)
        if whole and whole[1] == "number":
            return json.loads(self._template(whole, request, number))
        return _TEMPLATE.sub(lambda match: self._template(match, request, number), value)

    def _template(self, match: re.Match[str], request: Mapping[str, Any], number: int) -> str:
        kind, nth, pattern, group = match.groups()
        if kind == "saved":
            if pattern not in self.saved:
                raise ScriptError(f"line {number}: {pattern!r} was not saved by an earlier reply")
            return self.saved[pattern]
        found = None
        for text in _haystacks(kind, request):
            found = _search(pattern, text, int(nth or 1))
            if found is not None:
                break
        if found is None:
            where = {"anywhere": "the messages", "system": "the system prompt"}.get(kind, "the last tool results")
            raise ScriptError(f"line {number}: {pattern!r} is not in {where}: {last_text(request)[:600]!r}")
        return found[int(group)] if group else found[1 if found.re.groups else 0]


def load(source: str | Iterable[Mapping[str, Any]]) -> Script:
    """A script from the text of a JSON-lines file or from dicts; raises ScriptError naming the line."""
    items = _parsed(source) if isinstance(source, str) else enumerate((dict(item) for item in source), 1)
    lines: list[Line] = []
    server: Json = {}
    for number, item in items:
        if "server" in item:
            _known(item["server"], SERVER_KEYS, number)
            server.update(item["server"])
            continue
        _known(item, REPLY_KEYS, number)
        if set(item) == {"comment"}:
            continue
        _check_fault(item.get("fault"), number)
        repeat = item.get("repeat", 1)
        lines.append(Line(number, item, None if repeat == "forever" else int(repeat)))
    return Script(lines, server)


def _parsed(text: str) -> Iterator[tuple[int, Json]]:
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        try:
            item = json.loads(raw)
        except json.JSONDecodeError as error:
            raise ScriptError(f"line {number} is not JSON: {error}") from None
        if not isinstance(item, dict):
            raise ScriptError(f"line {number} is not a JSON object")
        yield number, item


def _known(item: Mapping[str, Any], keys: frozenset[str], number: int) -> None:
    unknown = set(item) - keys
    if unknown:
        raise ScriptError(f"line {number} has unknown keys {sorted(unknown)}; known are {sorted(keys)}")


def _check_fault(fault: Any, number: int) -> None:
    if fault is None or (isinstance(fault, str) and fault in _FAULTS):
        return
    if isinstance(fault, dict) and ("status" in fault or fault.get("kind") in _FAULTS):
        return
    raise ScriptError(f"line {number} has the unknown fault {fault!r}; known are {sorted(_FAULTS)} and a status")


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def _search(pattern: str, text: str, nth: int) -> re.Match[str] | None:
    found = list(re.finditer(pattern, text, re.MULTILINE))
    index = nth - 1 if nth > 0 else len(found) + nth
    return found[index] if 0 <= index < len(found) else None


def _haystacks(kind: str, request: Mapping[str, Any]) -> list[str]:
    if kind == "system":
        return [block_text(request.get("system", ""))]
    if kind == "anywhere":
        return [block_text(message.get("content", "")) for message in reversed(request.get("messages", []))]
    return [tool_result_text(request)]


# --- reading a request ------------------------------------------------------------------------------------------


def block_text(content: Any) -> str:
    """All text of a message's content, tool results and tool inputs included, one block a line."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(block_text(block) for block in content)
    if not isinstance(content, Mapping):
        return ""
    if content.get("type") == "tool_use":
        return json.dumps(content.get("input"), ensure_ascii=False)
    return block_text(content.get("text", content.get("thinking", content.get("content", ""))))


def _last_message(request: Mapping[str, Any]) -> Mapping[str, Any]:
    messages = request.get("messages") or [{}]
    return messages[-1]  # type: ignore[no-any-return]


def last_text(request: Mapping[str, Any]) -> str:
    return block_text(_last_message(request).get("content", ""))


def tool_results(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = _last_message(request).get("content", "")
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, Mapping) and block.get("type") == "tool_result"]


def tool_result_text(request: Mapping[str, Any]) -> str:
    """The text of the tool results in the last message; all of its text where the results came as text."""
    results = tool_results(request)
    return "\n".join(block_text(block.get("content", "")) for block in results) if results else last_text(request)


# --- matchers ---------------------------------------------------------------------------------------------------


def mismatches(expected: Mapping[str, Any], request: Mapping[str, Any]) -> list[str]:
    """One sentence per matcher that the request does not fulfil; raises ScriptError for an unknown matcher."""
    problems: list[str] = []
    for name, wanted in expected.items():
        checker = _MATCHERS.get(name)
        if checker is None:
            raise ScriptError(f"unknown matcher {name!r}; known are {sorted(_MATCHERS)}")
        problems.extend(checker(wanted, request))
    return problems


def _contains(what: str, text: str, wanted: Any) -> list[str]:
    return [f"{what} lacks {item!r}; it is {text[:600]!r}" for item in _listed(wanted) if item not in text]


def _equal(what: str, actual: Any, wanted: Any) -> list[str]:
    return [] if actual == wanted else [f"{what} is {actual!r}, expected {wanted!r}"]


def _tool_names(request: Mapping[str, Any]) -> list[str]:
    return [tool.get("name", "") for tool in request.get("tools") or []]


def _at(path: str, body: Any) -> Any:
    for part in path.split("."):
        if isinstance(body, list) and part.lstrip("-").isdigit() and -len(body) <= int(part) < len(body):
            body = body[int(part)]
        elif isinstance(body, Mapping):
            body = body.get(part)
        else:
            return None
    return body


def _match_errors(wanted: Any, request: Mapping[str, Any]) -> list[str]:
    return _equal("whether a tool result is an error", any(r.get("is_error") for r in tool_results(request)), wanted)


def _match_body(wanted: Any, request: Mapping[str, Any]) -> list[str]:
    return [problem for path, value in wanted.items() for problem in _equal(path, _at(path, request), value)]


_MATCHERS = {
    "last_contains": lambda wanted, r: _contains("the last message", last_text(r), wanted),
    "last_lacks": lambda wanted, r: [f"the last message has {w!r}" for w in _listed(wanted) if w in last_text(r)],
    "last_matches": lambda wanted, r: [
        f"the last message does not match {w!r}; it is {last_text(r)[:600]!r}"
        for w in _listed(wanted)
        if not re.search(w, last_text(r), re.MULTILINE)
    ],
    "tool_result_contains": lambda wanted, r: _contains("the last tool result", tool_result_text(r), wanted),
    "tool_result_lacks": lambda wanted, r: [
        f"the last tool result has {w!r}" for w in _listed(wanted) if w in tool_result_text(r)
    ],
    "tool_result_error": _match_errors,
    "n_tool_results": lambda wanted, r: _equal("the number of tool results", len(tool_results(r)), wanted),
    "n_messages": lambda wanted, r: _equal("the number of messages", len(r.get("messages") or []), wanted),
    "system_contains": lambda wanted, r: _contains("the system prompt", block_text(r.get("system", "")), wanted),
    "any_contains": lambda wanted, r: _contains("the conversation", "\n".join(_haystacks("anywhere", r)), wanted),
    "model": lambda wanted, r: _equal("the model", r.get("model"), wanted),
    "tools_include": lambda wanted, r: [f"no tool {w!r} was sent" for w in _listed(wanted) if w not in _tool_names(r)],
    "tools_exclude": lambda wanted, r: [f"the tool {w!r} was sent" for w in _listed(wanted) if w in _tool_names(r)],
    "body": _match_body,
}
