"""Terminal IPython in a pseudo-terminal, as a person types into it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect

from jupyter_agent.testing.kernels import SLACK

PROMPT = r"In \[(\d+)\]: $"
LIMIT = 6 * SLACK
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A shell without line editing, so that what comes back is what the program writes."""

    def __init__(self, folder: Path, **environment: str) -> None:
        command = ["-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit"]
        variables = {**os.environ, **environment, "TERM": "xterm-256color", "COLUMNS": "100"}
        self.child = pexpect.spawn(
            sys.executable,
            command,
            cwd=str(folder),
            env=variables,
            encoding="utf-8",
            timeout=LIMIT,
            dimensions=(50, 100),
        )
        self.folder = folder
        self.child.setecho(False)
        self.wait()

    def wait(self) -> str:
        """What was written until the next prompt, without escape sequences and carriage returns."""
        self.child.expect(PROMPT)
        return plain(self.child.before)

    def type(self, *lines: str) -> None:
        """Enter a cell; more than one line ends with empty lines: two for a cell magic, as IPython has it."""
        for line in lines:
            self.child.sendline(line)
        if len(lines) > 1:
            self.child.sendline("")
        if lines[0].startswith("%%"):
            self.child.sendline("")

    def run(self, *lines: str) -> str:
        self.type(*lines)
        return self.wait()

    def expect(self, pattern: str) -> str:
        self.child.expect(pattern)
        return plain(self.child.before) + plain(self.child.after)

    def interrupt(self) -> None:
        """Ctrl-C, through the line discipline like a key."""
        self.child.sendintr()

    def close(self) -> None:
        self.child.close(force=True)


def plain(text: str) -> str:
    return _ESCAPES.sub("", text).replace("\r", "").replace("   ...: ", "")


@contextlib.contextmanager
def terminal(folder: Path, **environment: str) -> Iterator[Terminal]:
    """A shell with the magic loaded."""
    made = Terminal(folder, **environment)
    try:
        made.run("%load_ext jupyter_agent")
        yield made
    finally:
        made.close()
