"""The notebooks of this server by path, whoever holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import Pages
from jupyter_agent.server.shared_document import Rooms
from jupyter_agent.server.threads import ServerLoop


class Documents:
    """`root` is the server's root as an absolute real path, `settings` the server's."""

    def __init__(self, root: Path, pages: Pages, server: ServerLoop, settings: dict[str, Any]) -> None:
        self.root, self._pages, self._server = root, pages, server
        self._rooms = Rooms(server, settings)
        self._contents = settings["contents_manager"]

    def name_of(self, path: Path) -> str:
        """The contents manager's name of a path: relative to the root, with forward slashes."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def present(self, path: Path) -> Path:
        """Where the notebook is now that was at `path` before it was renamed or moved in a page."""
        name = self.name_of(path)
        renamed = self._pages.present_path(name)
        return path if renamed == name or path.exists() else self.root / renamed

    def open(self, path: Path) -> ServedNotebook:
        """The notebook at an absolute real path; not read yet."""
        stored = None if keeps_files(self._contents) else (self._server, self._contents)
        return ServedNotebook(self._pages, path, self.name_of(path), self.root, self._rooms, stored)


def keeps_files(contents: Any) -> bool:
    """Whether a contents manager's notebooks are files below its `root_dir`."""
    from jupyter_server.services.contents.fileio import FileManagerMixin

    return isinstance(contents, FileManagerMixin)
