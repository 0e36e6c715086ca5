"""Asking a kernel for its variables: on its main shell when that is free, on a subshell while a cell runs."""

from __future__ import annotations

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel import inspection
from jupyter_agent.kernel.channels import Channels
from jupyter_agent.kernel.protocol import Busy, Variable

ANSWERED_WITHIN = 10.0
"""Seconds for the kernel's answer."""


async def ask_variables(
    channels: Channels, request: inspection.Request, busy: Busy | None, *, has_subshells: bool
) -> list[Variable]:
    """Raises KernelError: `busy` where a cell runs and there are no subshells, `timeout`, `unsupported`."""
    if busy and not has_subshells:
        raise KernelError(
            f"The kernel is {busy.sentence()} and cannot be looked into meanwhile. Wait for it "
            "(control_kernel 'wait'), then inspect again.",
            kind="busy",
        )
    subshell = await channels.create_subshell(ANSWERED_WITHIN) if busy else None
    try:
        reply = await channels.request(
            "execute_request", request.content(), timeout=ANSWERED_WITHIN, subshell=subshell, collect=True
        )
    except TimeoutError:
        raise KernelError(
            f"The kernel did not describe its variables within {ANSWERED_WITHIN:g} s. Wait for it or interrupt it.",
            kind="timeout",
        ) from None
    finally:
        if subshell is not None:
            channels.delete_subshell(subshell)
    return inspection.parse(request, reply)
