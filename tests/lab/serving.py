"""Fixtures: a real Jupyter server with the extension under a base URL, and a scripted model. Import them by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.harness import LabServer, free_port, running

from jupyter_agent.testing.scripted import ScriptedServer


@pytest.fixture(scope="module")
def model_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model_port: int) -> Iterator[LabServer]:
    environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}", "ANTHROPIC_API_KEY": "scripted"}
    folder = tmp_path_factory.mktemp("server")
    with running(LabServer(folder, app="jupyter_server", environment=environment, base_url="/my/base/")) as started:
        yield started


@pytest.fixture
def script(model_port: int) -> Iterator[Callable[..., ScriptedServer]]:
    """`script({...reply}, {...reply})` starts the model that the server talks to."""
    started: list[ScriptedServer] = []

    def start(*lines: Any) -> ScriptedServer:
        model = ScriptedServer(lines, port=model_port).start()
        started.append(model)
        return model

    yield start
    for model in started:
        model.close()
        assert model.failures == []
