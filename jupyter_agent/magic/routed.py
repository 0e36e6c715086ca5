"""This kernel, as cells of its own open notebook run in it: their outputs show in these cells, not in the magic's."""

from __future__ import annotations

from typing import Any, Unpack

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.kernel.inprocess import InProcessKernel
from jupyter_agent.kernel.protocol import Execution, KernelState, OnOutput, RunOptions, Snapshot
from jupyter_agent.kernel.proxy import KernelProxy
from jupyter_agent.notebook.bridge import Bridge


class RoutedKernel(KernelProxy):
    """The server at the other end of `bridge` shows outputs while they arrive, also while code blocks this process."""

    def __init__(self, live: InProcessKernel, shell: Any, bridge: Bridge) -> None:
        self._live, self._shell, self._bridge = live, shell, bridge

    @property
    def language(self) -> str:
        return self._live.language

    async def start(self) -> InProcessKernel:
        return self._live

    async def running(self) -> InProcessKernel:
        return self._live

    async def state(self) -> KernelState:
        return await self._live.state()

    async def run(self, code: str, **options: Unpack[RunOptions]) -> Execution:
        cell, on_output = options.get("cell"), options.get("on_output")
        if cell is None or on_output is None:
            return await self._live.run(code, **options)
        parent = self._shell.kernel.session.msg("execute_request", {"code": code}, metadata={"cellId": cell})
        try:
            await self._bridge.ask("follow", {"cell": cell, "message": parent["header"]["msg_id"]})
        except NotebookRefused:
            # Then outputs show in the magic's cell, and in their own when they are complete.
            return await self._live.run(code, **options)
        options["on_output"] = _at_the_end(on_output)
        return await self._live.run(code, parent=parent, **options)

    async def restart(self) -> None:
        await self._live.restart()

    async def shutdown(self) -> None:
        """The host lets go of the live kernel itself."""


def _at_the_end(on_output: OnOutput) -> OnOutput:
    """Only the last word: until then the server hears what the kernel publishes."""

    async def tell(snapshot: Snapshot) -> None:
        if snapshot.ended:
            await on_output(snapshot)

    return tell
