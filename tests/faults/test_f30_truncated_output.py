"""f30: what was cut from a result is all there, byte for byte, in the file behind it."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_agent.shell import Shell


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
    assert result.spill.read_bytes() == "".join(f"{number}\n" for number in range(1, 200_001)).encode()
