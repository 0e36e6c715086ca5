"""What a model can take: asked from its server, conservative defaults where the server cannot say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jupyter_agent.models.protocol import Endpoint, Json, ModelInfo

if TYPE_CHECKING:
    import anthropic

FIRST_PARTY = ModelInfo("", context_limit=200_000, max_output=32_000)
"""Every Claude model in service has at least these."""
ELSEWHERE = ModelInfo("", context_limit=32_000, max_output=4_000, images=False)
SECONDS = 5.0

_CONTEXT_KEYS = ("max_input_tokens", "loaded_context_length", "max_model_len", "context_length", "context_window")


async def ask(client: anthropic.AsyncAnthropic, endpoint: Endpoint) -> ModelInfo:
    """The limits of the endpoint's model. Never raises but CancelledError: where the server does not say, or not
    within 5 s, the defaults come with `asked=False`."""
    entry: Json | None = None
    try:
        async with asyncio.timeout(SECONDS):
            entry = await _retrieve(client, endpoint.model)
            if endpoint.local:
                entry = {**(entry or {}), **await _local_context(client, endpoint.model)}
    except Exception:
        # Whatever it was, the request for a reply will meet it again and say it to the person.
        entry = entry or None
    return from_entry(entry, endpoint)


async def _retrieve(client: anthropic.AsyncAnthropic, model: str) -> Json | None:
    """The model's entry as JSON: the SDK's own types warn about the shapes other servers give."""
    import anthropic

    try:
        entry = await client.get(f"/v1/models/{quote(model, safe='')}", cast_to=object)
        if isinstance(entry, dict):
            return entry
    except (anthropic.NotFoundError, anthropic.InternalServerError):
        pass
    page = await client.get("/v1/models", cast_to=object)
    entries = page.get("data") if isinstance(page, dict) else None
    return next((entry for entry in entries or [] if isinstance(entry, dict) and entry.get("id") == model), None)


async def _local_context(client: anthropic.AsyncAnthropic, model: str) -> Json:
    """The context a local server runs with now, which is what counts: llama.cpp's `/props`, Ollama's `/api/ps`."""
    import anthropic

    for path, find in (("/props", _llama_cpp_context), ("/api/ps", _ollama_context)):
        try:
            answer = await client.get(path, cast_to=object)
        except anthropic.APIError:
            continue
        found = find(answer, model) if isinstance(answer, Mapping) else None
        if found:
            return {"max_input_tokens": found}
    return {}


def _llama_cpp_context(answer: Mapping[str, Any], model: str) -> int | None:
    settings = answer.get("default_generation_settings")
    found = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    return found if isinstance(found, int) else None


def _ollama_context(answer: Mapping[str, Any], model: str) -> int | None:
    for loaded in answer.get("models") or []:
        if model in (loaded.get("name"), loaded.get("model")) and isinstance(loaded.get("context_length"), int):
            return int(loaded["context_length"])
    return None


def from_entry(entry: Mapping[str, Any] | None, endpoint: Endpoint) -> ModelInfo:
    """Limits from an entry of `/v1/models`, in the Messages API's shape or in that of vLLM, LM Studio, llama.cpp."""
    default = FIRST_PARTY if endpoint.anthropic else ELSEWHERE
    entry = entry or {}
    meta = entry.get("meta") or {}
    context = next((entry[key] for key in _CONTEXT_KEYS if isinstance(entry.get(key), int)), meta.get("n_ctx_train"))
    context = context if isinstance(context, int) and context > 0 else None
    output = entry.get("max_tokens")
    output = output if isinstance(output, int) and output > 0 else None
    capabilities = entry.get("capabilities")
    limit = context or default.context_limit
    return ModelInfo(
        id=endpoint.model,
        context_limit=limit,
        max_output=output or min(default.max_output, max(1_024, limit // 4)),
        thinking="adaptive" if _supported(capabilities, "thinking", "types", "adaptive") else "none",
        asked=context is not None,
        images=_images(capabilities, default.images),
    )


def _supported(capabilities: Any, *path: str) -> bool:
    for part in path:
        capabilities = capabilities.get(part) if isinstance(capabilities, Mapping) else None
    return isinstance(capabilities, Mapping) and capabilities.get("supported") is True


def _images(capabilities: Any, default: bool) -> bool:
    if isinstance(capabilities, Mapping) and "image_input" in capabilities:
        return _supported(capabilities, "image_input")
    if isinstance(capabilities, list) and capabilities:
        return bool({"multimodal", "vision"} & {str(item) for item in capabilities})
    return default
