"""Gates and effects for tests of permissions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from jupyter_agent.effect import Effect, Kind
from jupyter_agent.events import Approval, ApprovalRequest, Decision, Event
from jupyter_agent.permission import Asker, Gate, Mode


@contextlib.contextmanager
def no_clock() -> Iterator[None]:
    yield


async def nothing(effect: Effect[Any]) -> None:
    return None


def gate(mode: Mode = "review", *, asker: Asker | None = None, **more: Any) -> tuple[Gate, list[Event]]:
    events: list[Event] = []
    made = Gate(mode, "/root", events.append, nothing, nothing, no_clock, asker, **more)
    return made, events


def effect(kind: Kind = "edit", target: str = "/root/a.py", preview: str = "+x", **details: Any) -> Effect[str]:
    async def apply() -> str:
        return "done"

    return Effect(kind, target, f"{kind} {target}", preview, apply, details=details)


def answering(decision: Decision, *, digest: str | None = None) -> Asker:
    async def ask(request: ApprovalRequest) -> Approval:
        return Approval(id=request.id, digest=digest or request.digest, decision=decision, reason="said so")

    return ask
