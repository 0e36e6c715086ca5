"""Kernels: the protocol, its backends, and what runs inside a kernel for us. Backends are imported when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jupyter_agent.kernel.protocol import Busy, Execution, Kernel, KernelState, Snapshot, Variable

if TYPE_CHECKING:
    from jupyter_agent.kernel.client import ClientKernel, connect_kernel, start_kernel
    from jupyter_agent.kernel.launch import Link, end_started, started_pids
    from jupyter_agent.kernel.lazy import LazyKernel, kernel_for

_HOMES = {
    "ClientKernel": "client",
    "connect_kernel": "client",
    "start_kernel": "client",
    "Link": "launch",
    "end_started": "launch",
    "started_pids": "launch",
    "LazyKernel": "lazy",
    "kernel_for": "lazy",
}


def __getattr__(name: str) -> Any:
    """Reading a notebook or editing a file must not cost the import of a kernel client."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Busy",
    "ClientKernel",
    "Execution",
    "Kernel",
    "KernelState",
    "LazyKernel",
    "Link",
    "Snapshot",
    "Variable",
    "connect_kernel",
    "end_started",
    "kernel_for",
    "start_kernel",
    "started_pids",
]
