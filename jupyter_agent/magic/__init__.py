"""The magic: `%agent` and `%%agent`, in the live kernel. Loading registers names only; the agent comes when used."""

from __future__ import annotations

from typing import Any


def load(shell: Any) -> None:
    """Register the magics, their completions and `%config JupyterAgent` with an IPython shell; twice is once."""
    from jupyter_agent.magic.entry import Entry

    if not isinstance(getattr(shell, "jupyter_agent", None), Entry):
        Entry(shell).install()


def unload(shell: Any) -> None:
    """Take everything back that `load` registered."""
    entry = getattr(shell, "jupyter_agent", None)
    if entry is not None:
        entry.uninstall()
