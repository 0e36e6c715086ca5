"""n40: a model server found on loopback may be anyone's: it is offered, and used only after a yes for its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversations import conversation

from jupyter_agent.connecting import connect
from jupyter_agent.errors import ModelError
from jupyter_agent.models.consent import default_path
from jupyter_agent.testing.scripted import ScriptedServer

SECRET = "the cells of the user"


async def test_n40_nothing_is_sent_without_a_yes(tmp_path: Path) -> None:
    async with ScriptedServer() as found, conversation(tmp_path) as (made, _, _server):
        environment = {"JUPYTER_AGENT_LOCAL_SERVERS": "Ollama=" + found.url.rpartition(":")[2]}
        questions: list[str] = []

        async def no(question: str) -> bool:
            questions.append(question)
            return False

        for ask in (None, no):
            with pytest.raises(ModelError, match=f"--base-url {found.url} uses it") as caught:
                await connect(made, environment=environment, ask=ask)
            assert caught.value.kind == "none"
        assert len(questions) == 1
        assert found.url in questions[0]
        assert made.model is None
        assert all(not request.body for request in found.requests)
    assert not default_path().exists()


async def test_n40_a_yes_is_for_that_address_only(tmp_path: Path) -> None:
    questions: list[str] = []

    async def yes(question: str) -> bool:
        questions.append(question)
        return True

    hello = [{"text": "Hello.", "repeat": "forever"}]
    async with ScriptedServer(hello) as first, ScriptedServer(hello) as second:
        ports = [server.url.rpartition(":")[2] for server in (first, second)]
        for name, port, asked in (("a", ports[0], 1), ("b", ports[0], 1), ("c", ports[1], 2)):
            folder = tmp_path / name
            folder.mkdir()
            async with conversation(folder) as (made, _, _server):
                await connect(made, environment={"JUPYTER_AGENT_LOCAL_SERVERS": f"x={port}"}, ask=yes)
                await made.send(SECRET)
            assert len(questions) == asked
        assert SECRET in str(first.messages[-1])
        # Remembered: later runs without anyone to ask use it, too.
        folder = tmp_path / "d"
        folder.mkdir()
        async with conversation(folder) as (made, _, _server):
            await connect(made, environment={"JUPYTER_AGENT_LOCAL_SERVERS": f"x={ports[0]}"})
            assert made.model is not None
            assert made.model.endpoint.base_url == first.url
    assert default_path().stat().st_mode & 0o077 == 0


async def test_n40_no_key_of_the_environment_goes_to_a_found_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def yes(question: str) -> bool:
        return True

    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team-secret: abc")
    async with ScriptedServer([{"text": "Hello."}]) as found, conversation(tmp_path) as (made, _, _server):
        environment = {"JUPYTER_AGENT_LOCAL_SERVERS": "x=" + found.url.rpartition(":")[2]}
        await connect(made, environment=environment, ask=yes)
        await made.send("Hello")
        assert found.messages
        assert "x-team-secret" not in {name for request in found.requests for name in request.headers}
