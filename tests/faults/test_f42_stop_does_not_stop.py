"""f42: after Stop nothing further starts, at whatever event it comes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from conversations import call, conversation, happened

from jupyter_agent.events import Approval, ApprovalRequest, Event, Stop


async def test_f42_stop_in_mid_stream(tmp_path: Path) -> None:
    script = [{"text": "I will write.", "pause_until": "never", "pause_at": "stop"}]
    async with conversation(tmp_path, script) as (made, _, server):
        turn = asyncio.ensure_future(made.send("Go"))
        await happened(made, "delta")
        await made.stop()
        stop = await turn
        assert isinstance(stop, Stop)
        assert stop.reason == "stopped"
        server.gate("never").open()


SCRIPT = [
    call("write_file", path="one.txt", content="1\n"),
    call("run_bash", command="echo 2 > two.txt"),
    {
        "text": "Two at once.",
        "calls": [
            {"name": "write_file", "arguments": {"path": "three.txt", "content": "3\n"}},
            {"name": "write_file", "arguments": {"path": "four.txt", "content": "4\n"}},
        ],
    },
    {"text": "Done."},
]
EVENTS = 26
"""More than the turn has, so that every boundary is met."""


@pytest.mark.parametrize("place", range(EVENTS))
async def test_f42_no_effect_starts_after_stop_at_any_event(tmp_path: Path, place: int) -> None:
    """Stop is pressed at the `place`-th event; what is on disk then is all there will be."""
    folder = tmp_path / "work"
    folder.mkdir()
    count, at_stop = 0, None
    async with conversation(folder, SCRIPT, mode="auto", allow=["run_bash"]) as (made, _, _server):

        def press(event: Event) -> None:
            nonlocal count, at_stop
            if count == place and event.type != "stop":
                made.request_stop()
                at_stop = sorted(path.name for path in folder.iterdir())
            count += 1

        made.subscribe(press)
        stop = await made.send("Go")
        assert isinstance(stop, Stop)
        after = sorted(path.name for path in folder.iterdir())
        if at_stop is None:
            assert stop.reason == "done"
            assert after == ["four.txt", "one.txt", "three.txt", "two.txt"]
        else:
            assert stop.reason == "stopped"
            assert after == at_stop


async def test_f42_a_late_approval_is_void(tmp_path: Path) -> None:
    """The person answers yes to a request after pressing Stop: nothing happens."""
    folder = tmp_path / "work"
    folder.mkdir()
    asked_for: asyncio.Future[ApprovalRequest] = asyncio.get_running_loop().create_future()
    answer: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()

    async def ask(request: ApprovalRequest) -> Approval:
        asked_for.set_result(request)
        return await asyncio.shield(answer)

    async with conversation(folder, SCRIPT, mode="review", asker=ask) as (made, _, _server):
        turn = asyncio.ensure_future(made.send("Go"))
        request = await asked_for
        await made.stop()
        answer.set_result(Approval(id=request.id, digest=request.digest, decision="once"))
        stop = await turn
        assert isinstance(stop, Stop)
        assert stop.reason == "stopped"
    assert list(folder.iterdir()) == []
