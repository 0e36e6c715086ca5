"""Outputs of cells that a kernel runs from inside (the magic): shown in their cells while they arrive.

The kernel itself can say nothing while its code runs; what it publishes is heard here, and ends with its own last word.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jupyter_agent.kernel.execution import LiveExecution
from jupyter_agent.kernel.protocol import Snapshot
from jupyter_agent.server.kernels import ServedKernel, ServerKernels
from jupyter_agent.server.notebook import ServedNotebook


class Following:
    """At most one run per cell. `notebook_at` gives the document at a path."""

    def __init__(self, kernels: ServerKernels, notebook_at: Callable[[Path], ServedNotebook]) -> None:
        self._server_kernels, self._notebook_at = kernels, notebook_at
        self._kernels: dict[Path, ServedKernel] = {}
        self._runs: dict[tuple[Path, str], LiveExecution] = {}

    async def begin(self, path: Path, name: str, cell: str, message: str) -> None:
        """Show what answers `message` in the cell from now on. Raises KernelError where the kernel is gone."""
        await self.end(path, cell)
        if path not in self._kernels:
            self._kernels[path] = ServedKernel(self._server_kernels, name, {}, None)
        client = await self._kernels[path].running()
        notebook = self._notebook_at(path)

        async def show(snapshot: Snapshot) -> None:
            await notebook.set_outputs(cell, snapshot.outputs, None)

        self._runs[path, cell] = client.follow(message, cell=cell, on_output=show)

    async def end(self, path: Path, cell: str) -> None:
        """The kernel says itself how it ended: nothing of ours is shown after this."""
        run = self._runs.pop((path, cell), None)
        if run is not None:
            run.finish("ok")
            await run.wait(None)
            run.close()

    async def close(self) -> None:
        for path, cell in list(self._runs):
            await self.end(path, cell)
        for kernel in self._kernels.values():
            await kernel.shutdown()
        self._kernels.clear()
