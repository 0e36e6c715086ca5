"""A kernel that is started by its first run, so that reading a notebook, or a refused run, never starts anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.protocol import Execution, Kernel, KernelState, OnOutput, Variable


class LazyKernel:
    """Implements `Kernel` over `start`, which is awaited once. `name` is the kernelspec's."""

    def __init__(self, start: Callable[[], Awaitable[Kernel]], *, name: str, language: str) -> None:
        self._start = start
        self._name = name
        self._language = language
        self._kernel: Kernel | None = None
        self._lock = asyncio.Lock()

    @property
    def language(self) -> str:
        return self._kernel.language if self._kernel is not None else self._language

    async def state(self) -> KernelState:
        if self._kernel is None:
            return KernelState("none", self._name, self._language, ours=True)
        return await self._kernel.state()

    async def run(
        self,
        code: str,
        *,
        cell: str | None = None,
        on_output: OnOutput | None = None,
        queue_timeout: float = 60.0,
        store_history: bool = True,
        silent: bool = False,
    ) -> Execution:
        kernel = await self._started()
        return await kernel.run(
            code,
            cell=cell,
            on_output=on_output,
            queue_timeout=queue_timeout,
            store_history=store_history,
            silent=silent,
        )

    async def variables(self, names: Sequence[str] | None = None, *, detail: bool = False) -> list[Variable]:
        if self._kernel is None:
            raise KernelError("No kernel runs yet, so there are no variables. Run a cell first.", kind="not_started")
        return await self._kernel.variables(names, detail=detail)

    async def interrupt(self) -> None:
        if self._kernel is not None:
            await self._kernel.interrupt()

    async def restart(self) -> None:
        """Restart; a kernel that was never started is started."""
        if self._kernel is None:
            await self._started()
        else:
            await self._kernel.restart()

    async def shutdown(self) -> None:
        async with self._lock:
            if self._kernel is not None:
                await self._kernel.shutdown()
                self._kernel = None

    async def _started(self) -> Kernel:
        async with self._lock:
            if self._kernel is None:
                self._kernel = await self._start()
            return self._kernel
