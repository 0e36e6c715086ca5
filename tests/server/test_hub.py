"""Two users of a real JupyterHub: each has the extension under the hub's URL, and only their own conversations."""

from __future__ import annotations

import asyncio
import http.client
import urllib.error
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.client import Client, create, upgrade_status
from lab.harness import wait_for, write_notebook
from server.hub import JupyterHub, User, jupyterhub

from jupyter_agent.testing.scripted import ScriptedServer

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("hub")]
Script = Callable[..., ScriptedServer]

EDIT_ITSELF = """\
import os, re
from ipykernel.connect import get_connection_file
from jupyter_agent.notebook.bridge import Bridge, BridgedNotebook
from jupyter_agent.notebook.document import ReplaceSource, Target
from jupyter_agent.testing.effects import commit

bridge = Bridge.from_environment(os.environ, re.search("kernel-(.*).json", get_connection_file())[1])
notebook = BridgedNotebook(bridge, await bridge.path())
other = (await notebook.cells())[1]
await commit(await notebook.edit([ReplaceSource(Target(other.id, other.hash), "y = 2")]))
await notebook.save()
print(notebook.path)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, model_port: int) -> Iterator[JupyterHub]:
    environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}", "ANTHROPIC_API_KEY": "scripted"}
    with jupyterhub(tmp_path_factory.mktemp("hub"), environment) as started:
        yield started


@pytest.fixture(scope="module")
def alice(hub: JupyterHub) -> User:
    return hub.user("alice")


@pytest.fixture(scope="module")
def bob(hub: JupyterHub) -> User:
    return hub.user("bob")


async def say(user: User, **options: Any) -> str:
    """A conversation with one turn; its id."""
    conversation = create(user, **options)  # type: ignore[arg-type]
    client = await Client.connect(user, conversation)  # type: ignore[arg-type]
    client.ask(f"Hello from {user.name}")
    stop = await client.until("stop", timeout=90)
    await client.close()
    assert stop["reason"] == "done"
    return conversation


def status(user: User, path: str, token: str) -> int:
    """Of a GET at a user's server with a token, redirects not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", user.port, timeout=60)
    try:
        connection.request("GET", user.base_url + path, headers={"Authorization": f"token {token}"})
        with connection.getresponse() as response:
            return response.status
    finally:
        connection.close()


async def test_each_user_sees_only_their_own_conversations(alice: User, bob: User, script: Script) -> None:
    script({"text": "Good morning, Alice."}, {"text": "Good evening, Bob."})
    hers, his = await say(alice), await say(bob)
    for user, own in ((alice, hers), (bob, his)):
        listed = await asyncio.to_thread(user.get, "jupyter-agent/conversations")
        assert [entry["id"] for entry in listed["conversations"]] == [own]
        assert listed["conversations"][0]["title"] == f"Hello from {user.name}"
        folder = user.root / ".local" / "share" / "jupyter" / "jupyter_agent" / "conversations" / own
        assert folder.is_dir(), "in the user's own home"
        assert folder.stat().st_mode & 0o077 == 0, "for nobody else"
    with pytest.raises(urllib.error.HTTPError) as refused:
        bob.get(f"jupyter-agent/conversations/{hers}")
    assert refused.value.code == 404


async def test_another_users_token_is_refused(alice: User, bob: User, script: Script) -> None:
    script({"text": "Between us."})
    conversation = await say(alice)
    for path in ("jupyter-agent/conversations", f"jupyter-agent/conversations/{conversation}", "jupyter-agent/models"):
        assert status(alice, path, alice.token) == 200
        assert status(alice, path, bob.token) == 403
        assert status(alice, path, "no such token") == 403
    for path in (f"jupyter-agent/conversations/{conversation}/events", "jupyter-agent/documents"):
        assert upgrade_status(alice, path, {"Authorization": f"token {alice.token}"}) == 101  # type: ignore[arg-type]
        assert upgrade_status(alice, path, {"Authorization": f"token {bob.token}"}) == 403  # type: ignore[arg-type]
        assert upgrade_status(alice, path, {}) == 403  # type: ignore[arg-type]


async def test_with_a_browsers_cookies(alice: User, bob: User, script: Script) -> None:
    """After the hub's own login; a page of another origin gets nowhere with them, and neither does another user."""
    script({"text": "By cookie."})
    conversation = await say(alice)
    cookies = {
        user.name: "; ".join(f"{cookie.name}={cookie.value}" for cookie in await asyncio.to_thread(user.sign_in))
        for user in (alice, bob)
    }
    path = f"jupyter-agent/conversations/{conversation}/events"
    own = {"Origin": f"http://127.0.0.1:{alice.port}", "Sec-Fetch-Mode": "websocket", "Sec-Fetch-Site": "same-origin"}
    mine = {**own, "Cookie": cookies["alice"]}
    assert upgrade_status(alice, path, mine) == 101  # type: ignore[arg-type]
    foreign = {**mine, "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert upgrade_status(alice, path, foreign) == 403  # type: ignore[arg-type]
    assert upgrade_status(alice, path, {**own, "Cookie": cookies["bob"]}) == 403  # type: ignore[arg-type]


async def test_a_cell_reaches_its_own_notebook_through_its_own_server(alice: User, script: Script) -> None:
    """The kernel's way back does not lead through the hub's proxy, and needs no token of the hub's."""
    write_notebook(alice.root / "self.ipynb", [("first", "code", EDIT_ITSELF), ("other", "code", "y = 1")])
    script({"calls": [{"name": "run_cells", "arguments": {"cells": ["first"]}}]}, {"text": "Ran."})
    client = await Client.connect(
        alice,  # type: ignore[arg-type]
        create(alice, notebook="self.ipynb", mode="accept-edits"),  # type: ignore[arg-type]
    )
    client.ask("Run the first cell")
    await client.until("stop", timeout=120)
    await client.close()
    saved = lambda: alice.notebook("self.ipynb")["cells"][0]["outputs"]  # noqa: E731
    await asyncio.to_thread(wait_for, saved, "the turn's outputs are saved after its end")
    first, other = alice.notebook("self.ipynb")["cells"]
    assert "".join(first["outputs"][0].get("text", first["outputs"])).strip() == str(alice.root / "self.ipynb")
    assert "".join(other["source"]) == "y = 2"
