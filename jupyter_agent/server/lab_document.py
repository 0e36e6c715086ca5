"""The document in a JupyterLab page: read and changed through the page's own model, never through the file."""

from __future__ import annotations

from typing import Any

from jupyter_agent.notebook.remote import RemoteDocument
from jupyter_agent.server.pages import Page, Pages


class LabDocument(RemoteDocument):
    """One path in one page. Raises PageGone when the page vanishes, NotebookRefused when it declines."""

    def __init__(self, pages: Pages, page: Page, name: str) -> None:
        async def ask(action: str, fields: dict[str, Any]) -> dict[str, Any]:
            return await pages.request(page, action, name, **fields)

        super().__init__(ask, name, lambda: page.touches[name])
        self.page, self.name = page, name

    async def has_unsaved(self) -> bool:
        """Whether the page holds unsaved edits, as it last said."""
        document = self.page.documents.get(self._name)
        return document is not None and document.dirty
