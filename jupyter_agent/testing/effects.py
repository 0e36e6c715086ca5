"""Committing effects in tests as the permission layer would, with nothing but the grant."""

from __future__ import annotations

from typing import Any, TypeVar

from jupyter_agent.effect import Effect, Grant

T = TypeVar("T")


def grant(effect: Effect[T]) -> Effect[T]:
    """Grant exactly what the effect describes now."""
    effect.granted(Grant(effect.digest, _nothing, _nothing))
    return effect


async def commit(effect: Effect[T]) -> T:
    """Grant and commit. Raises what `Effect.commit` raises."""
    return await grant(effect).commit()


async def _nothing(_effect: Effect[Any]) -> None:
    return None
