"""What the model should know with a request and cannot see for itself: where it was asked, what the kernel holds now.

Names only: no value is looked at, so nothing lazy or remote is forced.
"""

from __future__ import annotations

from typing import Any

from jupyter_agent.events import Json
from jupyter_agent.text import clip

NAMES = 80
SOURCES = 4_000
"""Bytes of the cells that the person ran since the last request."""
OWN_CALL = ("%agent", "%%agent", "await get_ipython().jupyter_agent")


class Known:
    """Remembers what was told, so that a later request tells only what is new."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._names: set[str] | None = None
        self._entered = 0

    def news(self, *, restarted: bool = False, variables: bool = True) -> list[Json]:
        """Attachments for a request: state that is new since the last one; without `variables`, none of their names."""
        names = self._variables() if variables else []
        lines = [*self._place(), *self._restart(restarted), *names, *self._ran()]
        return [{"type": "state", "text": "\n".join(lines)}] if lines else []

    def turn_ended(self) -> None:
        """What the turn itself made and ran is known."""
        self._names = set(self._visible_names())
        self._entered = len(self._inputs())

    def _place(self) -> list[str]:
        shell = self._shell
        parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
        cell = (parent.get("metadata") or {}).get("cellId")
        return [f"Asked from cell {cell}, which runs this request: do not run or edit it."] if cell else []

    def _restart(self, restarted: bool) -> list[str]:
        return ["The kernel was restarted since: what it held is gone."] if restarted else []

    def _variables(self) -> list[str]:
        names = self._visible_names()
        if self._names is None:
            return [f"The kernel is live and holds: {_listed(names)}."] if names else []
        new = [name for name in names if name not in self._names]
        gone = sorted(self._names.difference(names))
        lines = [f"New in the kernel: {_listed(new)}."] if new else []
        return lines + ([f"Gone from the kernel: {_listed(gone)}."] if gone else [])

    def _ran(self) -> list[str]:
        """Sources of what the person ran: the saved notebook may not have them yet."""
        inputs = self._inputs()
        start = self._entered if self._names is not None else len(inputs)
        ran = [(number, source) for number, source in enumerate(inputs) if number >= start and source.strip()]
        shown = [f"In[{number}]:\n{source.rstrip()}" for number, source in ran if not source.startswith(OWN_CALL)]
        return [clip("The person ran since:\n" + "\n".join(shown), SOURCES)] if shown else []

    def _visible_names(self) -> list[str]:
        hidden = self._shell.user_ns_hidden
        return [name for name in self._shell.user_ns if not name.startswith("_") and name not in hidden]

    def _inputs(self) -> list[str]:
        found: list[str] = self._shell.user_ns.get("In") or []
        return found


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMES]) + (f", … {len(names) - NAMES} more" if len(names) > NAMES else "")
