"""Limits: asked from servers of several kinds, conservative where none says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jupyter_agent.models.client import MessagesModel
from jupyter_agent.models.limits import ELSEWHERE, FIRST_PARTY, from_entry
from jupyter_agent.models.protocol import Endpoint, ModelInfo
from jupyter_agent.models.request import build, input_tokens
from jupyter_agent.testing.scripted import ScriptedServer, refused_url

Connect = Callable[..., MessagesModel]

HERE = Endpoint("http://127.0.0.1:1", "127.0.0.1", "m", local=True, anthropic=False, source="test")
THERE = Endpoint("https://api.anthropic.com", "api.anthropic.com", "m", local=False, anthropic=True, source="test")


@asynccontextmanager
async def json_server(answers: Mapping[str, Any]) -> AsyncIterator[str]:
    """A local server that answers GETs by path, everything else with 404."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        answer = answers.get(head.split()[1].decode().partition("?")[0])
        status = "404 Not Found" if answer is None else "200 OK"
        body = json.dumps(answer or {"error": "no"}).encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n".encode()
        writer.write(head + b"connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("answers", "context", "images"),
    [
        ({"/v1/models": {"object": "list", "data": [{"id": "scripted-1", "max_model_len": 16384}]}}, 16384, False),
        (
            {
                "/v1/models": {"data": [{"id": "scripted-1", "meta": {"n_ctx_train": 131072}}]},
                "/props": {"default_generation_settings": {"n_ctx": 8192}},
            },
            8192,
            False,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "scripted-1", "object": "model"}]},
                "/api/ps": {
                    "models": [{"name": "other", "context_length": 1}, {"name": "scripted-1", "context_length": 4096}]
                },
            },
            4096,
            False,
        ),
        (
            {"/v1/models/scripted-1": {"id": "scripted-1", "loaded_context_length": 12000, "capabilities": ["vision"]}},
            12000,
            True,
        ),
    ],
    ids=["vLLM", "llama.cpp", "Ollama", "LM Studio"],
)
async def test_local_servers_say_it_in_their_ways(
    connect: Connect, answers: Mapping[str, Any], context: int, images: bool
) -> None:
    async with json_server(answers) as url:
        info = await connect(url).info()
        assert (info.context_limit, info.images, info.asked) == (context, images, True)
        assert info.max_output == max(1024, min(4000, context // 4))


async def test_a_server_that_cannot_say_gets_defaults_and_no_delay(connect: Connect) -> None:
    async with ScriptedServer([{"server": {"models": None}}]) as server:
        info = await connect(server.url).info()
        assert info == ModelInfo("scripted-1", ELSEWHERE.context_limit, ELSEWHERE.max_output, images=False)
        first = await connect(server.url, anthropic=True, local=False).info()
        assert (first.context_limit, first.asked, first.images) == (FIRST_PARTY.context_limit, False, True)


async def test_an_unreachable_server_is_no_error_here(connect: Connect) -> None:
    with refused_url() as url:
        assert not (await connect(url).info()).asked


def test_entry_of_the_messages_api() -> None:
    yes, no = {"supported": True}, {"supported": False}
    entry = {
        "max_input_tokens": 1_000_000,
        "max_tokens": 128_000,
        "capabilities": {"image_input": no, "thinking": {"supported": True, "types": {"adaptive": yes}}},
    }
    assert from_entry(entry, THERE) == ModelInfo("m", 1_000_000, 128_000, "adaptive", True, False)
    entry["capabilities"] = {"image_input": yes, "thinking": {"supported": True, "types": {"adaptive": no}}}
    assert from_entry(entry, THERE) == ModelInfo("m", 1_000_000, 128_000, "none", True, True)


def test_nonsense_in_an_entry_is_ignored() -> None:
    entry = {"max_input_tokens": "many", "max_tokens": -1, "capabilities": "all", "meta": None}
    assert from_entry(entry, HERE) == ModelInfo("m", ELSEWHERE.context_limit, ELSEWHERE.max_output, images=False)


def test_output_limit_leaves_room_for_the_input() -> None:
    info = ModelInfo("m", context_limit=10_000, max_output=8_000)
    long = [{"role": "user", "content": "word " * 4_000}]
    body = build(HERE, info, system="", messages=long, tools=[])
    assert 1_024 <= body["max_tokens"] <= 10_000 - input_tokens(body)
    assert build(HERE, info, system="", messages=long[:0], tools=[])["max_tokens"] == 8_000
    assert build(HERE, info, system="", messages=long * 9, tools=[], max_tokens=99)["max_tokens"] == 99


def test_images_count_by_size_and_not_as_base64() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "Look."}]
    tokens = input_tokens({"messages": [{"role": "user", "content": content}]})
    assert 1_600 <= tokens < 1_800


def test_a_claude_behind_a_gateway_is_cached_a_local_one_is_not() -> None:
    gateway = Endpoint("https://g.example", "g.example", "us.claude-opus-5-5", local=False, anthropic=False, source="")
    messages = [{"role": "user", "content": "x"}]
    info = ModelInfo("m", 10_000, 1_000)
    assert "cache_control" in build(gateway, info, system="", messages=messages, tools=[])
    assert "cache_control" not in build(HERE, info, system="", messages=messages, tools=[])
    assert "cache_control" not in build(
        gateway, info, system="", messages=messages, tools=[], without={"cache_control"}
    )
