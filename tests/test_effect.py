"""Effects: nothing happens that was not granted exactly as described."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_agent.effect import Effect, Grant, unified_diff
from jupyter_agent.errors import NotGranted, Stale


async def nothing(effect: Effect[Any]) -> None:
    return None


def grant_of(effect: Effect[Any]) -> Grant:
    return Grant(effect.digest, nothing, nothing)


def make(done: list[str], *, state: list[str] | None = None, payload: str = "new") -> Effect[str]:
    async def apply() -> str:
        done.append(payload)
        return payload

    async def current() -> str:
        return state[0] if state else "old"

    return Effect("edit", "/f", "Edit f", "-old\n+new", apply, before="old", payload=payload, current=current)


async def test_commit_without_a_grant_is_refused() -> None:
    done: list[str] = []
    with pytest.raises(NotGranted):
        await make(done).commit()
    assert done == []


async def test_a_grant_for_another_digest_is_refused() -> None:
    done: list[str] = []
    effect, other = make(done), make([], payload="other")
    effect.granted(grant_of(other))
    with pytest.raises(NotGranted):
        await effect.commit()
    assert done == []


@pytest.mark.parametrize(
    "change", [{"preview": "x"}, {"payload": "x"}, {"target": "/g"}, {"before": "x"}, {"kind": "execute"}]
)
async def test_whatever_changes_after_the_grant_voids_it(change: dict[str, Any]) -> None:
    done: list[str] = []
    effect = make(done)
    effect.granted(grant_of(effect))
    for name, value in change.items():
        setattr(effect, name, value)
    with pytest.raises(NotGranted):
        await effect.commit()
    assert done == []


async def test_a_grant_holds_for_one_commit() -> None:
    done: list[str] = []
    effect = make(done)
    effect.granted(grant_of(effect))
    assert await effect.commit() == "new"
    with pytest.raises(NotGranted, match="one time"):
        await effect.commit()
    assert done == ["new"]


async def test_f20_target_changed_before_commit_is_stale() -> None:
    done: list[str] = []
    effect = make(done, state=["changed by the user"])
    effect.granted(grant_of(effect))
    with pytest.raises(Stale, match="Read it again"):
        await effect.commit()
    assert done == []


async def test_f20_target_changed_while_the_pre_image_is_stored_is_stale() -> None:
    done: list[str] = []
    state = ["old"]
    effect = make(done, state=state)

    async def store(effect: Effect[Any]) -> None:
        state[0] = "changed meanwhile"

    effect.granted(Grant(effect.digest, store, nothing))
    with pytest.raises(Stale):
        await effect.commit()
    assert done == []


async def test_cancelling_a_write_still_records_it() -> None:
    recorded: list[str] = []
    writing, finish = asyncio.Event(), asyncio.Event()

    async def apply() -> str:
        writing.set()
        await finish.wait()
        return "written"

    async def record(effect: Effect[Any]) -> None:
        recorded.append(effect.target)

    effect = Effect("edit", "/f", "Edit f", "", apply)
    effect.granted(Grant(effect.digest, nothing, record))
    task = asyncio.ensure_future(effect.commit())
    await writing.wait()
    task.cancel()
    finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorded == ["/f"]


def test_diff_marks_a_missing_final_newline() -> None:
    assert unified_diff("a\n", "a", "f").endswith("-a\n+a\n\\ No newline at end of file\n")
    assert unified_diff("a", "a", "f") == ""
