"""The server extension adds at most 60 ms to a server's start and 25 MB of memory before it is first used.

Both are measured by turns with the same server without it: the time as the processor time that the server has used when
it first answers, since the wall clock of a whole start swings by more on a busy machine.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import urllib.error
from pathlib import Path
from typing import Any

from _harness import Result
from _lab import against_promise

ROUNDS = 9
TICKS = os.sysconf("SC_CLK_TCK")


def measure() -> list[Result]:
    started: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(ROUNDS + 1):
        for enabled in (True, False) if number % 2 else (False, True):
            figures = start(enabled)
            if number:
                started[enabled].append(figures)
    ours, bare = ([list(column) for column in zip(*started[enabled], strict=True)] for enabled in (True, False))
    added = [[a - statistics.median(without) for a in with_it] for with_it, without in zip(ours, bare, strict=True)]
    return [
        against_promise("server start: added processor time", "ms", added[0], 60),
        against_promise("server before first use: added memory", "MB", added[1], 25),
    ]


def start(enabled: bool) -> tuple[float, float]:
    """(milliseconds of processor time at the first answer, megabytes resident) of a server."""
    from lab.harness import LabServer, running

    with tempfile.TemporaryDirectory(prefix="start-") as folder:
        switch = f"--ServerApp.jpserver_extensions={{'jupyter_agent': {enabled}}}"
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(running(LabServer(Path(folder), arguments=[switch])))
            assert server.process is not None
            figures = figures_of(server.process.pid)
            assert is_there(server) is enabled
            return figures


def is_there(server: Any) -> bool:
    """Whether the extension answers."""
    try:
        server.get("jupyter-agent/conversations")
    except urllib.error.HTTPError as error:
        with error:
            return error.code != 404
    return True


def figures_of(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 1000 * (int(fields[11]) + int(fields[12])) / TICKS, pages * os.sysconf("SC_PAGE_SIZE") / 1e6
