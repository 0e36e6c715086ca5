"""The shipped conformance suite on the client backend: a kernel of ours, one of somebody else's, and bash_kernel."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from jupyter_agent.kernel.client import ClientKernel, connect_kernel, start_kernel
from jupyter_agent.kernel.launch import start_own
from jupyter_agent.testing import kernels

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMMON = {"counts", "parallel", "interrupt"}
OURS = {"python", "subshell", "restart", "mortal"} | COMMON
THEIRS = {"python", "subshell"} | COMMON
BASH = {"parallel", "interrupt", "restart", "mortal"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ours(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClientKernel]:
    kernel = await start_kernel("python3", spill=tmp_path_factory.mktemp("spill"))
    yield kernel
    await kernel.shutdown()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def theirs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClientKernel]:
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    kernel = await connect_kernel(manager.connection_file, spill=tmp_path_factory.mktemp("spill"))
    yield kernel
    await kernel.shutdown()
    assert await manager.is_alive(), "a kernel that we did not start must live on"
    await manager.shutdown_kernel(now=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bash(tmp_path_factory: pytest.TempPathFactory, bash_kernelspec: str) -> AsyncIterator[ClientKernel]:
    link = await start_own(bash_kernelspec)
    kernel = await ClientKernel.open(link, spill=tmp_path_factory.mktemp("spill"))
    yield kernel
    await kernel.shutdown()


@pytest.fixture(scope="module")
def bash_kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """bash_kernel under a Jupyter path of the tests: the package alone installs no kernelspec."""
    folder = tmp_path_factory.mktemp("jupyter")
    spec = folder / "kernels" / "bash"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "bash_kernel", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Bash", "language": "bash"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        yield "bash"


@pytest.mark.parametrize("check", kernels.checks(OURS), ids=lambda check: check.__name__[6:])
async def test_own_kernel(ours: ClientKernel, check: kernels.Check) -> None:
    await check(ours, kernels.PYTHON)


@pytest.mark.parametrize("check", kernels.checks(THEIRS), ids=lambda check: check.__name__[6:])
async def test_kernel_of_somebody_else(theirs: ClientKernel, check: kernels.Check) -> None:
    await check(theirs, kernels.PYTHON)


@pytest.mark.parametrize("check", kernels.checks(BASH), ids=lambda check: check.__name__[6:])
async def test_bash_kernel(bash: ClientKernel, check: kernels.Check) -> None:
    await check(bash, kernels.BASH)
