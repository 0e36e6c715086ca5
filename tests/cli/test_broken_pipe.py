"""A reader that goes away (`| head`) ends a command quietly, in the middle of what it writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_agent.testing.samples import code, write_notebook


@pytest.mark.parametrize(
    "command",
    [["refactor", "strip-outputs", "--no-verify"], ["graph"], ["tools"]],
    ids=lambda command: command[0],
)
def test_the_program_says_nothing_when_its_reader_is_gone(tmp_path: Path, command: list[str]) -> None:
    result = {"output_type": "stream", "name": "stdout", "text": "x\n" * 2000}
    cells = [code(f"c{number}", f"x{number} = {number}", outputs=[result]) for number in range(200)]
    path = write_notebook(tmp_path / "a.ipynb", cells)
    arguments = command if command == ["tools"] else [*command, str(path)]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "jupyter_agent", *arguments],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.stderr == ""
    assert done.returncode == 1
