"""The conformance suite on the in-process backend: in a plain IPython shell, and inside a real ipykernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.kernel.client import start_kernel
from jupyter_agent.kernel.inprocess import InProcessKernel
from jupyter_agent.testing import kernels

FEATURES = ("python", "counts")

DRIVER = """
from pathlib import Path
from jupyter_agent.kernel.inprocess import InProcessKernel
from jupyter_agent.testing import kernels
_kernel = InProcessKernel(get_ipython(), spill=Path({spill!r}))
for _check in kernels.checks({features!r}):
    try:
        await _check(_kernel, kernels.PYTHON)
    except BaseException as _error:
        _failed = globals().setdefault("_failed", {{}})
        _failed[_check.__name__] = repr(_error)
await _kernel.shutdown()
"""


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    yield made
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("check", kernels.checks(FEATURES), ids=lambda check: check.__name__[6:])
async def test_plain_shell(shell: Any, tmp_path: Path, check: kernels.Check) -> None:
    kernel = InProcessKernel(shell, spill=tmp_path)
    try:
        await check(kernel, kernels.PYTHON)
    finally:
        await kernel.shutdown()


async def test_inside_ipykernel(tmp_path: Path) -> None:
    """The cell that drives the checks is itself the agent's cell: awaited, on the kernel's main thread."""
    kernel = await start_kernel("python3", cwd=Path(__file__).parents[2])
    try:
        execution = await kernel.run(DRIVER.format(spill=str(tmp_path), features=FEATURES))
        snapshot = await execution.wait(100)
        assert snapshot.status == "ok", snapshot.error
        failed = await kernels.run(kernel, "globals().get('_failed')")
        assert not failed.outputs, failed.outputs
    finally:
        await kernel.shutdown()
