"""f49: what a repetition cannot mend fails at once, with a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conversations import conversation

from jupyter_agent.errors import ModelError
from jupyter_agent.events import Stop
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.protocol import Endpoint
from jupyter_agent.models.retry import Retry
from jupyter_agent.testing.clock import CountedClock
from jupyter_agent.testing.scripted import ScriptedServer


def api(kind: str, message: str, code: str | None = None) -> dict[str, Any]:
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


def openai(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


BODIES: list[tuple[int, Any, str]] = [
    (401, api("authentication_error", "invalid x-api-key"), "auth"),
    (401, openai("Incorrect API key provided: sk-…"), "auth"),
    (401, {"detail": "Not authenticated"}, "auth"),
    (400, api("invalid_request_error", "Invalid API Key format"), "auth"),
    (402, api("billing_error", "Payment required"), "quota"),
    (400, api("invalid_request_error", "Your credit balance is too low to access the API."), "quota"),
    (400, api("invalid_request_error", "You have reached your specified API usage limits."), "quota"),
    (429, openai("You exceeded your current quota, please check your plan.", "insufficient_quota"), "quota"),
    (429, api("rate_limit_error", "Contract limit", "contract_spend_limit_reached"), "quota"),
    (429, api("rate_limit_error", "Monthly threshold", "enforced_spend_limit_reached"), "quota"),
    (403, api("permission_error", "Your API key does not have permission to use this model."), "permission"),
    (403, api("permission_error", "Disabled", "organization_on_hold"), "permission"),
    (400, api("invalid_request_error", "This organization has been disabled."), "permission"),
    (403, "<html><body>Blocked by the firewall</body></html>", "permission"),
    (404, api("not_found_error", "model: claude-nonesuch"), "not_found"),
    (404, {"error": "model 'qwen' not found, try pulling it first"}, "not_found"),
    (404, "404 page not found", "not_found"),
    (405, {"detail": "Method Not Allowed"}, "not_found"),
    (400, api("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "overflow"),
    (413, api("request_too_large", "Request exceeds the maximum size"), "overflow"),
    (400, openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded"), "overflow"),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
            }
        },
        "overflow",
    ),
    (500, {"error": "input length exceeds the context length"}, "overflow"),
    (400, api("invalid_request_error", "max_tokens: 300000 > 128000, which is the maximum"), "invalid"),
    (
        400,
        api("invalid_request_error", "messages.1: `tool_use` ids without `tool_result` blocks"),
        "invalid",
    ),
    (400, api("invalid_request_error", "messages.3: `thinking` blocks cannot be modified"), "invalid"),
    (422, {"detail": [{"loc": ["body", "tools"], "msg": "field required"}]}, "invalid"),
    (500, {"error": "model requires more system memory (9.1 GiB) than is available"}, "invalid"),
    (501, {"error": "tools are not supported by this model"}, "invalid"),
    (400, "", "invalid"),
]


async def test_f49_thirty_permanent_errors_are_one_request_each() -> None:
    clock = CountedClock()
    script = [{"fault": {"status": status, "body": body}} for status, body, _ in BODIES]
    wrong = []
    async with ScriptedServer(script) as server:
        endpoint = Endpoint(server.url, "127.0.0.1", "scripted", local=True, anthropic=False, source="test")
        model = MessagesModel(endpoint, Credential("none"), retry=Retry(now=clock, sleep=clock.sleep))
        for number, (status, body, kind) in enumerate(BODIES, 1):
            with pytest.raises(ModelError) as caught:
                await model.reply(system="", messages=[{"role": "user", "content": "Hello"}], tools=[])
            error = caught.value
            if (error.kind, error.retryable, len(server.messages)) != (kind, False, number):
                wrong.append((status, body, kind, error.kind, error.message))
            # A sentence with advice, and never a page or a dictionary.
            assert error.message.endswith(".")
            assert not {"<", "{"} & set(error.message)
        await model.close()
    assert len(BODIES) == 30
    assert wrong == []
    assert clock.slept == []


@pytest.mark.parametrize(
    "body",
    [
        api("rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."),
        api("rate_limit_error", "Ramp", "ramp_limit_exceeded"),
        openai("Rate limit reached for tokens per minute."),
    ],
)
async def test_f49_a_mere_rate_limit_is_tried_again(body: dict[str, Any]) -> None:
    clock = CountedClock()
    async with ScriptedServer([{"fault": {"status": 429, "body": body}}, {"text": "ok"}]) as server:
        endpoint = Endpoint(server.url, "127.0.0.1", "scripted", local=True, anthropic=False, source="test")
        model = MessagesModel(endpoint, Credential("none"), retry=Retry(now=clock, sleep=clock.sleep))
        reply = await model.reply(system="", messages=[{"role": "user", "content": "Hello"}], tools=[])
        assert reply.text == "ok"
        await model.close()


async def test_f49_a_turn_with_a_wrong_key_ends_after_one_request(tmp_path: Path) -> None:
    script = [{"server": {"api_key": "the right one"}}, {"text": "never"}]
    async with conversation(tmp_path, script) as (made, _, server):
        stop = await made.send("Hello")
        assert isinstance(stop, Stop)
        assert stop.reason == "error"
        assert "ANTHROPIC_API_KEY" in stop.summary
        assert len(server.messages) == 1
