"""Model servers on this machine's loopback: found on the ports they usually have, with the user who runs them.

Looking sends nothing of the person's: two requests without content to 127.0.0.1, no proxy, no redirect followed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KNOWN: Mapping[str, int] = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
PORTS_VARIABLE = "JUPYTER_AGENT_LOCAL_SERVERS"
"""`NAME=PORT,…` in place of KNOWN; empty: look nowhere."""
SECONDS = 1.0
_LARGEST_ANSWER = 1_000_000


@dataclass(frozen=True)
class LocalServer:
    """A server that answers like a Messages API. `owner`: the user whose process listens, None where the system does
    not say. `models`: the ids it lists."""

    name: str
    port: int
    models: Sequence[str]
    owner: str | None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def candidates(environment: Mapping[str, str]) -> Mapping[str, int]:
    """Names and ports to look at; entries of the variable that make no sense are ignored."""
    if PORTS_VARIABLE not in environment:
        return KNOWN
    pairs = (entry.partition("=") for entry in environment[PORTS_VARIABLE].split(",") if entry.strip())
    return {name.strip(): int(port) for name, _, port in pairs if port.strip().isdigit() and 0 < int(port) < 65536}


async def find(ports: Mapping[str, int]) -> list[LocalServer]:
    """The servers that answer within a second, in the order given."""
    found = await asyncio.gather(*(asyncio.to_thread(_probe, name, port) for name, port in ports.items()))
    return [server for server in found if server is not None]


def _probe(name: str, port: int) -> LocalServer | None:
    import http.client

    try:
        status, listed = _request(port, "GET", "/v1/models")
        if status != 200 or not isinstance(listed, Mapping):
            return None
        # An empty body is refused before anything runs, but only by a server that knows the path.
        if _request(port, "POST", "/v1/messages")[0] in (404, 405, 501):
            return None
    except (OSError, http.client.HTTPException):
        return None
    entries = [entry for entry in listed.get("data") or [] if isinstance(entry, Mapping)]
    models = [str(entry["id"]) for entry in entries if entry.get("id")]
    return LocalServer(name, port, models, listener_owner(port)) if models else None


def _request(port: int, method: str, path: str) -> tuple[int, Any]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        body = b"{}" if method == "POST" else None
        connection.request(method, path, body, {"content-type": "application/json", "anthropic-version": "2023-06-01"})
        response = connection.getresponse()
        data = response.read(_LARGEST_ANSWER)
    finally:
        connection.close()
    try:
        return response.status, json.loads(data)
    except ValueError:
        return response.status, None


def listener_owner(port: int) -> str | None:
    """The name (or number) of the user whose socket listens at a loopback port; None where the system does not tell."""
    if sys.platform != "linux":
        return None
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            listening = fields[3] == "0A"
            if listening and int(fields[1].rpartition(":")[2], 16) == port:
                return _user_name(int(fields[7]))
    return None


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
