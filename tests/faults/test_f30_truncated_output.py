"""f30: what was cut from a result is all there, byte for byte, in the file behind it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_agent.shell import Shell
from jupyter_agent.testing.approvals import yes
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tools import all_tools


async def test_f30_every_truncated_output_is_fully_readable(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    result = await shell.run("seq 1 400000; printf 'bytes \\xff\\xfe and no newline'")
    assert result.truncated
    expected = "".join(f"{number}\n" for number in range(1, 400_001)).encode() + b"bytes \xff\xfe and no newline"
    assert result.spill.read_bytes() == expected
    assert result.size == len(expected)
    assert "bytes left out here" in result.output


async def test_f30_also_of_a_command_that_was_ended(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ, tmp_path / "spill")
    result = await shell.run("seq 1 200000; sleep 600", timeout=3)
    assert result.timed_out
    # bash may add that it was terminated.
    assert result.spill.read_bytes().startswith("".join(f"{number}\n" for number in range(1, 200_001)).encode())


@pytest.mark.parametrize("count", [4_000, 300_000])
async def test_f30_the_notice_names_a_handle_that_pages_through_all_of_it(tmp_path: Path, count: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", mode="review", asker=yes) as conversation:
        result = await call(conversation, "run_bash", command=f"seq 1 {count}")
        handle = result.details["handle"]
        assert handle in text_of(result)
        whole, offset = "", 0
        while offset is not None:
            page = await call(conversation, "read_output", handle=handle, offset=offset, limit=64_000)
            whole += text_of(page).split("\n", 1)[1]
            offset = page.details["next"]
            assert len(whole) <= page.details["total"]
    assert whole.split() == [str(number) for number in range(1, count + 1)]
