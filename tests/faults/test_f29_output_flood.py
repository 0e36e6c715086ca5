"""f29: a flood of output costs neither memory nor context, and does not slow the deadline."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jupyter_agent.shell import Shell
from jupyter_agent.testing.approvals import yes
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.text import RESULT_LIMIT
from jupyter_agent.tools import all_tools

HOST = """
import asyncio, os, resource, sys
from jupyter_agent.shell import Shell

async def main():
    shell = Shell(sys.argv[1], {**os.environ, "API_KEY": "abcdefgh12345678"}, sys.argv[1] + "/spill")
    await shell.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await shell.run("head -c 250000000 /dev/zero | tr '\\\\0' 'x' | fold -w 99; echo end", 300)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    keepers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(grown, keepers, result.size, result.exit_code, result.output[-4:].strip(), len(result.output))

asyncio.run(main())
"""


def test_f29_a_quarter_of_a_gigabyte_leaves_memory_flat(tmp_path: Path) -> None:
    out = subprocess.run([sys.executable, "-c", HOST, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    grown, keeper, size, code, end, shown = out.split()
    # Kilobytes.
    assert int(grown) < 50_000
    assert int(keeper) < 100_000
    assert int(size) == 252_525_256
    assert (code, end) == ("0", "end")
    assert int(shown) < 1_100_000
    for path in (tmp_path / "spill").iterdir():
        path.unlink()


async def test_f29_the_model_sees_a_bounded_text_of_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", mode="review", asker=yes) as conversation:
        result = await call(conversation, "run_bash", command="seq 1 300000; echo the end")
    shown = text_of(result)
    assert len(shown.encode()) <= RESULT_LIMIT
    assert shown.split("\n")[1:3] == ["1", "2"]
    assert shown.endswith("300000\nthe end")
    assert "read_output" in shown


async def test_f29_an_endless_flood_ends_at_the_deadline(tmp_path: Path) -> None:
    result = await Shell(tmp_path, os.environ, tmp_path / "spill").run(
        "yes | head -c 20000000; yes > /dev/null", timeout=2
    )
    assert result.timed_out
    assert result.seconds < 20
