"""Which model answers: the order of DESIGN 8, consent for local servers, and what is said when there is none."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from jupyter_agent.errors import ModelError
from jupyter_agent.models.client import Credential
from jupyter_agent.models.consent import Consent
from jupyter_agent.models.local import candidates, find, listener_owner
from jupyter_agent.models.notice import first_use_notice
from jupyter_agent.models.resolve import DEFAULT_MODEL, Offer, is_loopback, resolve
from jupyter_agent.testing.scripted import ScriptedServer


def answer(value: bool, asked: list[Offer]) -> Callable[[Offer], Awaitable[bool]]:
    async def ask(offer: Offer) -> bool:
        asked.append(offer)
        return value

    return ask


def port_of(server: ScriptedServer) -> int:
    return int(server.url.rpartition(":")[2])


def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment without any credential."""
    return {"HOME": str(tmp_path)}


async def test_explicit_beats_environment(tmp_path: Path) -> None:
    environment = {
        **nowhere(tmp_path),
        "ANTHROPIC_BASE_URL": "https://gateway.example/anthropic/",
        "ANTHROPIC_MODEL": "from-environment",
        "ANTHROPIC_API_KEY": "sk-1 ",
    }
    found = await resolve(model="m", base_url="http://127.0.0.1:9/x", environment=environment)
    assert (found.endpoint.base_url, found.endpoint.model) == ("http://127.0.0.1:9/x", "m")
    assert (found.endpoint.local, found.endpoint.anthropic) == (True, False)
    assert found.credential == Credential("key", "sk-1")
    found = await resolve(environment=environment)
    assert found.endpoint.base_url == "https://gateway.example/anthropic"
    assert (found.endpoint.host, found.endpoint.model) == ("gateway.example", "from-environment")
    assert (found.endpoint.local, found.endpoint.anthropic) == (False, False)
    assert "sk-1" not in repr(found)


async def test_a_key_alone_means_the_first_party(tmp_path: Path) -> None:
    found = await resolve(environment={**nowhere(tmp_path), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"})
    assert (found.endpoint.host, found.endpoint.model) == ("api.anthropic.com", DEFAULT_MODEL)
    assert (found.endpoint.anthropic, found.endpoint.local) == (True, False)
    assert found.credential == Credential("key", "k")
    token = await resolve(environment={**nowhere(tmp_path), "ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "t"})
    assert token.credential == Credential("token", "t")


async def test_a_profile_of_the_sdk_counts(tmp_path: Path) -> None:
    profile = tmp_path / ".config" / "anthropic" / "configs" / "default.json"
    profile.parent.mkdir(parents=True)
    profile.write_text("{}")
    found = await resolve(environment=nowhere(tmp_path))
    assert (found.credential.kind, found.endpoint.host) == ("sdk", "api.anthropic.com")


async def test_an_endpoint_without_a_model_gives_its_first(tmp_path: Path) -> None:
    async with ScriptedServer([{"server": {"models": [{"id": "qwen"}, {"id": "other"}]}}]) as server:
        found = await resolve(base_url=server.url, environment=nowhere(tmp_path))
        assert found.endpoint.model == "qwen"
    async with ScriptedServer([{"server": {"models": []}}]) as server:
        with pytest.raises(ModelError, match="Name one with --model") as caught:
            await resolve(base_url=server.url, environment=nowhere(tmp_path))
        assert caught.value.kind == "not_found"


async def test_nothing_configured_is_three_lines(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        await resolve(environment=nowhere(tmp_path), ports={}, consent=Consent(tmp_path / "c.json"))
    assert caught.value.kind == "none"
    lines = caught.value.message.splitlines()
    assert len(lines) == 3
    assert "ANTHROPIC_API_KEY" in lines[1]
    assert "--base-url" in lines[2]


async def test_a_local_server_is_offered_and_a_yes_remembered(tmp_path: Path) -> None:
    consent, asked = Consent(tmp_path / "data" / "consent.json"), []
    async with ScriptedServer([{"text": "Hello"}]) as server:
        ports = {"Ollama": port_of(server)}

        async def look(value: bool) -> str:
            found = await resolve(environment=nowhere(tmp_path), ports=ports, consent=consent, ask=answer(value, asked))
            assert found.credential == Credential("none")
            return found.endpoint.base_url

        with pytest.raises(ModelError, match="--base-url " + server.url):
            await look(False)
        with pytest.raises(ModelError):
            await look(False)
        assert len(asked) == 2
        assert await look(True) == server.url
        assert len(asked) == 3
        assert await look(False) == server.url
        assert len(asked) == 3
        assert server.url in asked[0].question
        assert "scripted-1" in asked[0].question
        # Looking and asking sent nothing of the person's.
        assert {(r.method, r.path) for r in server.requests} == {("GET", "/v1/models"), ("POST", "/v1/messages")}
        assert all(body == {} for body in server.messages)
        assert all("authorization" not in r.headers for r in server.requests)
        mode = stat.S_IMODE((tmp_path / "data" / "consent.json").stat().st_mode)
        assert mode == 0o600


async def test_a_server_that_lacks_the_wanted_model_is_not_used(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "c.json")
    async with ScriptedServer() as server:
        with pytest.raises(ModelError, match="has no qwen"):
            await resolve(
                model="qwen",
                environment=nowhere(tmp_path),
                ports={"x": port_of(server)},
                consent=consent,
                ask=answer(True, []),
            )


async def test_another_owner_at_the_same_address_is_asked_about_anew(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "c.json")
    consent.remember("http://127.0.0.1:11434", "me")
    assert Consent(tmp_path / "c.json").may_use("http://127.0.0.1:11434", "me")
    assert not consent.may_use("http://127.0.0.1:11434", "mallory")
    assert not consent.may_use("http://127.0.0.1:8080", "me")
    consent.forget("http://127.0.0.1:11434")
    assert not consent.may_use("http://127.0.0.1:11434", "me")


def test_damaged_or_unwritable_consent_means_no(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"servers": ["http://a"]')
    assert not Consent(path).may_use("http://a", None)
    Consent(path).remember("http://a", None)
    assert json.loads(path.read_text())["servers"]["http://a"]["owner"] is None
    (tmp_path / "file").write_text("")
    here = Consent(tmp_path / "file" / "c.json")
    here.remember("http://a", None)
    assert here.may_use("http://a", None)
    assert not Consent(tmp_path / "file" / "c.json").may_use("http://a", None)


def test_notice_is_due_once_a_host(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "c.json")
    assert consent.notice_due("a")
    consent.noticed("a")
    assert not Consent(tmp_path / "c.json").notice_due("a")
    assert consent.notice_due("b")


async def test_notice_names_host_and_what_leaves(tmp_path: Path) -> None:
    found = await resolve(model="m", base_url="https://gateway.example", environment=nowhere(tmp_path))
    text = first_use_notice(found.endpoint)
    assert all(word in text for word in ("gateway.example", "cells", "outputs", "variables", "files", ".agentignore"))
    reduced = first_use_notice(found.endpoint, outputs=False, variables=False)
    assert "Turned off and kept here: outputs and variables" in reduced


async def test_servers_that_are_no_messages_api_are_not_found() -> None:
    async with ScriptedServer([{"server": {"models": None}}]) as other:
        assert await find({"x": port_of(other), "nothing": 1}) == []


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux tells")
async def test_owner_of_a_listener() -> None:
    import getpass

    async with ScriptedServer() as server:
        assert listener_owner(port_of(server)) == getpass.getuser()
    assert listener_owner(1) is None


def test_candidates_from_the_environment() -> None:
    assert candidates({})["Ollama"] == 11434
    assert candidates({"JUPYTER_AGENT_LOCAL_SERVERS": ""}) == {}
    value = "mine=4000, other=70000,broken,x=y"
    assert candidates({"JUPYTER_AGENT_LOCAL_SERVERS": value}) == {"mine": 4000}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "a.localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "0.0.0.0", "example.com", "localhost.example.com", "anthropic.com.evil"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.anthropic.com", True),
        ("https://anthropic.com.evil.example", False),
        ("https://notanthropic.com", False),
    ],
)
async def test_first_party_is_told_by_the_whole_host(tmp_path: Path, url: str, expected: bool) -> None:
    found = await resolve(model="m", base_url=url, environment=nowhere(tmp_path))
    assert found.endpoint.anthropic is expected
