"""The client against the scripted server through the real SDK: streaming, tools, thinking, caching, stop reasons."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_agent.errors import ModelError
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.protocol import TokenCount
from jupyter_agent.testing.clock import CountedClock
from jupyter_agent.testing.scripted import ScriptedServer

Connect = Callable[..., MessagesModel]

TOOLS = [{"name": "read_cells", "description": "…", "input_schema": {"type": "object", "properties": {}}}]
ADAPTIVE = {"thinking": {"supported": True, "types": {"adaptive": {"supported": True}}}}


def user(text: str = "Hello") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


async def test_text_thinking_and_calls_stream_and_come_back_whole(connect: Connect) -> None:
    arguments = {"cells": ["ä" * 50, "b"], "limit": 3}
    script = [
        {
            "thinking": "Let me see. " * 9,
            "text": "I read. " * 9,
            "calls": [{"name": "read_cells", "arguments": arguments}],
        },
        {"text": "Done.", "expect": {"tool_result_contains": "the cells", "n_messages": 3}},
    ]
    async with ScriptedServer(script) as server:
        model = connect(server.url, anthropic=True)
        seen: list[tuple[str, str]] = []
        first = await model.reply(system="s", messages=[user()], tools=TOOLS, on_delta=lambda *d: seen.append(d))
        assert (first.text, first.thinking) == ("I read. " * 9, "Let me see. " * 9)
        assert "".join(text for block, text in seen if block == "text") == first.text
        assert "".join(text for block, text in seen if block == "thinking") == first.thinking
        assert len(seen) > 5
        assert [(call.name, call.arguments) for call in first.calls] == [("read_cells", arguments)]
        assert (first.stop_reason, first.cut, first.text_calls) == ("tool_use", None, False)
        assert json.loads(json.dumps(first.raw)) == first.raw
        result = {"type": "tool_result", "tool_use_id": first.calls[0].id, "content": "the cells"}
        # The scripted server refuses an edited history: `raw` comes back exactly as it was given.
        messages = [user(), {"role": "assistant", "content": first.raw}, {"role": "user", "content": [result]}]
        second = await model.reply(system="s", messages=messages, tools=TOOLS)
        assert second.text == "Done."


async def test_first_party_asks_for_caching_and_adaptive_thinking(connect: Connect) -> None:
    models = [{"id": "scripted-1", "max_input_tokens": 1_000_000, "max_tokens": 128_000, "capabilities": ADAPTIVE}]
    async with ScriptedServer([{"server": {"models": models}}, {"text": "a"}, {"text": "b"}]) as server:
        model = connect(server.url, anthropic=True)
        info = await model.info()
        assert (info.context_limit, info.max_output, info.thinking, info.asked) == (
            1_000_000,
            128_000,
            "adaptive",
            True,
        )
        first = await model.reply(system="s" * 3000, messages=[user()], tools=TOOLS, max_tokens=500)
        history = [user(), {"role": "assistant", "content": first.raw}, user("More")]
        second = await model.reply(system="s" * 3000, messages=history, tools=TOOLS)
        body = server.messages[0]
        assert body["cache_control"] == {"type": "ephemeral"}
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["max_tokens"] == 500
        assert server.messages[1]["max_tokens"] == 128_000
        assert first.usage.cache_write > 1000
        assert second.usage.cache_read == first.usage.cache_write


async def test_local_endpoint_gets_neither(connect: Connect) -> None:
    async with ScriptedServer([{"text": "a"}]) as server:
        await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert not {"cache_control", "thinking", "system", "tools", "temperature"} & set(server.messages[0])


async def test_an_optional_field_the_gateway_refuses_is_left_out_from_then_on(connect: Connect) -> None:
    fault = {"status": 400, "message": "cache_control: Extra inputs are not permitted"}
    script = [{"fault": fault}, {"text": "a"}, {"text": "b"}]
    async with ScriptedServer(script) as server:
        model = connect(server.url, local=False, model="claude-sonnet-5-5")
        assert (await model.reply(system="", messages=[user()], tools=[])).text == "a"
        assert (await model.reply(system="", messages=[user()], tools=[])).text == "b"
        assert ["cache_control" in body for body in server.messages] == [True, False, False]


async def test_headers(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Secret: of another host")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-another-host")
    async with ScriptedServer([{"text": "a", "repeat": "forever"}]) as server:
        for options in (
            {"anthropic": True},
            {"anthropic": False},
            {"credential": Credential("token", "tok-123456")},
            {"credential": Credential("none")},
        ):
            await connect(server.url, **options).reply(system="", messages=[user()], tools=[])
        first, gateway, token, nothing = [r.headers for r in server.requests if r.path == "/v1/messages"]
        assert first["authorization"] == "Bearer sk-test-1234567890"
        assert "x-api-key" not in first
        assert gateway["authorization"] == "Bearer sk-test-1234567890"
        assert gateway["x-api-key"] == "sk-test-1234567890"
        assert token["authorization"] == "Bearer tok-123456"
        assert "x-api-key" not in token
        assert "sk-of-another-host" not in str(nothing)
        assert "x-secret" not in nothing
        assert "x-secret" in first


async def test_loopback_traffic_ignores_the_proxy(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer() as proxy, ScriptedServer([{"text": "a"}]) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await connect(server.url).reply(system="", messages=[user()], tools=[])).text == "a"
        assert proxy.requests == []


async def test_a_tool_call_cut_by_the_output_limit_is_never_a_call(connect: Connect) -> None:
    calls = [{"name": "read_cells", "arguments": {"a": 1}}, {"name": "write_file", "arguments": {"content": "x" * 200}}]
    script = [{"text": "Writing.", "calls": calls, "cut": True}, {"calls": [{"name": "read_cells"}], "cut": True}]
    async with ScriptedServer(script) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=TOOLS)
        assert [call.name for call in reply.calls] == ["read_cells"]
        assert reply.cut == "write_file"
        assert reply.stop_reason == "max_tokens"
        assert [block["type"] for block in reply.raw] == ["text", "tool_use"]
        # Cut before its first argument, where the SDK's helper would report an empty, complete input.
        empty = await connect(server.url).reply(system="", messages=[user()], tools=TOOLS)
        assert (empty.calls, empty.raw, empty.cut) == ([], [], "read_cells")


async def test_refusal_is_an_error_with_its_reason(connect: Connect) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
    script = [{"text": "I", "stop_reason": "refusal", "stop_details": details}]
    async with ScriptedServer(script) as server:
        with pytest.raises(ModelError, match="declined to answer: It could do harm") as caught:
            await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert caught.value.kind == "refusal"
        assert len(server.messages) == 1


async def test_a_paused_turn_is_continued_and_joined(connect: Connect) -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    script = [
        {
            "content": [{"type": "text", "text": "Look"}, use],
            "stop_reason": "pause_turn",
            "usage": {"input": 7, "output": 3},
        },
        {"text": "ing.", "expect": {"n_messages": 2, "body": {"messages.-1.role": "assistant"}}},
    ]
    async with ScriptedServer(script) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert reply.text == "Looking."
        assert reply.stop_reason == "end_turn"
        assert [block["type"] for block in reply.raw] == ["text", "server_tool_use", "text"]
        assert reply.wasted == TokenCount(7, 3)


async def test_a_full_context_is_told(connect: Connect) -> None:
    script = [{"text": "As far as", "stop_reason": "model_context_window_exceeded"}]
    async with ScriptedServer(script) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert reply.stop_reason == "model_context_window_exceeded"
        assert reply.text == "As far as"


async def test_an_empty_reply_is_a_reply(connect: Connect) -> None:
    async with ScriptedServer([{}]) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert (reply.text, reply.calls, reply.raw, reply.stop_reason) == ("", [], [], "end_turn")


async def test_stop_closes_the_connection(connect: Connect) -> None:
    async with ScriptedServer([{"text": "Long. " * 50, "pause_until": "never"}, {"text": "next"}]) as server:
        model = connect(server.url)
        streaming = asyncio.Event()
        task = asyncio.create_task(
            model.reply(system="", messages=[user()], tools=[], on_delta=lambda *_: streaming.set())
        )
        await asyncio.wait_for(streaming.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.reply(system="", messages=[user()], tools=[])).text == "next"


async def test_ids_that_a_local_server_uses_twice_are_made_unique(connect: Connect) -> None:
    calls = [{"id": "call_0", "name": "read_cells"}, {"id": "call_0", "name": "read_cells"}]
    async with ScriptedServer([{"server": {"strict": False}}, {"calls": calls}]) as server:
        before = {"type": "tool_use", "id": "call_0", "name": "read_cells", "input": {}}
        answered = {"type": "tool_result", "tool_use_id": "call_0", "content": "x"}
        history = [user(), {"role": "assistant", "content": [before]}, {"role": "user", "content": [answered]}]
        reply = await connect(server.url).reply(system="", messages=history, tools=TOOLS)
        ids = [call.id for call in reply.calls]
        assert len({"call_0", *ids}) == 3
        assert [block["id"] for block in reply.raw] == ids


async def test_input_that_is_no_json_object_reaches_the_tool_layer_as_written(connect: Connect) -> None:
    async with ScriptedServer([{"calls": [{"name": "read_cells", "arguments": ["a"]}]}]) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=TOOLS)
        assert reply.calls[0].arguments == ["a"]
        assert reply.raw[0]["input"] == {"arguments": ["a"]}


async def test_images_become_a_placeholder_where_the_model_has_no_eyes(connect: Connect) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [image]}
    call = {"type": "tool_use", "id": "t1", "name": "read_cells", "input": {}}
    history = [user(), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result, image]}]
    async with ScriptedServer([{"text": "a", "repeat": 2}]) as server:
        await connect(server.url).reply(system="", messages=history, tools=TOOLS)
        await connect(server.url, anthropic=True).reply(system="", messages=history, tools=TOOLS)
        blind, seeing = server.messages
        assert "base64" not in json.dumps(blind)
        assert "does not look at images" in json.dumps(blind)
        assert seeing["messages"] == history


async def test_one_model_serves_several_event_loops_one_after_another() -> None:
    from jupyter_agent.models.client import MessagesModel
    from jupyter_agent.models.protocol import Endpoint

    with ScriptedServer([{"text": "a", "repeat": 2}]) as server:
        model = MessagesModel(Endpoint(server.url, "h", "scripted-1", True, False, "test"), Credential("none"))

        async def once() -> str:
            reply = await model.reply(system="", messages=[user()], tools=[])
            return reply.text

        def run() -> str:
            async def main() -> str:
                try:
                    return await once()
                finally:
                    await model.close()

            return asyncio.run(main())

        assert await asyncio.to_thread(run) == "a"
        assert await asyncio.to_thread(run) == "a"


async def test_wasted_tokens_of_a_broken_attempt_are_counted(connect: Connect, clock: CountedClock) -> None:
    usage = {"input": 1000, "output": 9}
    broken = {"text": "x" * 280, "fault": {"kind": "close_midway", "after": 8}, "usage": usage}
    async with ScriptedServer([broken, {"text": "ok", "usage": usage}]) as server:
        reply = await connect(server.url).reply(system="", messages=[user()], tools=[])
        assert reply.usage == TokenCount(1000, 9)
        assert reply.wasted.input == 1000
        assert reply.wasted.output >= 30
        assert len(clock.slept) == 1


async def test_agents_that_start_together_share_one_client_and_ask_the_limits_once(connect: Connect) -> None:
    async with ScriptedServer([{"text": "a", "repeat": 8}]) as server:
        model = connect(server.url)
        asking = (model.reply(system="", messages=[user()], tools=[]) for _ in range(8))
        assert {reply.text for reply in await asyncio.gather(*asking)} == {"a"}
        assert [r.path for r in server.requests if r.method == "GET"] == ["/v1/models/scripted-1", "/props", "/api/ps"]
