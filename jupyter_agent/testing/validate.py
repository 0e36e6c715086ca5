"""What the Messages API refuses in a request, as far as this package could get it wrong. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_agent.testing.wire import binding

Json = Mapping[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_UNKNOWN = frozenset({"temperature", "top_p", "top_k"})


def problems(request: Json) -> list[str]:
    """Sentences about what the real service would answer 400 to; empty when the request is good."""
    return [*_parameters(request), *_tools(request), *_messages(request), *_bindings(request)]


def _parameters(request: Json) -> Iterator[str]:
    for name in ("model", "max_tokens", "messages"):
        if not request.get(name):
            yield f"{name}: Field required"
    for name in _UNKNOWN & set(request):
        yield f"{name}: Extra inputs are not permitted"
    limit = request.get("max_tokens")
    thinking = request.get("thinking") or {}
    if thinking.get("type") == "enabled" and thinking.get("budget_tokens", 0) >= (limit or 0):
        yield "max_tokens must be greater than thinking.budget_tokens"


def _tools(request: Json) -> Iterator[str]:
    seen = set()
    for index, tool in enumerate(request.get("tools") or []):
        name = tool.get("name", "")
        if not _NAME.fullmatch(name):
            yield f"tools.{index}.name: {name!r} should match {_NAME.pattern}"
        if name in seen:
            yield f"tools: Tool names must be unique ({name})"
        seen.add(name)
        if "type" not in tool and (tool.get("input_schema") or {}).get("type") != "object":
            yield f"tools.{index}.input_schema.type: Input should be 'object'"


def _messages(request: Json) -> Iterator[str]:
    messages = request.get("messages") or []
    if messages and messages[0].get("role") != "user":
        yield "messages: first message must use the user role"
    if messages and messages[-1].get("role") == "assistant" and not _paused(messages[-1]):
        yield "This model does not support assistant message prefill"
    pending: set[str] = set()
    for index, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant", "system"):
            yield f"messages.{index}.role: unknown role {message.get('role')!r}"
        yield from _content(index, message)
        blocks = [b for b in message.get("content") or [] if isinstance(b, Mapping)]
        results = {b.get("tool_use_id", "") for b in blocks if b.get("type") == "tool_result"}
        if message.get("role") == "user" or results:
            if pending - results:
                yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks: {sorted(pending)}"
            if results - pending:
                yield f"messages.{index}: unexpected `tool_use_id` in `tool_result` blocks: {sorted(results)}"
            pending = set()
        elif pending and message.get("role") == "assistant":
            yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks: {sorted(pending)}"
        if message.get("role") == "assistant":
            pending = {b.get("id", "") for b in blocks if b.get("type") == "tool_use"}
    if pending and messages[-1].get("role") == "assistant":
        yield f"`tool_use` ids were found without `tool_result` blocks: {sorted(pending)}"


def _paused(message: Json) -> bool:
    """Whether this is the reply of a `pause_turn`, which is continued by sending it back as it is."""
    blocks = message.get("content")
    return isinstance(blocks, list) and any(block.get("type") == "server_tool_use" for block in blocks)


def _content(index: int, message: Json) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip():
            yield f"messages.{index}: text content blocks must contain non-whitespace text"
        return
    if not content:
        yield f"messages.{index}: content must not be empty"
    for number, block in enumerate(content or []):
        yield from _block(f"messages.{index}.content.{number}", block)


def _block(where: str, block: Any) -> Iterator[str]:
    if not isinstance(block, Mapping) or "type" not in block:
        yield f"{where}: Input should be a content block"
    elif block["type"] == "text" and not str(block.get("text", "")).strip():
        yield f"{where}: text content blocks must contain non-whitespace text"
    elif block["type"] == "tool_use" and not isinstance(block.get("input"), Mapping):
        yield f"{where}.input: Input should be a valid dictionary"
    elif block["type"] == "image":
        yield from _image(where, block.get("source") or {})
    elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
        for number, inner in enumerate(block["content"]):
            yield from _block(f"{where}.content.{number}", inner)


def _image(where: str, source: Json) -> Iterator[str]:
    signatures = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
    if source.get("type") != "base64":
        return
    try:
        data = base64.b64decode(source.get("data", ""), validate=True)
    except (binascii.Error, ValueError):
        yield f"{where}.source: invalid base64 data"
        return
    kind = source.get("media_type", "")
    if kind not in signatures or not data.startswith(signatures[kind]):
        yield f"{where}.source: the image does not match the media type {kind!r}"
    if len(data) > 5 * 1024 * 1024:
        yield f"{where}.source: image exceeds 5 MB maximum"


def _bindings(request: Json) -> Iterator[str]:
    messages = request.get("messages") or []
    for index, message in enumerate(messages):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            signature = block.get("signature", "") if isinstance(block, Mapping) else ""
            if signature.startswith("scripted-") and signature != binding(messages[:index]):
                yield f"messages.{index}: the messages before this `thinking` block were changed since it was written"
