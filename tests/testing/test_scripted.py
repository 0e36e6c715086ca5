"""The scripted server itself: scripts, templates, matchers, request validation, caching, the command line."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.testing.script import ScriptError, load, mismatches
from jupyter_agent.testing.scripted import ScriptedServer, refused_url
from jupyter_agent.testing.validate import problems

USER = {"role": "user", "content": "Hello"}


def post(url: str, body: dict[str, Any], path: str = "/v1/messages") -> tuple[int, Any]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def ask(url: str, *messages: dict[str, Any], **more: Any) -> tuple[int, Any]:
    return post(url, {"model": "m", "max_tokens": 100, "messages": list(messages or [USER]), **more})


def result(text: str, call: str = "toolu_0001_0", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}], **more}
    return {"role": "user", "content": [block]}


def test_replies_in_order_then_a_failure_that_says_so() -> None:
    with ScriptedServer([{"text": "a"}, {"text": "b", "repeat": 2}], check_on_exit=False) as server:
        texts = [ask(server.url)[1]["content"][0]["text"] for _ in range(3)]
        assert texts == ["a", "b", "b"]
        server.check()
        status, body = ask(server.url)
        assert status == 400
        assert "no reply left" in body["error"]["message"]
        assert server.failures
        with pytest.raises(AssertionError, match="no reply left"):
            server.check()


def test_leaving_the_block_raises_what_did_not_fit() -> None:
    script = [{"text": "a", "expect": {"last_contains": "Bye"}}]
    with pytest.raises(AssertionError, match="the last message lacks 'Bye'"), ScriptedServer(script) as server:
        ask(server.url)


def test_replies_never_asked_for_are_told() -> None:
    with ScriptedServer([{"text": "a"}, {"text": "b"}, {"when": {"model": "x"}}]) as server:
        ask(server.url)
        with pytest.raises(AssertionError, match=r"lines \[2\]"):
            server.check()


def test_templates_are_filled_from_tool_results() -> None:
    outline = "cell 1 id=aa hash=11\nplt.plot(x)\ncell 2 id=bb hash=22\nprint(y)"
    arguments = {
        "first": "{{regex:id=(\\S+) hash=(\\S+)}}",
        "hash": "{{regex:id=(\\S+) hash=(\\S+)\\nprint:2}}",
        "last": "{{regex#-1:id=(\\S+)}}",
        "second": "{{regex#2:id=(\\S+)}}",
        "whole": "<{{regex:hash=\\S+}}>",
        "number": "{{number:cell (\\d+) id=bb}}",
        "task": "{{anywhere:mend (\\w+)}}",
        "system": "{{system:root (\\S+)}}",
        "kept": "{{saved:plot}}",
        "braces": "{{regex:\\d{2}}}",
        "list": ["{{regex:id=(b+)}}", 1, None],
    }
    calls = [{"name": "read_cells", "arguments": arguments}]
    script = [{"calls": [{"name": "read_cells"}]}, {"save": "id=(?P<plot>\\S+).*\\nplt", "calls": calls}]
    with ScriptedServer(script) as server:
        task = {"role": "user", "content": "Please mend it"}
        first = ask(server.url, task)[1]
        _, second = ask(
            server.url, task, {"role": "assistant", "content": first["content"]}, result(outline), system="root /w"
        )
        assert second["content"][0]["input"] == {
            "first": "aa",
            "hash": "22",
            "last": "bb",
            "second": "bb",
            "whole": "<hash=11>",
            "number": 2,
            "task": "it",
            "system": "/w",
            "kept": "aa",
            "braces": "11",
            "list": ["bb", 1, None],
        }


def test_a_template_that_finds_nothing_is_a_failure() -> None:
    with ScriptedServer([{"text": "{{regex:id=(x+)}}"}], check_on_exit=False) as server:
        status, body = ask(server.url)
        assert status == 400
        assert "id=(x+)" in body["error"]["message"]
        assert server.failures


REQUEST: dict[str, Any] = {
    "model": "m",
    "system": [{"type": "text", "text": "You are"}],
    "tools": [{"name": "t", "input_schema": {"type": "object"}}],
    "thinking": {"type": "adaptive"},
    "messages": [
        USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]},
        result("ok: 3 rows", "1", is_error=True),
    ],
}


@pytest.mark.parametrize(
    ("fits", "not_fits"),
    [
        ({"last_contains": ["ok", "rows"]}, {"last_contains": "Hello"}),
        ({"last_lacks": "Hello"}, {"last_lacks": "rows"}),
        ({"last_matches": r"^ok: \d rows$"}, {"last_matches": "^rows"}),
        ({"tool_result_contains": "3"}, {"tool_result_contains": "4"}),
        ({"tool_result_lacks": "4"}, {"tool_result_lacks": "3"}),
        ({"tool_result_error": True}, {"tool_result_error": False}),
        ({"n_tool_results": 1}, {"n_tool_results": 0}),
        ({"n_messages": 3}, {"n_messages": 2}),
        ({"system_contains": "You are"}, {"system_contains": "I am"}),
        ({"any_contains": ["Hello", "rows"]}, {"any_contains": "nowhere"}),
        ({"model": "m"}, {"model": "n"}),
        ({"tools_include": "t"}, {"tools_include": ["t", "u"]}),
        ({"tools_exclude": "u"}, {"tools_exclude": "t"}),
        ({"body": {"thinking.type": "adaptive", "messages.-1.role": "user"}}, {"body": {"thinking.type": "disabled"}}),
    ],
    ids=str,
)
def test_matcher(fits: dict[str, Any], not_fits: dict[str, Any]) -> None:
    assert mismatches(fits, REQUEST) == []
    assert len(mismatches(not_fits, REQUEST)) == 1


def test_when_answers_out_of_order() -> None:
    script = [{"text": "main"}, {"text": "summary", "when": {"last_contains": "Summarise"}}, {"text": "main 2"}]
    with ScriptedServer(script) as server:
        said = [ask(server.url, {"role": "user", "content": text})[1] for text in ("x", "Summarise!", "y")]
        assert [message["content"][0]["text"] for message in said] == ["main", "summary", "main 2"]
        server.check()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"text": "a"', "line 1 is not JSON"),
        ('\n["a"]', "line 2 is not a JSON object"),
        ('{"txt": "a"}', "line 1 has unknown keys"),
        ('{"fault": "explode"}', "unknown fault"),
        ('{"server": {"model": 1}}', "unknown keys"),
    ],
)
def test_malformed_script(text: str, sentence: str) -> None:
    with pytest.raises(ScriptError, match=sentence):
        load(text)


CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "bm8gcG5n"}}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"messages": []}, "messages: Field required"),
        ({"messages": [CALL]}, "first message must use the user role"),
        ({"messages": [USER, CALL]}, "without `tool_result`"),
        ({"messages": [USER, CALL, USER]}, "without `tool_result`"),
        ({"messages": [USER, result("x", "9")]}, "unexpected `tool_use_id`"),
        ({"messages": [USER, {"role": "assistant", "content": "So"}]}, "prefill"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}, "non-whitespace"),
        ({"messages": [{"role": "user", "content": []}]}, "must not be empty"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "does not match the media type"),
        ({"tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, "should match"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "Input should be 'object'"),
        ({"tools": [{"name": "a", "input_schema": {"type": "object"}}] * 2}, "must be unique"),
        ({"temperature": 0}, "not permitted"),
        ({"max_tokens": None}, "max_tokens: Field required"),
    ],
    ids=str,
)
def test_what_the_service_refuses_is_refused(change: dict[str, Any], sentence: str) -> None:
    good = {"model": "m", "max_tokens": 5, "messages": [USER]}
    assert problems(good) == []
    assert any(sentence in problem for problem in problems({**good, **change}))


def test_thinking_is_bound_to_the_messages_before_it() -> None:
    with ScriptedServer([{"thinking": "hm", "text": "a"}, {"text": "b", "repeat": 2}], check_on_exit=False) as server:
        first = ask(server.url)[1]["content"]
        more = [{"role": "assistant", "content": first}, {"role": "user", "content": "Go on"}]
        assert ask(server.url, USER, *more)[0] == 200
        status, body = ask(server.url, {"role": "user", "content": "Hello, edited"}, *more)
        assert status == 400
        assert "`thinking` block were changed" in body["error"]["message"]


def test_usage_shows_what_a_prompt_cache_would_save() -> None:
    def usage(url: str, *messages: dict[str, Any]) -> tuple[int, int, int]:
        said = ask(url, *messages, system="s" * 2800, cache_control={"type": "ephemeral"})[1]["usage"]
        return said["input_tokens"], said["cache_read_input_tokens"], said["cache_creation_input_tokens"]

    with ScriptedServer([{"text": "a", "repeat": "forever"}]) as server:
        _, read, written = usage(server.url, USER)
        assert read == 0
        assert written > 1000
        history = [USER, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
        assert usage(server.url, *history)[1] == written
        changed = [{"role": "user", "content": "Hallo"}, *history[1:]]
        assert 1000 < usage(server.url, *changed)[1] < written
        plain = ask(server.url, *history)[1]["usage"]
        assert plain["cache_read_input_tokens"] == 0


def test_key_models_and_token_count() -> None:
    with ScriptedServer([{"server": {"api_key": "right"}}]) as server:
        assert ask(server.url)[0] == 401
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        connection.request("GET", "/gateway/v1/models?limit=5", headers={"authorization": "Bearer right"})
        listed = json.loads(connection.getresponse().read())
        assert [model["id"] for model in listed["data"]] == ["scripted-1"]
        connection.request("GET", "/v1/models/any", headers={"x-api-key": "right"})
        assert json.loads(connection.getresponse().read())["id"] == "any"
        connection.close()
        assert server.messages[0]["model"] == "m"
    with ScriptedServer() as server:
        assert post(server.url, {"messages": [USER]}, "/v1/messages/count_tokens")[1]["input_tokens"] > 5


def test_closing_ends_stalled_and_held_connections_promptly() -> None:
    script = [{"text": "a", "fault": "stall"}, {"text": "b", "pause_until": "never"}, {"text": "c", "delay": 60}]
    server = ScriptedServer(script).start()
    sockets = []
    for _ in script:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
        connection.request(
            "POST", "/v1/messages", json.dumps({"model": "m", "max_tokens": 1, "messages": [USER], "stream": True})
        )
        sockets.append(connection)
    assert server.gate("never").reached.wait(20)
    server.close()
    for connection in sockets:
        with pytest.raises((OSError, http.client.HTTPException)):
            connection.getresponse().read()
        connection.close()


async def test_a_gate_holds_the_stream_until_it_is_opened() -> None:
    async with ScriptedServer([{"text": "Hello there, how are you?", "pause_until": "go"}]) as server:
        body = {"model": "m", "max_tokens": 9, "messages": [USER], "stream": True}
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        data = json.dumps(body).encode()
        writer.write(
            b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data)
        )
        writer.write(data)
        await server.gate("go").wait_reached()
        before = await reader.readuntil(b"Hello there")
        assert b"message_stop" not in before
        server.gate("go").open()
        assert b"message_stop" in await reader.read()
        writer.close()
        await writer.wait_closed()


def test_refused_url_refuses() -> None:
    with refused_url() as url, pytest.raises(ConnectionRefusedError):
        ask(url)


def test_command_line_prints_its_url_and_reports_failures(tmp_path: Path) -> None:
    script, record = tmp_path / "s.jsonl", tmp_path / "r.jsonl"
    script.write_text('# comment\n\n{"text": "hi", "expect": {"last_contains": "Hello"}}\n')
    command = [sys.executable, "-m", "jupyter_agent.testing.scripted", str(script), "--record", str(record)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert ask(url)[1]["content"] == [{"type": "text", "text": "hi"}]
        assert ask(url)[0] == 400
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "no reply left" in errors
    assert len(record.read_text().splitlines()) == 2
    assert subprocess.run([*command[:3], str(tmp_path / "none")], capture_output=True, check=False).returncode == 2
