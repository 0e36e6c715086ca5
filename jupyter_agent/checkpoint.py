"""Checkpoints: durable pre-images of everything the agent changes, and what undoing a turn means.

A content store inside the conversation's folder, capped; the user's repository and files are never touched from here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jupyter_agent.effect import Change
from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.events import ChangeMade, Event

FILE_LIMIT = 100 * 2**20
"""Bytes of one pre-image. A larger file is changed only after the person was told that undo will not have it."""
STORE_LIMIT = 1024 * 2**20
"""Bytes of pre-images of one conversation."""


class Checkpoints:
    """The content store of one conversation: `folder/SHA256` per distinct pre-image, mode 0600."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._size: int | None = None

    def save(self, changes: Iterable[Change]) -> dict[str, str]:
        """Store the pre-images durably (fsync) before a commit; returns checkpoint names by content.

        Raises WorkspaceRefused("too_large" | "no_space"): then nothing may be changed.
        """
        names: dict[str, str] = {}
        for change in changes:
            if change.pre_image is not None:
                names[change_key(change)] = self._store(change.target, change.pre_image)
        return names

    def _store(self, target: str, data: bytes) -> str:
        if len(data) > FILE_LIMIT:
            raise WorkspaceRefused(
                "too_large",
                f"{target} is {len(data) // 2**20} MB: more than undo can keep ({FILE_LIMIT // 2**20} MB). "
                "Change it with a program of your own that keeps a copy.",
            )
        name = hashlib.sha256(data).hexdigest()
        path = self.folder / name
        if path.exists():
            return name
        size = self.size() + len(data)
        if size > STORE_LIMIT:
            raise WorkspaceRefused("no_space", "This conversation's undo store is full. Start a new conversation.")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_durably(path, data)
            self._size = size
        except OSError as error:
            raise WorkspaceRefused(
                "no_space",
                f"What undo needs cannot be stored ({error}), so {target} was not changed. Free some disk space.",
            ) from None
        return name

    def load(self, name: str) -> bytes:
        """A stored pre-image. Raises WorkspaceRefused("missing")."""
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            raise WorkspaceRefused("missing", f"The pre-image {name[:12]} is gone from the undo store.") from None

    def size(self) -> int:
        """Bytes stored."""
        if self._size is None:
            stored = os.scandir(self.folder) if self.folder.is_dir() else ()
            self._size = sum(entry.stat().st_size for entry in stored)
        return self._size


def _write_durably(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".new")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def change_key(change: Change) -> str:
    """What a change is about: a file, or a cell of a notebook."""
    return f"{change.target}\0{change.cell}"


@dataclass(frozen=True)
class Reversal:
    """One target of a turn to put back: to pre-image `checkpoint` (`""`: it did not exist), if it is still `after`.

    `later` are the pre-images of further changes to it in the turn: one of them may say that it was moved.
    """

    target: str
    cell: str
    before: str
    after: str
    checkpoint: str
    later: tuple[str, ...] = ()


def reversals(events: Sequence[Event], turn: int) -> list[Reversal]:
    """What undoing a turn restores: per target the first state before and the last state after, latest first."""
    first: dict[tuple[str, str], ChangeMade] = {}
    last: dict[tuple[str, str], ChangeMade] = {}
    later: dict[tuple[str, str], list[str]] = {}
    for event in events:
        if isinstance(event, ChangeMade) and event.turn == turn:
            key = (event.target, event.cell)
            if key in first:
                later.setdefault(key, []).append(event.checkpoint)
            first.setdefault(key, event)
            last.pop(key, None)
            last[key] = event
    return [
        Reversal(key[0], key[1], first[key].before, change.after, first[key].checkpoint, tuple(later.get(key, ())))
        for key, change in reversed(last.items())
    ]


def last_changed_turn(events: Sequence[Event]) -> int | None:
    """The latest turn that changed something, None when there is none."""
    return next((event.turn for event in reversed(events) if isinstance(event, ChangeMade)), None)
