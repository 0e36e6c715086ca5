"""The command line as a process of its own, the way scripts call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_program(
    *arguments: str, cwd: Path, timeout: float = 100, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`jupyter agent ARGUMENTS` in `cwd`, without a terminal and without input."""
    return subprocess.run(
        [sys.executable, "-m", "jupyter_agent", *arguments],
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
