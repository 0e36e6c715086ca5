"""A server whose authorizer only lets people read: they see conversations, and nothing can be started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.client import Client, create, refusal, upgrade_status
from lab.harness import LabServer, running
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

AUTHORIZER = '''
import os
from jupyter_server.auth.authorizer import Authorizer

class ReadOnly(Authorizer):
    """Everything of the server's own; of ours only what the file says."""

    def is_authorized(self, handler, user, action, resource):
        if resource != "jupyter_agent":
            return True
        with open(os.environ["ALLOWED_ACTIONS"]) as file:
            return action in file.read().split()
'''


@pytest.fixture(scope="module")
def actions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that names the actions allowed on our resource."""
    folder = tmp_path_factory.mktemp("authorizer")
    (folder / "read_only_authorizer.py").write_text(AUTHORIZER)
    (folder / "actions").write_text("read write execute")
    return folder / "actions"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, actions: Path) -> Iterator[LabServer]:
    environment = {"ALLOWED_ACTIONS": str(actions), "PYTHONPATH": f"{actions.parent}:{Path(__file__).parents[2]}"}
    arguments = ["--ServerApp.authorizer_class=read_only_authorizer.ReadOnly"]
    folder = tmp_path_factory.mktemp("server")
    with running(LabServer(folder, app="jupyter_server", arguments=arguments, environment=environment)) as started:
        yield started


async def test_read_only_sees_and_starts_nothing(server: LabServer, actions: Path) -> None:
    actions.write_text("read write execute")
    conversation = create(server)
    actions.write_text("read")
    server.get("jupyter-agent/conversations")
    assert refusal(server, "POST", "jupyter-agent/conversations")[0] == 403
    assert refusal(server, "POST", "jupyter-agent/models")[0] == 403
    assert refusal(server, "DELETE", f"jupyter-agent/conversations/{conversation}")[0] == 403
    assert refusal(server, "GET", "jupyter-agent/variables?notebook=x.ipynb")[0] == 403
    client = await Client.connect(server, conversation)
    client.ask("Do something")
    problem = await client.until("problem")
    client.tell({"type": "stop"})
    await client.until("problem", count=2)
    await client.close()
    assert "only look" in problem["text"]
    assert client.events == []


async def test_without_read_there_is_no_websocket(server: LabServer, actions: Path) -> None:
    actions.write_text("read write execute")
    conversation = create(server)
    actions.write_text("")
    path = f"jupyter-agent/conversations/{conversation}/events"
    assert upgrade_status(server, path, {"Authorization": f"token {server.token}"}) == 403
    assert refusal(server, "GET", "jupyter-agent/conversations")[0] == 403


async def test_a_page_without_execute_is_not_given_documents(server: LabServer, actions: Path) -> None:
    actions.write_text("read write")
    url = f"{server.url.replace('http', 'ws', 1)}jupyter-agent/documents"
    socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {server.token}"}))
    socket.write_message(json.dumps({"type": "hello", "client": "c", "documents": {}}))
    assert await socket.read_message() is None
    socket.close()
    assert socket.close_code == 4403
