"""A kernel behind a real kernel gateway under the shipped suite of kernels, as a conversation on the server has it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from server.gateway import TOKEN, Gateway, Relay, gateway, needs_gateway
from server.threaded import ThreadedServer, serving

from jupyter_agent.server.kernels import ServedKernel
from jupyter_agent.testing import kernels

pytestmark = [needs_gateway, pytest.mark.asyncio(loop_scope="module")]
FEATURES = {"python", "counts", "parallel", "interrupt", "subshell", "restart"}


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway(tmp_path_factory.mktemp("gateway")) as started:
        yield started


@pytest.fixture(scope="module")
def relay(far: Gateway) -> Iterator[Relay]:
    made = Relay(far.port)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedServer]:
    from jupyter_server.gateway.gateway_client import GatewayClient

    settings = {"GatewayClient": {"url": f"http://127.0.0.1:{relay.port}", "auth_token": TOKEN}}
    # It is one for the process: an earlier server in it left one that knows no gateway, and the next one has none.
    GatewayClient.clear_instance()
    try:
        with serving(ThreadedServer(tmp_path_factory.mktemp("server"), settings)) as started:
            yield started
    finally:
        GatewayClient.clear_instance()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kernel(server: ThreadedServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedKernel]:
    made = ServedKernel(server.kernels(), "far.ipynb", {}, Path(tmp_path_factory.mktemp("spill")))
    await made.start()
    yield made
    await made.shutdown()


@pytest.mark.parametrize("check", kernels.checks(FEATURES), ids=lambda check: check.__name__[6:])
async def test_kernel_behind_a_gateway(kernel: ServedKernel, check: kernels.Check) -> None:
    await check(kernel, kernels.PYTHON)


async def test_f35_a_death_is_noticed_behind_the_gateways_restarter(kernel: ServedKernel) -> None:
    """Within 5 s and tenfold slack; the kernel that took its place knows nothing of what was there."""
    await kernels.run(kernel, "precious = 1")
    code = "import os, time\nprint('last words', flush=True)\ntime.sleep(.3)\nos.kill(os.getpid(), 9)"
    execution = await kernel.run(code)
    snapshot = await execution.wait(50)
    assert snapshot.status == "dead"
    assert "last words" in kernels.text_of(snapshot)
    assert "precious" in snapshot.lost_names
    after = await kernels.run(kernel, "'precious' in globals()")
    assert after.outputs[0]["data"]["text/plain"] == "False"


async def test_a_broken_connection_comes_back_with_what_was_said_meanwhile(kernel: ServedKernel, relay: Relay) -> None:
    execution = await kernel.run("import time\nprint('one', flush=True)\ntime.sleep(1.5)\nprint('two')")
    while "one" not in kernels.text_of(await execution.wait(0.2)):
        assert not execution.done
    assert relay.drop() > 0
    snapshot = await execution.wait(60)
    assert snapshot.status == "ok"
    assert kernels.text_of(snapshot) == "one\ntwo\n"
