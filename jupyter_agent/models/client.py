"""The model behind an endpoint that speaks the Messages API, through the anthropic SDK: raw stream, no retries.

Touches the network only at the endpoint's address. Importing the SDK takes a second and happens on a worker thread;
`preload` does it before an event loop matters.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from jupyter_agent.errors import ModelError
from jupyter_agent.models import limits, request
from jupyter_agent.models.faults import status_error, to_model_error
from jupyter_agent.models.holdback import Holdback
from jupyter_agent.models.protocol import Endpoint, Json, ModelInfo, OnDelta, Reply, TokenCount
from jupyter_agent.models.retry import Retry
from jupyter_agent.models.stream import Accumulator
from jupyter_agent.models.textcalls import with_text_calls
from jupyter_agent.text import Secrets

if TYPE_CHECKING:
    import anthropic

CONNECT_SECONDS = 10.0
STALL_SECONDS = 180.0
LOCAL_STALL_SECONDS = 900.0
"""A small machine reads a long prompt for many minutes before the first token."""
CONTINUATIONS = 4
"""Further requests after `pause_turn`, each of which continues the same reply."""
ASK_AGAIN_SECONDS = 60.0
LIST_SECONDS = 20.0


@dataclass(frozen=True)
class Credential:
    """`key` and `token` are sent as Bearer, a key also as `x-api-key` where the endpoint is a gateway; `sdk`: the SDK
    finds a profile of this machine; `none`: nothing of the user's is sent, not even custom headers."""

    kind: Literal["key", "token", "sdk", "none"]
    value: str = field(default="", repr=False)


def preload() -> None:
    """Imports the SDK; call it where no event loop is running yet."""
    import anthropic  # noqa: F401


class MessagesModel:
    """Implements `Model`. One object serves a whole tree of agents, whose retries are then shared.

    `stall_seconds`: how long a stream may be silent before it counts as cut (default 180, on loopback 900).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credential: Credential,
        *,
        retry: Retry | None = None,
        stall_seconds: float | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._credential = credential
        self._retry = retry or Retry()
        self._stall = stall_seconds or (LOCAL_STALL_SECONDS if endpoint.local else STALL_SECONDS)
        self._secrets = Secrets({"API key": credential.value} if credential.value else {})
        self._client: anthropic.AsyncAnthropic | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._setting_up = asyncio.Lock()
        self._info: ModelInfo | None = None
        self._ask_again_at = 0.0
        self._refused_options: set[str] = set()

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    async def info(self) -> ModelInfo:
        """The model's limits, asked once; asked again after a minute where the server could not say."""
        client = await self._connected()
        async with self._setting_up:
            again = self._info is not None and not self._info.asked and time.monotonic() > self._ask_again_at
            if self._info is None or again:
                self._ask_again_at = time.monotonic() + ASK_AGAIN_SECONDS
                self._info = await limits.ask(client, self._endpoint)
            return self._info

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
        info = await self.info()
        history = list(messages)
        parts: list[Reply] = []
        wasted = [TokenCount(0, 0)]

        async def attempt() -> Reply:
            return await self._attempt(info, system, history, tools, max_tokens, on_delta, wasted)

        while True:
            parts.append(await self._retry.run(attempt, on_retry=on_retry, before_attempt=before_attempt))
            if parts[-1].stop_reason != "pause_turn" or len(parts) > CONTINUATIONS:
                return replace(_joined(parts), wasted=_sum([*wasted, *(part.usage for part in parts[:-1])]))
            history = [*messages, {"role": "assistant", "content": list(_joined(parts).raw)}]

    async def models(self) -> list[str]:
        """The ids the endpoint lists, newest first where it sorts them. Raises ModelError; not retried."""
        client = await self._connected()
        try:
            async with asyncio.timeout(LIST_SECONDS):
                page = await client.models.list()
            return [entry.id for entry in page.data or []]
        except Exception as error:
            raise self._masked(to_model_error(error, self._endpoint)) from error

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    # --- one request ----------------------------------------------------------------------------------------------

    async def _attempt(
        self,
        info: ModelInfo,
        system: str,
        messages: Sequence[Json],
        tools: Sequence[Json],
        max_tokens: int | None,
        on_delta: OnDelta | None,
        wasted: list[TokenCount],
    ) -> Reply:
        """One reply, tried a second time only without an optional field that the endpoint refuses."""
        while True:
            body = request.build(
                self._endpoint,
                info,
                system=system,
                messages=messages,
                tools=tools,
                max_tokens=max_tokens,
                without=self._refused_options,
            )
            accumulator = Accumulator()
            try:
                return await self._stream(body, accumulator, on_delta)
            except Exception as error:
                wasted.append(accumulator.wasted)
                fault = self._masked(to_model_error(error, self._endpoint))
                refused = {name for name in request.OPTIONAL & set(body) if name in fault.message}
                if fault.kind != "invalid" or not refused:
                    raise fault from error
                self._refused_options |= refused

    async def _stream(self, body: Json, accumulator: Accumulator, on_delta: OnDelta | None) -> Reply:
        client = await self._connected()
        names = [str(tool["name"]) for tool in body.get("tools", ())]
        hold = None if self._endpoint.anthropic or on_delta is None else Holdback(on_delta)
        show = hold.feed if hold is not None else on_delta
        stream: Any = await client.messages.create(**body)
        async with stream:
            _require_stream(stream.response.headers.get("content-type", ""), self._endpoint)
            # The events as they came: typed ones cost twice the time and warn about what other servers leave out.
            async for event in stream.raw_events(stream.response):
                if not event.data:
                    continue
                data = event.json()
                if event.event == "error" or data.get("type") == "error":
                    raise status_error(200, data, {}, self._endpoint)
                shown = accumulator.feed(data)
                if shown is not None and show is not None:
                    show("thinking" if shown[0] == "thinking" else "text", shown[1])
        reply = accumulator.finish(self._endpoint.model, self._endpoint.host, _tool_ids(body["messages"]))
        if not self._endpoint.anthropic:
            reply = with_text_calls(reply, names, len(body["messages"]))
        if hold is not None:
            hold.finish(withheld_were_calls=reply.text_calls)
        return reply

    def _masked(self, error: ModelError) -> ModelError:
        """Some gateways repeat the key in their error message."""
        text = self._secrets.mask(error.message)
        if text == error.message:
            return error
        return ModelError(error.kind, text, retryable=error.retryable, retry_after=error.retry_after)

    # --- the SDK's client -------------------------------------------------------------------------------------------

    async def _connected(self) -> anthropic.AsyncAnthropic:
        """The SDK's client for the running event loop (its connections belong to the loop that made them)."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._client, self._setting_up = loop, None, asyncio.Lock()
        async with self._setting_up:
            if self._client is None:
                try:
                    self._client = await asyncio.to_thread(self._build)
                except Exception as error:
                    raise to_model_error(error, self._endpoint) from error
            return self._client

    def _build(self) -> anthropic.AsyncAnthropic:
        import anthropic

        endpoint, credential = self._endpoint, self._credential
        # Redirects could carry the conversation and x-api-key to another host; proxies must not see loopback traffic.
        # Without TLS there is nothing to verify, and loading the certificates costs 50 ms.
        transport = anthropic.DefaultAsyncHttpxClient(
            follow_redirects=False, trust_env=not endpoint.local, verify=not endpoint.base_url.startswith("http://")
        )
        headers: dict[str, Any] = dict(endpoint.headers)
        options: dict[str, Any] = {}
        if credential.kind == "key":
            options["api_key"] = credential.value
            if not endpoint.anthropic:
                headers["x-api-key"] = credential.value
        elif credential.kind == "token":
            options["auth_token"] = credential.value
        elif credential.kind == "none":
            options["api_key"] = "none"
            headers |= dict.fromkeys(_custom_header_names(), anthropic.omit)
        return anthropic.AsyncAnthropic(
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=anthropic.Timeout(self._stall, connect=CONNECT_SECONDS),
            default_headers=headers,
            http_client=transport,
            **options,
        )


def _custom_header_names() -> list[str]:
    """Headers that the SDK would add from ANTHROPIC_CUSTOM_HEADERS, which may hold secrets of another host."""
    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


def _require_stream(content_type: str, endpoint: Endpoint) -> None:
    """Raises ModelError("invalid") for an answer that is no event stream: a log-in page, a gateway's plain JSON."""
    if content_type.startswith("text/event-stream"):
        return
    what = "a web page" if "html" in content_type else f"{content_type or 'something'} that is no stream"
    raise ModelError(
        "invalid",
        f"{endpoint.base_url} answered with {what}. Check that it is the address of a Messages API (--base-url) "
        "and that no log-in page or proxy stands before it.",
    )


def _tool_ids(messages: Sequence[Json]) -> set[str]:
    return {
        block["id"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block, dict) and block.get("type") == "tool_use"
    }


def _joined(parts: Sequence[Reply]) -> Reply:
    """The parts of a reply that paused, as one."""
    last = parts[-1]
    return replace(
        last,
        text="".join(part.text for part in parts),
        thinking="".join(part.thinking for part in parts),
        calls=[call for part in parts for call in part.calls],
        raw=[block for part in parts for block in part.raw],
    )


def _sum(counts: Sequence[TokenCount]) -> TokenCount:
    return TokenCount(
        sum(count.input for count in counts),
        sum(count.output for count in counts),
        sum(count.cache_read for count in counts),
        sum(count.cache_write for count in counts),
    )
