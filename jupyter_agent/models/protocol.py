"""The model protocol: one reply at a time, streamed, from whatever speaks the Messages API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call of the model. `arguments` is as the model gave it (any JSON); schema repair is the tool layer's."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class TokenCount:
    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Reply:
    """A complete reply. `raw` are the content blocks as JSON, ready to be sent back; it may be empty.

    `stop_reason` is the API's; after `model_context_window_exceeded` the history must be compacted before the next
    call. `model` is the id that was asked for, as in `ModelInfo.id`. A tool call cut short by the output limit is
    never executed: `cut` names its tool, and neither `calls` nor `raw` hold it. `text_calls` says that the calls were
    parsed out of text, so their results go back as user text. `wasted` are the tokens of attempts that broke in the
    middle before this reply came: they cost, but say nothing about the context.
    """

    text: str
    thinking: str
    calls: Sequence[Call]
    stop_reason: str
    model: str
    raw: Sequence[Json]
    usage: TokenCount
    cut: str | None = None
    text_calls: bool = False
    wasted: TokenCount = TokenCount(0, 0)


@dataclass(frozen=True)
class ModelInfo:
    """Limits asked from the server, or conservative defaults (`asked=False`) where it cannot say.

    `images`: whether it looks at images; without, the request carries a placeholder in their place.
    """

    id: str
    context_limit: int
    max_output: int
    thinking: Literal["adaptive", "none"] = "none"
    asked: bool = False
    images: bool = True


@dataclass(frozen=True)
class Endpoint:
    """Where a model answers. `host` is shown in the first-use notice; `local` means loopback; `anthropic` a first-party
    endpoint, on which tool calls never come as text. `source` says how it was resolved. `headers` hold no secret."""

    base_url: str
    host: str
    model: str
    local: bool
    anthropic: bool
    source: str
    headers: Json = field(default_factory=dict)


OnDelta = Callable[[Literal["text", "thinking"], str], None]


class Model(Protocol):
    """Raises ModelError with a `kind` (errors.py) and a sentence; asyncio.CancelledError stops the request."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def info(self) -> ModelInfo: ...

    async def reply(
        self,
        *,
        system: str,
        messages: Sequence[Json],
        tools: Sequence[Json],
        max_tokens: int | None = None,
        on_delta: OnDelta | None = None,
        on_retry: Callable[[str, float], None] | None = None,
        before_attempt: Callable[[], None] | None = None,
    ) -> Reply:
        """One reply; transient faults are retried here and nowhere else, `before_attempt` (the budget's check) runs
        before each HTTP call, `on_retry(reason, seconds)` before each pause, and text streamed by a broken attempt is
        withdrawn by `on_delta` of the next one starting over (a retry is announced first)."""
        ...

    async def close(self) -> None: ...
