"""n38: the person's running cell is never interrupted by our timeout, nor their queue swept by our failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.budget import Budget
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.errors import KernelError
from jupyter_agent.host import LocalHost
from jupyter_agent.journal import Journal
from jupyter_agent.kernel.client import connect_kernel
from jupyter_agent.testing.calls import call, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


@dataclass
class Person:
    """A notebook front end: it sends its cells at once, each sweeping the queue when it fails."""

    client: Any
    connection_file: str

    def run(self, source: str) -> str:
        return str(self.client.execute(source, stop_on_error=True))

    async def replies(self, *requests: str) -> dict[str, str]:
        """Status of each request, once all are answered."""
        found: dict[str, str] = {}
        while len(found) < len(requests):
            message = await self.client.get_shell_msg(timeout=60)
            if message["parent_header"].get("msg_id") in requests:
                found[message["parent_header"]["msg_id"]] = message["content"]["status"]
        return found

    async def printed(self, text: str) -> None:
        while True:
            message = await self.client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream" and text in message["content"]["text"]:
                return


@pytest.fixture
async def person() -> AsyncIterator[Person]:
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    client = manager.client()
    client.start_channels(hb=False)
    await client.wait_for_ready(timeout=60)
    yield Person(client, manager.connection_file)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


async def test_n38_our_timeout_counts_from_our_own_start_and_interrupts_nobody(person: Person, tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "print('ours')")])
    settings = Settings(tmp_path, path, "accept-edits", ledger=False)
    with Journal.open(tmp_path / "c") as journal:
        host = LocalHost(tmp_path, connection_file=Path(person.connection_file))
        made = Conversation(journal, settings, host, all_tools(), Budget())
        made.begin_turn()
        try:
            # Connected before, as in a conversation that goes on.
            await call(made, "control_kernel", action="status")
            theirs = person.run("import time\nprint('theirs', flush=True)\ntime.sleep(3)\nfinished = True")
            await person.printed("theirs")
            assert "import time" in text_of(await call(made, "control_kernel", action="status"))
            result = await call(made, "run_cells", cells=["a"], timeout=1, on_timeout="interrupt")
            assert text_of(result).startswith("ok"), text_of(result)
            assert "ours" in text_of(result)
            assert await person.replies(theirs) == {theirs: "ok"}
        finally:
            await made.close()


async def test_n38_our_failure_does_not_sweep_the_persons_queue(person: Person) -> None:
    kernel = await connect_kernel(person.connection_file)
    try:
        ours = await kernel.run("import time\nprint('ours', flush=True)\ntime.sleep(1)\n1/0")
        await person.printed("ours")
        queued = [person.run(f"kept_{number} = {number}") for number in range(3)]
        assert (await ours.wait(60)).status == "error"
        assert set((await person.replies(*queued)).values()) == {"ok"}
    finally:
        await kernel.shutdown()


async def test_n38_our_interrupt_while_queued_withdraws_and_signals_nobody(person: Person) -> None:
    kernel = await connect_kernel(person.connection_file)
    try:
        theirs = person.run("import time\nprint('theirs', flush=True)\ntime.sleep(2)")
        await person.printed("theirs")
        ours = await kernel.run("never = 1")
        assert (await ours.interrupt()).status == "aborted"
        assert await person.replies(theirs) == {theirs: "ok"}
        check = person.run("assert 'never' not in dir()")
        assert await person.replies(check) == {check: "ok"}
    finally:
        await kernel.shutdown()


@pytest.mark.parametrize("connected_before", [True, False])
async def test_n38_a_kernel_kept_busy_is_reported_after_a_stated_time(person: Person, connected_before: bool) -> None:
    kernel = await connect_kernel(person.connection_file) if connected_before else None
    theirs = person.run("import time\nprint('theirs', flush=True)\ntime.sleep(4)")
    await person.printed("theirs")
    kernel = kernel or await connect_kernel(person.connection_file)
    try:
        ours = await kernel.run("ours = 1", queue_timeout=0.5)
        with pytest.raises(KernelError, match="running") as refused:
            await ours.wait(10)
        assert refused.value.kind == "busy"
        assert ("import time" in str(refused.value)) is connected_before
        assert "The code was not run." in str(refused.value)
        assert await person.replies(theirs) == {theirs: "ok"}
        await asyncio.wait_for(_until_idle(kernel), 30)
        assert (await (await kernel.run("ours = 2")).wait(30)).status == "ok"
    finally:
        await kernel.shutdown()


async def _until_idle(kernel: Any) -> None:
    while (await kernel.state()).status != "idle":  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def test_n38_a_request_swept_by_the_persons_failure_is_sent_again(person: Person) -> None:
    kernel = await connect_kernel(person.connection_file)
    try:
        # Sent in one go, so that ours stands in the kernel's queue behind a cell that fails.
        theirs = person.run("import time\ntime.sleep(0.5)\n1/0")
        ours = await kernel.run("print('ours')")
        assert (await ours.wait(60)).status == "ok"
        assert await person.replies(theirs) == {theirs: "error"}
    finally:
        await kernel.shutdown()
