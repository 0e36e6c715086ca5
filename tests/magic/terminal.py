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

EDITED_PROMPT = r"In \[(?:\x1b\[[0-9;]*m)*\d+"
PROMPT = r"In \[(\d+)\]: $"
LIMIT = 6 * SLACK
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A shell without line editing unless asked for, so that what comes back is what the program writes."""

    def __init__(self, folder: Path, *, editing: bool = False, **environment: str) -> None:
        self.editing = editing
        command = ["-m", "IPython", "--no-banner", "--no-confirm-exit", *([] if editing else ["--simple-prompt"])]
        variables = {**os.environ, **environment, "TERM": "xterm-256color", "COLUMNS": "100"}
        variables["PROMPT_TOOLKIT_NO_CPR"] = "1"  # this terminal does not answer where its cursor is
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
        self.child.expect(EDITED_PROMPT if self.editing else PROMPT)
        shown = plain(self.child.before)
        if self.editing:
            self.settle()
        return shown

    def settle(self) -> None:
        """Until the redrawing of an edited line is over: nothing comes any more."""
        with contextlib.suppress(pexpect.TIMEOUT):
            while self.child.read_nonblocking(10_000, timeout=0.5):
                pass

    def type(self, *lines: str) -> None:
        """Enter a cell; more than one line ends with empty lines: two for a cell magic, as IPython has it."""
        for line in lines:
            self.child.send(line + ("\r" if self.editing else "\n"))
        if len(lines) > 1:
            self.child.sendline("")
        if lines[0].startswith("%%"):
            self.child.sendline("")

    def paste(self, *lines: str) -> None:
        """Paste a cell magic into an edited line, and end it as IPython wants it, with empty lines."""
        self.child.send("\x1b[200~" + "\n".join(lines) + "\x1b[201~")
        for _ in range(3):
            self.settle()
            self.child.send("\r")

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
def terminal(folder: Path, *, editing: bool = False, **environment: str) -> Iterator[Terminal]:
    """A shell with the magic loaded."""
    made = Terminal(folder, editing=editing, **environment)
    try:
        made.run("%load_ext jupyter_agent")
        yield made
    finally:
        made.close()
