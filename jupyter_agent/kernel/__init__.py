"""Kernels: the protocol, its backends, and what runs inside a kernel for us."""

from jupyter_agent.kernel.client import ClientKernel, connect_kernel, start_kernel
from jupyter_agent.kernel.launch import Link, end_started, started_pids
from jupyter_agent.kernel.lazy import LazyKernel, kernel_for
from jupyter_agent.kernel.protocol import Busy, Execution, Kernel, KernelState, Snapshot, Variable

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
