"""Handles of the texts that one result does not show whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jupyter_agent.events import Json
from jupyter_agent.tool import ToolContext


class Handles:
    """Keeps cut texts under their label (a cell's id). A text that cannot be stored, on a full disk, has no handle."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._by_label: dict[str, str] = {}

    def keeper(self, label: str) -> Callable[[str], str | None]:
        """For `output_blocks`: stores a text under the label and returns its handle."""
        return lambda text: self._remember(label, lambda: self._ctx.keep(text, label))

    def keep_file(self, path: str | None, label: str) -> str | None:
        """As `keeper`, for text already in a file; None without one."""
        return None if path is None else self._remember(label, lambda: self._ctx.keep_file(Path(path), label))

    def _remember(self, label: str, store: Callable[[], str]) -> str | None:
        try:
            self._by_label[label] = store()
        except OSError:
            return None
        return self._by_label[label]

    def of(self, label: str) -> Json:
        """`{"handle": …}` for the record of what has one, else empty."""
        return {"handle": self._by_label[label]} if label in self._by_label else {}

    @property
    def last(self) -> str | None:
        """The handle made last: `details.handle`."""
        return next(reversed(self._by_label.values()), None)
