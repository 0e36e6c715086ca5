"""A contents manager without files, as those of databases and object stores are: notebooks live in its memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import nbformat
from jupyter_server.services.contents.manager import AsyncContentsManager
from tornado.web import HTTPError


class MemoryContents(AsyncContentsManager):  # type: ignore[misc]
    """Notebooks in one folder. `full` makes every save fail."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.stored: dict[str, tuple[str, datetime]] = {}
        self.full = False

    async def dir_exists(self, path: str) -> bool:
        return path.strip("/") == ""

    async def is_hidden(self, path: str) -> bool:
        return False

    async def file_exists(self, path: str = "") -> bool:
        return path.strip("/") in self.stored

    async def get(
        self, path: str, content: bool = True, type: str | None = None, format: str | None = None, **more: Any
    ) -> dict[str, Any]:
        name = path.strip("/")
        if name not in self.stored:
            raise HTTPError(404, f"There is no {name} in this store")
        text, modified = self.stored[name]
        model: dict[str, Any] = dict.fromkeys(("mimetype", "content", "format"))
        model |= {"name": name, "path": name, "type": "notebook", "writable": True, "size": len(text)}
        model |= {"last_modified": modified, "created": modified}
        if content:
            notebook = nbformat.reads(text, as_version=4)
            self.mark_trusted_cells(notebook, name)
            model |= {"content": notebook, "format": "json"}
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        if self.full:
            raise HTTPError(507, "This store is full: it did not save")
        notebook = nbformat.from_dict(model["content"])
        nbformat.validate(notebook)
        self.check_and_sign(notebook, path)
        self.stored[path.strip("/")] = (nbformat.writes(notebook), datetime.now(UTC))
        return await self.get(path, content=False)

    async def delete_file(self, path: str) -> None:
        del self.stored[path.strip("/")]

    async def rename_file(self, old_path: str, new_path: str) -> None:
        self.stored[new_path.strip("/")] = self.stored.pop(old_path.strip("/"))
