"""Conversations on a server whose kernels are behind a real kernel gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.client import Client, create
from lab.harness import LabServer, running, wait_for, write_notebook
from server.gateway import Gateway, gateway, needs_gateway

from jupyter_agent.testing.scripted import ScriptedServer

pytestmark = needs_gateway
Script = Callable[..., ScriptedServer]


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway(tmp_path_factory.mktemp("gateway")) as started:
        yield started


@pytest.fixture(scope="module")
def server(far: Gateway, tmp_path_factory: pytest.TempPathFactory, model_port: int) -> Iterator[LabServer]:
    environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}", "ANTHROPIC_API_KEY": "scripted"}
    folder = tmp_path_factory.mktemp("server")
    made = LabServer(folder, app="jupyter_server", environment=environment, arguments=far.arguments)
    with running(made) as started:
        yield started


def run(*cells: str, **options: Any) -> dict[str, Any]:
    return {"name": "run_cells", "arguments": {"cells": list(cells) or "all", **options}}


async def cells_with_outputs(server: LabServer, name: str) -> list[dict[str, Any]]:
    """The notebook's cells once what the turn left is saved, which is after its end."""

    def saved() -> list[dict[str, Any]]:
        cells: list[dict[str, Any]] = server.notebook(name)["cells"]
        return cells if all(cell["outputs"] for cell in cells) else []

    found: list[dict[str, Any]] = await asyncio.to_thread(wait_for, saved, "the outputs are saved")
    return found


async def test_cells_run_there_and_their_outputs_arrive_here(server: LabServer, far: Gateway, script: Script) -> None:
    source = "import os\nprint(os.getcwd(), 6 * 7)\ntreasure = [1, 2]"
    write_notebook(server.root / "far.ipynb", [("one", "code", source), ("two", "code", "treasure + [3]")])
    script({"calls": [run()]}, {"text": "Ran."})
    client = await Client.connect(server, create(server, notebook="far.ipynb", mode="accept-edits"))
    client.ask("Run it")
    await client.until("stop", timeout=120)
    await client.close()
    one, two = await cells_with_outputs(server, "far.ipynb")
    assert "".join(one["outputs"][0]["text"]).endswith(" 42\n")
    assert "".join(two["outputs"][0]["data"]["text/plain"]) == "[1, 2, 3]"
    assert [cell["execution_count"] for cell in (one, two)] == [1, 2]
    found = await asyncio.to_thread(server.get, "jupyter-agent/variables?notebook=far.ipynb")
    assert ("treasure", "list") in [(variable["name"], variable["type"]) for variable in found["variables"]]
    (kernel,) = await asyncio.to_thread(server.get, "api/kernels")
    assert far.kernels() == [kernel["id"]], "the kernel is the gateway's"


async def test_stop_interrupts_there(server: LabServer, script: Script) -> None:
    write_notebook(
        server.root / "slow.ipynb", [("one", "code", "import time\nprint('be' + 'gun', flush=True)\ntime.sleep(600)")]
    )
    script({"calls": [run()]})
    client = await Client.connect(server, create(server, notebook="slow.ipynb", mode="accept-edits"))
    client.ask("Run it")

    def begun() -> bool:
        return "begun" in (server.root / "slow.ipynb").read_text()

    await asyncio.to_thread(wait_for, begun, "its first output is in the notebook")
    client.tell({"type": "stop"})
    stop = await client.until("stop", timeout=60)
    await client.close()
    assert stop["reason"] == "stopped"
    (kernel,) = [s["kernel"] for s in server.get("api/sessions") if s["path"] == "slow.ipynb"]

    def idle() -> bool:
        return bool(server.get(f"api/kernels/{kernel['id']}")["execution_state"] == "idle")

    await asyncio.to_thread(wait_for, idle, "the kernel is free again")


@pytest.mark.parametrize("after", [0.0, 0.3, 0.9])
async def test_stop_while_the_kernel_is_being_started(server: LabServer, script: Script, after: float) -> None:
    """At any moment of the start, of the connection, and of the cell's first steps."""
    name = f"early-{after}.ipynb"
    write_notebook(server.root / name, [("one", "code", "import time\ntime.sleep(600)")])
    script({"calls": [run()]})
    client = await Client.connect(server, create(server, notebook=name, mode="accept-edits"))
    client.ask("Run it")
    await client.until("tool_start")
    await asyncio.sleep(after)
    client.tell({"type": "stop"})
    stop = await client.until("stop", timeout=20)
    await client.close()
    assert stop["reason"] == "stopped"


async def test_a_gateways_kernel_does_not_inherit_the_way_back(server: LabServer, script: Script) -> None:
    """It may run on somebody else's machine: this server's secret must not be there."""
    source = "import os\n[name for name in os.environ if name.startswith(('JUPYTER_AGENT', 'ANTHROPIC'))]"
    write_notebook(server.root / "secret.ipynb", [("one", "code", source)])
    script({"calls": [run()]}, {"text": "Ran."})
    client = await Client.connect(server, create(server, notebook="secret.ipynb", mode="accept-edits"))
    client.ask("Run it")
    await client.until("stop", timeout=120)
    await client.close()
    (cell,) = await cells_with_outputs(server, "secret.ipynb")
    assert "".join(cell["outputs"][0]["data"]["text/plain"]) == "[]"
    # jupyter_server logs the whole environment when it starts a kernel through a gateway (fault f74).
    assert "JUPYTER_AGENT_SECRET" not in server.log.read_text()


async def test_a_gateway_that_went_away_is_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, model_port: int, script: Script
) -> None:
    with gateway(tmp_path_factory.mktemp("gone")) as far:
        environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}", "ANTHROPIC_API_KEY": "scripted"}
        folder = tmp_path_factory.mktemp("without")
        made = LabServer(folder, app="jupyter_server", environment=environment, arguments=far.arguments)
        with running(made) as server:
            far.stop()
            write_notebook(server.root / "none.ipynb", [("one", "code", "1")])
            script({"calls": [run()]}, {"text": "I see.", "expect": {"tool_result_contains": "could not be started"}})
            client = await Client.connect(server, create(server, notebook="none.ipynb", mode="accept-edits"))
            client.ask("Run it")
            stop = await client.until("stop", timeout=120)
            await client.close()
            assert stop["reason"] == "done"
