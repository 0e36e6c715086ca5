"""Documents and kernels of conversations on this server: a `Host` over its pages and kernels."""

from __future__ import annotations

import contextlib
from pathlib import Path

from jupyter_agent.errors import AgentError, NotebookRefused
from jupyter_agent.kernel.protocol import Kernel
from jupyter_agent.notebook.document import Notebook
from jupyter_agent.server.documents import Documents
from jupyter_agent.server.kernels import ServedKernel, ServerKernels
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import Pages

NO_NOTEBOOK = ".jupyter-agent-conversation"
"""The session name of a kernel that a conversation without a notebook uses."""


class ServerHost:
    """One per conversation."""

    def __init__(self, documents: Documents, pages: Pages, kernels: ServerKernels, spill: Path) -> None:
        self._documents, self._pages, self._server_kernels, self._spill = documents, pages, kernels, spill
        self._notebooks: dict[Path, ServedNotebook] = {}
        self._kernels: dict[str, ServedKernel] = {}
        self._asked_from = ""

    def asked_from(self, client: str) -> None:
        """The page in which the person asked for what comes next."""
        self._asked_from = client
        for notebook in self._notebooks.values():
            notebook.asked_from = client

    async def notebook(self, path: Path) -> Notebook:
        path = self._documents.present(path)
        found = self._notebooks.get(path)
        if found is None:
            if path.is_dir():
                raise NotebookRefused("not_regular", f"{path} is a folder. Name a notebook (.ipynb) in it.")
            found = self._documents.open(path)
            await found.cells()
            found.asked_from = self._asked_from
            self._notebooks[path] = found
        return found

    def cell_ids(self) -> dict[str, list[tuple[str, str]]]:
        """Documents that a server holds keep their ids themselves."""
        return {}

    async def default_notebook(self) -> Notebook | None:
        return None

    async def kernel(self, notebook: Notebook | None) -> Kernel:
        name = NO_NOTEBOOK if notebook is None or notebook.path is None else self.name_of(Path(notebook.path))
        if name not in self._kernels:
            metadata = await notebook.metadata() if notebook is not None else {}
            served = self._notebooks.get(Path(notebook.path)) if notebook is not None and notebook.path else None
            self._kernels[name] = ServedKernel(self._server_kernels, name, metadata, self._spill, self._pages, served)
        return self._kernels[name]

    def name_of(self, path: Path) -> str:
        """The contents manager's name of what is, or was before a rename, at a path."""
        return self._documents.name_of(self._documents.present(path))

    async def settle(self) -> list[str]:
        """At the end of a turn: save what may be saved. Sentences about what was left unsaved, and why."""
        said: list[str] = []
        for path, notebook in self._notebooks.items():
            if notebook.left_unsaved:
                said.append(
                    f"{self.name_of(path)} had unsaved edits of yours, so it is left unsaved. Save it when you like."
                )
            try:
                await notebook.save()
            except (AgentError, OSError) as error:
                said.append(f"{self.name_of(path)} could not be saved: {error}")
        return said

    async def close(self) -> None:
        for notebook in self._notebooks.values():
            with contextlib.suppress(OSError, AgentError):
                await notebook.close()
        for kernel in self._kernels.values():
            await kernel.shutdown()
        self._notebooks.clear()
        self._kernels.clear()
