"""A notebook's kernel that starts with its first run: before that there is nothing to inspect, interrupt or end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.client import ClientKernel, start_kernel
from jupyter_agent.kernel.launch import kernel_name
from jupyter_agent.kernel.protocol import KernelState, KernelStatus
from jupyter_agent.kernel.proxy import KernelProxy


def kernel_for(metadata: Mapping[str, Any], *, path: Path | None, cwd: Path, spill: Path | None = None) -> LazyKernel:
    """The kernel that a notebook's metadata names (`python3` when it names none), not started yet.

    `path` is the notebook's absolute path, `cwd` its folder, `spill` a folder for floods of output.
    """
    return LazyKernel(metadata, path=path, cwd=cwd, spill=spill)


class LazyKernel(KernelProxy):
    """The `Kernel` protocol; `run` and `restart` start the kernel when there is none. Raises KernelError."""

    def __init__(self, metadata: Mapping[str, Any], *, path: Path | None, cwd: Path, spill: Path | None) -> None:
        self._name = kernel_name(metadata)
        self._named_language = _language(metadata)
        self._path, self._cwd, self._spill = path, cwd, spill
        self._kernel: ClientKernel | None = None
        self._starting = asyncio.Lock()

    @property
    def language(self) -> str:
        return self._kernel.language if self._kernel is not None else self._named_language

    async def state(self) -> KernelState:
        if self._kernel is not None:
            return await self._kernel.state()
        status: KernelStatus = "starting" if self._starting.locked() else "none"
        return KernelState(status, self._name, self._named_language, ours=True)

    async def start(self) -> ClientKernel:
        async with self._starting:
            if self._kernel is None:
                notebook = str(self._path) if self._path is not None else None
                self._kernel = await start_kernel(self._name, cwd=self._cwd, notebook=notebook, spill=self._spill)
            return self._kernel

    async def restart(self) -> None:
        if self._kernel is None:
            await self.start()
        else:
            await self._kernel.restart()

    async def shutdown(self) -> None:
        async with self._starting:
            if self._kernel is not None:
                await self._kernel.shutdown()
                self._kernel = None

    async def running(self) -> ClientKernel:
        if self._kernel is None:
            raise KernelError(
                "No kernel runs for this notebook yet, so it has no variables. Run a cell, or start the kernel "
                "(control_kernel 'start').",
                kind="none",
            )
        return self._kernel


def _language(metadata: Mapping[str, Any]) -> str:
    """As the notebook says it: `language_info` as saved by the last kernel, or the kernelspec's language."""
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(key)
        name = entry.get(field) if isinstance(entry, Mapping) else None
        if isinstance(name, str) and name:
            return name.lower()
    return "python"
