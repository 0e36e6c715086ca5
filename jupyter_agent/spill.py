"""Full texts behind handles: files in one folder of a conversation, capped, never the user's."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from jupyter_agent.errors import BadArguments

FOLDER_LIMIT = 512 * 2**20
"""Bytes of one conversation's spilled texts; beyond it the oldest are removed."""
_NAME = re.compile(r"out-(\d+)(?:-.*)?\.txt")


class Spill:
    """Handles are `out-N`; they stay valid when the conversation is opened again, since the folder is the state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, text: str, label: str) -> str:
        """Store a text and return its handle."""
        handle, path = self._new(label)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        return handle

    def keep_file(self, path: Path, label: str) -> str:
        """Take over a file of ours that may still be written to: linked where possible, else copied."""
        handle, new = self._new(label)
        try:
            os.link(path, new)
        except OSError:
            shutil.copyfile(path, new)
            new.chmod(0o600)
        return handle

    def path(self, handle: str) -> Path:
        """The file behind a handle. Raises BadArguments naming the newest handles."""
        files = self._files()
        found = next((path for number, path in files if f"out-{number}" == handle.strip()), None)
        if found is None:
            known = ", ".join(f"out-{number}" for number, _ in files[-5:]) or "none yet"
            raise BadArguments(f"There is no output {handle!r}. Known handles: {known}.")
        return found

    def _new(self, label: str) -> tuple[str, Path]:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = self._files()
        self._make_room(files)
        number = files[-1][0] + 1 if files else 1
        name = re.sub(r"[^\w-]+", "-", label)[:40].strip("-")
        return f"out-{number}", self.folder / f"out-{number}-{name}.txt"

    def _files(self) -> list[tuple[int, Path]]:
        if not self.folder.is_dir():
            return []
        matches = ((_NAME.fullmatch(path.name), path) for path in self.folder.iterdir())
        return sorted((int(match[1]), path) for match, path in matches if match)

    def _make_room(self, files: list[tuple[int, Path]]) -> None:
        total = sum(path.stat().st_size for _, path in files)
        for _, path in files[:-1]:
            if total <= FOLDER_LIMIT:
                return
            total -= path.stat().st_size
            path.unlink()
