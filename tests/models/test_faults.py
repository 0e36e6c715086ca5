"""Every fault of the network and the service, through the real SDK: kind, sentence, whether it is tried again."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import ModelError
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.faults import retry_after
from jupyter_agent.testing.clock import CountedClock
from jupyter_agent.testing.scripted import ScriptedServer, refused_url

Connect = Callable[..., MessagesModel]

HELLO = [{"role": "user", "content": "Hello"}]

TRANSIENT: list[Any] = [
    *({"status": status} for status in (408, 409, 429, 500, 502, 503, 504, 529)),
    "close_before_headers",
    "reset",
    "stall_before_headers",
    "close_after_headers",
    "close_midway",
    "stall",
    "sse_error",
    {"kind": "sse_error", "type": "api_error"},
    {"kind": "sse_error", "type": "rate_limit_error"},
    "clean_cut",
    "bad_json",
    "no_stop_reason",
]


@pytest.mark.parametrize("fault", TRANSIENT, ids=str)
async def test_transient_fault_is_survived_by_a_new_call(connect: Connect, clock: CountedClock, fault: Any) -> None:
    script = [{"text": "broken " * 20, "fault": fault}, {"text": "whole"}]
    async with ScriptedServer(script) as server:
        model = connect(server.url, stall_seconds=0.3)
        reasons: list[str] = []
        attempts: list[int] = []
        reply = await model.reply(
            system="",
            messages=HELLO,
            tools=[],
            on_retry=lambda reason, seconds: reasons.append(reason),
            before_attempt=lambda: attempts.append(1),
        )
        assert reply.text == "whole"
        assert len(server.messages) == len(attempts) == 2
        assert server.messages[0] == server.messages[1]
        assert len(reasons) == len(clock.slept) == 1
        assert "127.0.0.1" in reasons[0]


@pytest.mark.parametrize(
    ("fault", "kind", "sentence"),
    [
        ({"status": 401, "message": "invalid x-api-key"}, "auth", "ANTHROPIC_API_KEY"),
        ({"status": 403}, "permission", "does not allow"),
        ({"status": 404, "message": "model: scripted-1"}, "not_found", "--model"),
        ({"status": 422}, "invalid", "refused the request"),
        ({"status": 501}, "invalid", "refused the request"),
        (
            {"status": 307, "headers": {"location": "https://elsewhere.example/"}},
            "invalid",
            "redirects to https://elsewhere",
        ),
        ({"status": 529, "headers": {"x-should-retry": "false"}}, "invalid", "refused"),
        ("html_200", "invalid", "answered with a web page"),
        ("not_streamed", "invalid", "no stream"),
        ({"kind": "sse_error", "type": "invalid_request_error", "message": "bad"}, "invalid", "bad"),
    ],
    ids=str,
)
async def test_permanent_fault_is_said_at_once(connect: Connect, fault: Any, kind: str, sentence: str) -> None:
    async with ScriptedServer([{"text": "x", "fault": fault}]) as server:
        with pytest.raises(ModelError, match=sentence) as caught:
            await connect(server.url).reply(system="", messages=HELLO, tools=[])
        assert (caught.value.kind, caught.value.retryable) == (kind, False)
        assert len(server.messages) == 1


async def test_redirect_takes_neither_conversation_nor_key_elsewhere(connect: Connect) -> None:
    async with ScriptedServer([{"text": "caught"}]) as thief:
        fault = {"status": 307, "headers": {"location": thief.url + "/v1/messages"}}
        async with ScriptedServer([{"fault": fault}]) as server:
            with pytest.raises(ModelError):
                await connect(server.url).reply(system="", messages=HELLO, tools=[])
        assert thief.requests == []


async def test_refused_connection_is_tried_briefly(connect: Connect, clock: CountedClock) -> None:
    with refused_url() as url, pytest.raises(ModelError, match="Is the server running") as caught:
        await connect(url).reply(system="", messages=HELLO, tools=[])
    assert caught.value.kind == "unreachable"
    assert len(clock.slept) == 2
    assert sum(clock.slept) <= 3


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:8080", "not a usable address"),
        ("ftp://127.0.0.1", "not a usable address"),
        ("http://[::1", "not a usable address"),
        ("http://no-such-host.invalid", "There is no host"),
    ],
)
async def test_unusable_address_is_permanent(connect: Connect, clock: CountedClock, url: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        await connect(url).reply(system="", messages=HELLO, tools=[])
    assert caught.value.kind == "unreachable"
    assert clock.slept == []


async def test_key_that_cannot_be_sent(connect: Connect, clock: CountedClock) -> None:
    key = "sk-line\nbreak"
    async with ScriptedServer([{"text": "x"}]) as server:
        with pytest.raises(ModelError, match="cannot be sent") as caught:
            await connect(server.url, credential=Credential("key", key)).reply(system="", messages=HELLO, tools=[])
        assert caught.value.kind == "auth"
        assert key not in caught.value.message
        assert clock.slept == []


async def test_tls_fault_is_permanent(connect: Connect, clock: CountedClock) -> None:
    async with ScriptedServer() as server:
        with pytest.raises(ModelError, match="No safe connection") as caught:
            await connect(server.url.replace("http", "https")).reply(system="", messages=HELLO, tools=[])
        assert caught.value.kind == "unreachable"
        assert clock.slept == []


async def test_untrusted_certificate_is_named(connect: Connect, clock: CountedClock, tmp_path: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-keyout", "key.pem", "-out", "cert.pem"]
    await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError, match=r"self.signed certificate") as caught:
            await connect(f"https://127.0.0.1:{port}").reply(system="", messages=HELLO, tools=[])
    assert caught.value.kind == "unreachable"
    assert clock.slept == []


async def test_a_key_that_the_gateway_repeats_is_masked(connect: Connect) -> None:
    body = {"error": {"message": "Incorrect API key provided: sk-test-1234567890"}}
    async with ScriptedServer([{"fault": {"status": 401, "body": body}}]) as server:
        with pytest.raises(ModelError, match="Incorrect API key provided") as caught:
            await connect(server.url).reply(system="", messages=HELLO, tools=[])
        assert "sk-test-1234567890" not in caught.value.message


def test_retry_after_in_all_its_forms() -> None:
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert retry_after({}) is None
    assert retry_after({"Retry-After": "7"}) == 7
    assert retry_after({"retry-after": "0.5"}) == 0.5
    assert retry_after({"retry-after": "-3"}) == 0
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert retry_after({"retry-after": "Mon, 30 Nov 2026 12:01:00 GMT"}, now) == 60
    assert retry_after({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, now) == 0
    assert retry_after({"retry-after": "soon"}) is None
