"""People for tests: somebody who says yes to everything, at once or after doing something else first."""

from __future__ import annotations

from collections.abc import Callable

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.permission import Asker


async def yes(request: ApprovalRequest) -> Approval:
    """Approve what is asked, once."""
    return Approval(id=request.id, digest=request.digest, decision="once")


def yes_after(first: Callable[[], object]) -> Asker:
    """Approve after `first()`: what a person or another program does while the question is open."""

    async def answer(request: ApprovalRequest) -> Approval:
        first()
        return await yes(request)

    return answer
