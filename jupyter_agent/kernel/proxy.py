"""A kernel behind another object: one that starts with its first run, one that may be exchanged, one seen from inside.

Before there is a kernel there is nothing to inspect or interrupt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Unpack

from jupyter_agent.kernel.protocol import Execution, Kernel, RunOptions, Variable


class KernelProxy(ABC):
    """The part of the `Kernel` protocol that is passed on; a subclass says to whom, and has the rest."""

    @abstractmethod
    async def start(self) -> Kernel:
        """The running kernel, started now if need be; concurrent callers get the same one."""

    @abstractmethod
    async def running(self) -> Kernel:
        """The running kernel. Raises KernelError("none") where there is none."""

    async def run(self, code: str, **options: Unpack[RunOptions]) -> Execution:
        return await (await self.start()).run(code, **options)

    async def scratch(self, code: str, *, timeout: float, queue_timeout: float = 60.0) -> Execution:
        return await (await self.start()).scratch(code, timeout=timeout, queue_timeout=queue_timeout)

    async def variables(self, names: Sequence[str] | None = None, *, detail: bool = False) -> list[Variable]:
        return await (await self.running()).variables(names, detail=detail)

    async def interrupt(self) -> None:
        await (await self.running()).interrupt()
