"""Which model answers: what was named, else the environment, else a local server the person agreed to, else none.

Looks at the environment, the SDK's profile folder, the consent file and, only when nothing else is configured, at
loopback ports.
"""

from __future__ import annotations

import asyncio
import getpass
import ipaddress
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from jupyter_agent.errors import ModelError
from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.consent import Consent
from jupyter_agent.models.local import LocalServer, candidates, find
from jupyter_agent.models.protocol import Endpoint
from jupyter_agent.models.retry import Retry

DEFAULT_MODEL = "claude-sonnet-5-5"
FIRST_PARTY_URL = "https://api.anthropic.com"

NOT_CONNECTED = """\
No model is connected. Free text needs one; slash commands, refactoring and verification work without.
Either set ANTHROPIC_API_KEY (and ANTHROPIC_BASE_URL for a gateway), then start again;
or start a local server with the Messages API (Ollama, llama.cpp, LM Studio, vLLM) and give --base-url and --model."""

Ask = Callable[["Offer"], Awaitable[bool]]


@dataclass(frozen=True)
class Offer:
    """A local server that was found and may be used if the person says yes; `question` is to be shown to them."""

    server: LocalServer
    model: str
    question: str


@dataclass(frozen=True)
class Resolved:
    endpoint: Endpoint
    credential: Credential

    def connect(self, *, retry: Retry | None = None) -> MessagesModel:
        return MessagesModel(self.endpoint, self.credential, retry=retry)


async def resolve(
    *,
    model: str | None = None,
    base_url: str | None = None,
    environment: Mapping[str, str] | None = None,
    consent: Consent | None = None,
    ask: Ask | None = None,
    ports: Mapping[str, int] | None = None,
) -> Resolved:
    """The endpoint to use. `ask` puts an Offer to the person; without it no server is used that was not agreed to.

    Raises ModelError: `none` when nothing is configured (its message is three lines, one more for each server found
    and not agreed to), `not_found` when an endpoint is named without a model and lists none.
    """
    environment = os.environ if environment is None else environment
    model = model or environment.get("ANTHROPIC_MODEL") or None
    url = base_url or environment.get("ANTHROPIC_BASE_URL") or None
    credential = _credential(environment)
    if url is not None:
        source = "--base-url" if base_url else "ANTHROPIC_BASE_URL"
        return await _named(url, model, credential, source)
    if credential is not None:
        name = model or DEFAULT_MODEL
        source = "profile" if credential.kind == "sdk" else "environment"
        return Resolved(_endpoint(FIRST_PARTY_URL, name, source), credential)
    servers = await find(candidates(environment) if ports is None else ports)
    return await _offered(servers, model, consent or Consent(), ask)


async def _named(url: str, model: str | None, credential: Credential | None, source: str) -> Resolved:
    """An endpoint the person named: that is consent, and the key of the environment is meant for it."""
    credential = credential or Credential("none")
    endpoint = _endpoint(url, model or DEFAULT_MODEL, source)
    if model or endpoint.anthropic:
        return Resolved(endpoint, credential)
    listed = await _first_listed(Resolved(endpoint, credential))
    return Resolved(_endpoint(url, listed, source), credential)


async def _first_listed(resolved: Resolved) -> str:
    connected = resolved.connect()
    try:
        models = await connected.models()
    finally:
        await connected.close()
    if not models:
        url = resolved.endpoint.base_url
        raise ModelError("not_found", f"{url} lists no models. Name one with --model (or ANTHROPIC_MODEL).")
    return models[0]


async def _offered(servers: list[LocalServer], model: str | None, consent: Consent, ask: Ask | None) -> Resolved:
    hints = []
    for server in servers:
        if model is not None and model not in server.models:
            hints.append(f"\nA server answers at {server.address}{_run_by(server)}, but it has no {model}.")
            continue
        name = model or server.models[0]
        agreed = consent.may_use(server.address, server.owner)
        if not agreed and ask is not None:
            agreed = await ask(Offer(server, name, _question(server, name)))
            if agreed:
                await asyncio.to_thread(consent.remember, server.address, server.owner)
        if agreed:
            return Resolved(_endpoint(server.address, name, f"found {server.name}"), Credential("none"))
        hints.append(f"\nA server answers at {server.address}{_run_by(server)}; --base-url {server.address} uses it.")
    raise ModelError("none", NOT_CONNECTED + "".join(hints))


def _question(server: LocalServer, model: str) -> str:
    return (
        f"A model server answers at {server.address} (the port of {server.name}{_run_by(server)}) and offers {model}. "
        "Whoever runs it will see the cells, outputs, variables and files that are read. Use it from now on?"
    )


def _run_by(server: LocalServer) -> str:
    if server.owner is None:
        return ""
    try:
        own = server.owner == getpass.getuser()
    except (KeyError, OSError):
        own = False
    return ", run by you" if own else f", run by {server.owner}"


def _endpoint(url: str, model: str, source: str) -> Endpoint:
    host = urlsplit(url).hostname or url
    anthropic = host == "anthropic.com" or host.endswith(".anthropic.com")
    return Endpoint(url.rstrip("/"), host, model, local=is_loopback(host), anthropic=anthropic, source=source)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _credential(environment: Mapping[str, str]) -> Credential | None:
    """In the SDK's own order: key, token, federation or profile of this machine."""
    if key := environment.get("ANTHROPIC_API_KEY"):
        return Credential("key", key.strip())
    if token := environment.get("ANTHROPIC_AUTH_TOKEN"):
        return Credential("token", token.strip())
    named = environment.get("ANTHROPIC_PROFILE") or environment.get("ANTHROPIC_FEDERATION_RULE_ID")
    return Credential("sdk") if named or _has_profile(environment) else None


def _has_profile(environment: Mapping[str, str]) -> bool:
    """Whether the SDK would find a profile (anthropic 2.14: `active_config`, or `configs/default.json`)."""
    folder = environment.get("ANTHROPIC_CONFIG_DIR")
    if not folder and sys.platform == "win32":
        folder = os.path.join(environment.get("APPDATA", ""), "Anthropic")
    root = Path(folder) if folder else Path(environment.get("HOME") or Path.home()) / ".config" / "anthropic"
    return (root / "active_config").is_file() or (root / "configs" / "default.json").is_file()
