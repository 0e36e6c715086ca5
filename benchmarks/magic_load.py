"""`%load_ext jupyter_agent` adds less than 30 ms to an IPython.

The limit is held against processor time, since the start of a whole process swings by more than that on a busy machine;
the processes are compared as well.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

from _harness import Result, command, paired

ALLOWANCE = 0.030
"""Seconds that loading may add to bare IPython."""


def measure() -> list[Result]:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False

    def load() -> None:
        """As for the first time: nothing of ours is loaded, everything of IPython's is."""
        for name in [name for name in sys.modules if name.partition(".")[0] == "jupyter_agent"]:
            del sys.modules[name]
        shell.extension_manager.loaded.clear()
        shell.run_line_magic("load_ext", "jupyter_agent")
        shell.jupyter_agent.uninstall()

    try:
        return [
            paired("%load_ext jupyter_agent", "30 ms of processor", load, spin, limit=1.0, rounds=31, clock="cpu"),
            processes(),
        ]
    finally:
        InteractiveShell.clear_instance()


def spin() -> None:
    end = time.process_time() + ALLOWANCE
    while time.process_time() < end:
        pass


def processes() -> Result:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"IPYTHONDIR": folder, "HOME": folder}
        ours, bare = start("%load_ext jupyter_agent", environment), start("pass", environment)
        return paired("ipython -c '%load_ext jupyter_agent'", "ipython -c pass", ours, bare, rounds=15)


def start(line: str, environment: dict[str, str]) -> Callable[[], object]:
    return command([sys.executable, "-m", "IPython", "--no-banner", "-c", line], env=environment)
