"""The Messages API on the wire: a scripted reply as a message, and a message as server-sent events. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

TEXT_CHUNK = 24
JSON_CHUNK = 20
CHARACTERS_PER_TOKEN = 2.8  # of English prose, code and JSON mixed, for the recent model family


def estimate_tokens(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return max(1, round(len(text) / CHARACTERS_PER_TOKEN))


def binding(messages: Sequence[Any]) -> str:
    """The signature that ties a thinking block to the messages before it."""
    text = json.dumps(_without_cache_marks(list(messages)), sort_keys=True)
    return "scripted-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _without_cache_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_cache_marks(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_without_cache_marks(item) for item in value]
    return value


def message(reply: Mapping[str, Any], request: Mapping[str, Any], number: int, usage: Json) -> Json:
    """The complete message that a filled reply stands for; `number` makes its ids unique."""
    content = list(reply["content"]) if "content" in reply else _blocks(reply, request, number)
    return {
        "id": f"msg_scripted_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": reply.get("model", request.get("model", "scripted-1")),
        "content": content,
        "stop_reason": reply.get("stop_reason", _stop_reason(reply, content)),
        "stop_sequence": None,
        "stop_details": reply.get("stop_details"),
        "usage": {**usage, "output_tokens": estimate_tokens(content), **_usage(reply.get("usage", {}))},
    }


def _stop_reason(reply: Mapping[str, Any], content: Sequence[Json]) -> str:
    if reply.get("cut"):
        return "max_tokens"
    return "tool_use" if any(block.get("type") == "tool_use" for block in content) else "end_turn"


def _usage(given: Mapping[str, int]) -> Json:
    names = {
        "input": "input_tokens",
        "output": "output_tokens",
        "cache_read": "cache_read_input_tokens",
        "cache_write": "cache_creation_input_tokens",
    }
    return {names.get(name, name): value for name, value in given.items()}


def _blocks(reply: Mapping[str, Any], request: Mapping[str, Any], number: int) -> list[Json]:
    blocks: list[Json] = []
    text = str(reply.get("text", ""))
    calls = list(reply.get("calls", ()))
    if reply.get("thinking"):
        signature = binding(request.get("messages") or [])
        blocks.append({"type": "thinking", "thinking": reply["thinking"], "signature": signature})
    if reply.get("as_text"):
        text = "\n\n".join(part for part in [text, *(_as_text(call, reply["as_text"]) for call in calls)] if part)
        calls = []
    if text:
        blocks.append({"type": "text", "text": text})
    for index, call in enumerate(calls):
        name, arguments = call["name"], call.get("arguments", {})
        identifier = call.get("id", f"toolu_{number:04d}_{index}")
        blocks.append({"type": "tool_use", "id": identifier, "name": name, "input": arguments})
    return blocks


def _as_text(call: Mapping[str, Any], form: str) -> str:
    body = json.dumps({"name": call["name"], "arguments": call.get("arguments", {})}, ensure_ascii=False)
    if form == "tag":
        return f"<tool_call>\n{body}\n</tool_call>"
    return body if form == "bare" else f"```json\n{body}\n```"


def not_streamed(complete: Json, cut: bool) -> Json:
    """The message as a non-streaming answer gives it: a cut tool call has an empty input there."""
    if not cut:
        return complete
    *rest, last = complete["content"]
    return {**complete, "content": [*rest, {**last, "input": {}} if last.get("type") == "tool_use" else last]}


def events(complete: Json, cut: bool) -> Iterator[Json]:
    """The events of a streamed message. `cut` ends the last block in its middle, as max_tokens does."""
    usage = complete["usage"]
    opening = {**complete, "content": [], "stop_reason": None, "stop_details": None}
    yield {"type": "message_start", "message": {**opening, "usage": {**usage, "output_tokens": 1}}}
    yield {"type": "ping"}
    last = len(complete["content"]) - 1
    for index, block in enumerate(complete["content"]):
        yield from _block_events(index, block, cut and index == last)
    ending = {key: complete[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Json, cut: bool) -> Iterator[Json]:
    kind = block["type"]
    if kind == "text":
        opening, deltas = {**block, "text": ""}, _deltas("text_delta", "text", block["text"], TEXT_CHUNK)
    elif kind == "thinking":
        opening = {**block, "thinking": "", "signature": ""}
        deltas = _deltas("thinking_delta", "thinking", block["thinking"], TEXT_CHUNK)
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
    elif kind in ("tool_use", "server_tool_use"):
        text = json.dumps(block["input"], ensure_ascii=False)
        opening = {**block, "input": {}}
        deltas = _deltas("input_json_delta", "partial_json", text, JSON_CHUNK)
    else:
        opening, deltas = block, []
    yield {"type": "content_block_start", "index": index, "content_block": opening}
    for delta in deltas[: max(1, len(deltas) // 2)] if cut else deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _deltas(kind: str, key: str, text: str, size: int) -> list[Json]:
    return [{"type": kind, key: text[start : start + size]} for start in range(0, len(text), size)]


def sse(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(kind: str, text: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_scripted"}


ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class PromptCache:
    """Which prefixes were sent before, so that `usage` shows what a real prompt cache would have saved.

    Counts whole messages after tools and system; only requests that carry `cache_control` write or read it.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def usage(self, request: Mapping[str, Any]) -> Json:
        head = [request.get("model"), request.get("tools"), request.get("system")]
        parts = [head, *(request.get("messages") or [])]
        sizes = [estimate_tokens(part) for part in parts]
        if "cache_control" not in json.dumps(request):
            return {"input_tokens": sum(sizes), "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        digest, prefixes = hashlib.sha256(), []
        for part in parts:
            digest.update(json.dumps(_without_cache_marks(part), sort_keys=True).encode("utf-8", "surrogatepass"))
            prefixes.append(digest.hexdigest())
        hit = max((count for count, prefix in enumerate(prefixes, 1) if prefix in self._seen), default=0)
        self._seen.update(prefixes)
        return {
            "input_tokens": 1,
            "cache_read_input_tokens": sum(sizes[:hit]),
            "cache_creation_input_tokens": sum(sizes[hit:]),
        }
