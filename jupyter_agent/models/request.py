"""The body of a Messages-API request from settings and messages. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jupyter_agent.models.protocol import Endpoint, Json, ModelInfo
from jupyter_agent.text import estimate_tokens

OPTIONAL = frozenset({"cache_control", "thinking"})
"""Fields that save money or show more; an endpoint that refuses one gets the request without it."""

SMALLEST_REPLY = 1_024
NO_IMAGE = "[an image; this model does not look at images]"
IMAGE_TOKENS = 1_600
"""An image of 1568 px, the largest the tools send: width × height / 750, capped there by the service."""


def build(
    endpoint: Endpoint,
    info: ModelInfo,
    *,
    system: str,
    messages: Sequence[Json],
    tools: Sequence[Json],
    max_tokens: int | None = None,
    without: Collection[str] = (),
) -> Json:
    """The body, as keyword arguments of the SDK's `messages.create` and as it goes over the wire.

    `without` names optional fields this endpoint refused before. `messages` are not changed.
    """
    body: Json = {
        "model": endpoint.model,
        "messages": [_message(message, images=info.images) for message in messages],
        "stream": True,
    }
    if system:
        body["system"] = system
    if tools:
        body["tools"] = list(tools)
    body["max_tokens"] = _output_limit(info, max_tokens, input_tokens(body))
    if caches(endpoint):
        body["cache_control"] = {"type": "ephemeral"}
    if info.thinking == "adaptive":
        # Without `display` the text between tool calls comes as empty thinking blocks.
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
    return {key: value for key, value in body.items() if key not in OPTIONAL or key not in without}


def caches(endpoint: Endpoint) -> bool:
    """Whether automatic prompt caching is asked for: first-party, or a Claude model behind a remote gateway."""
    return endpoint.anthropic or (not endpoint.local and "claude" in endpoint.model)


def input_tokens(body: Mapping[str, Any]) -> int:
    """Estimated tokens of the system prompt, tools and messages of a body; images count by size, not as base64."""
    messages = [_message(message, images=False) for message in body["messages"]]
    text = json.dumps([body.get("system"), body.get("tools"), messages], ensure_ascii=False)
    return estimate_tokens(text, "notebook") + IMAGE_TOKENS * text.count(NO_IMAGE)


def _output_limit(info: ModelInfo, wanted: int | None, input_tokens: int) -> int:
    """`max_tokens` within the model's output limit and what the context leaves beside the (estimated) input."""
    room = max(info.context_limit - input_tokens, SMALLEST_REPLY)
    return min(wanted or info.max_output, info.max_output, room)


def _message(message: Mapping[str, Any], *, images: bool) -> Json:
    content = message["content"]
    if images or isinstance(content, str):
        return dict(message)
    return {**message, "content": [_without_images(block) for block in content]}


def _without_images(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    if block.get("type") == "image":
        return {"type": "text", "text": NO_IMAGE}
    if isinstance(block.get("content"), list):
        return {**block, "content": [_without_images(inner) for inner in block["content"]]}
    return block
