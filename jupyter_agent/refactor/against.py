"""The cells a notebook is compared with: those of another file, or of git's HEAD. Reads, and runs `git show`."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from pathlib import Path

from jupyter_agent.errors import UsageError
from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.document import Cell

SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")
"""A repository's configuration may name programs to run; these settings run none of them (fault f64)."""


async def cells_of(path: Path, against: str) -> tuple[Cell, ...]:
    """`against` is a notebook file, or `HEAD`: the notebook at `path` as last committed. Raises UsageError."""
    if against != "HEAD":
        if not Path(against).is_file():
            raise UsageError(f"There is no notebook {against} to compare with.")
        return await (await open_notebook(against)).cells()
    command = ["git", *SAFE, "show", "--no-textconv", f"HEAD:./{path.name}"]
    try:
        shown = await asyncio.to_thread(subprocess.run, command, cwd=path.parent, capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("git is not installed, so there is no HEAD to compare with. Name a FILE instead.") from None
    if shown.returncode != 0:
        reason = shown.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise UsageError(f"git has no {path.name} at HEAD: {reason[0] if reason else 'no reason given'}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(shown.stdout)
        return await (await open_notebook(copy)).cells()
