"""f19: fifty edits of one file at once all land, or the one that did not says why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from jupyter_agent.errors import Refused
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.effects import commit
from jupyter_agent.tools import all_tools
from jupyter_agent.workspace import Workspace

COUNT = 50


def prepare(path: Path) -> None:
    path.write_text("".join(f"old {number}\n" for number in range(COUNT)))


async def test_f19_concurrent_edits_in_one_conversation_all_land(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    prepare(path)
    workspace = Workspace(tmp_path)

    async def edit(number: int) -> None:
        async with workspace.lock("a.txt"):
            content = workspace.read("a.txt")
            await asyncio.sleep(0)
            changed = content.data.replace(b"old %d\n" % number, b"new %d\n" % number)
            await commit(workspace.write("a.txt", changed, expected=content.sha256))

    await asyncio.gather(*(edit(number) for number in range(COUNT)))
    assert path.read_text() == "".join(f"new {number}\n" for number in range(COUNT))


async def test_f19_parallel_tool_calls_on_one_file_all_land(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.txt"
    prepare(path)
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", ledger=True) as conversation:
        await call(conversation, "read_file", path="a.txt")
        results = await asyncio.gather(
            *(
                call(conversation, "edit_file", path="a.txt", old_string=f"old {number}", new_string=f"new {number}")
                for number in range(COUNT)
            )
        )
    assert [result.is_error for result in results] == [False] * COUNT
    assert path.read_text() == "".join(f"new {number}\n" for number in range(COUNT))


async def test_f19_without_the_lock_each_edit_lands_or_says_why(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    prepare(path)
    workspace = Workspace(tmp_path)

    async def edit(number: int) -> str:
        content = workspace.read("a.txt")
        await asyncio.sleep(0)
        changed = content.data.replace(b"old %d\n" % number, b"new %d\n" % number)
        try:
            await commit(workspace.write("a.txt", changed, expected=content.sha256))
        except Refused as refusal:
            return str(refusal)
        return ""

    reasons = await asyncio.gather(*(edit(number) for number in range(COUNT)))
    expected = "".join(f"{'old' if reason else 'new'} {number}\n" for number, reason in enumerate(reasons))
    assert "" in reasons
    assert all("changed" in reason for reason in reasons if reason)
    assert path.read_text() == expected


WRITER = """
import asyncio, sys
from jupyter_agent.errors import Refused
from jupyter_agent.testing.effects import commit
from jupyter_agent.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1])
    for number in range(int(sys.argv[2]), 50, 5):
        while True:
            content = workspace.read("a.txt")
            changed = content.data.replace(b"old %d\\n" % number, b"new %d\\n" % number)
            try:
                await commit(workspace.write("a.txt", changed, expected=content.sha256))
            except Refused:
                continue
            break

asyncio.run(main())
"""


def test_f19_several_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    prepare(path)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(first)]) for first in range(5)]
    assert [writer.wait(60) for writer in writers] == [0] * 5
    assert path.read_text() == "".join(f"new {number}\n" for number in range(COUNT))
