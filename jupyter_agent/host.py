"""Where a conversation's documents and kernels come from: each surface brings its own host.

Here are the protocol and the command line's host: files on disk, kernels of our own or one named by a connection file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_agent.kernel.protocol import Kernel
    from jupyter_agent.notebook.document import Notebook


class Host(Protocol):
    """Owns documents and kernels for as long as a conversation is open."""

    async def notebook(self, path: Path) -> Notebook:
        """The document at an absolute real path, from whoever owns it now. Raises NotebookRefused."""
        ...

    async def default_notebook(self) -> Notebook | None:
        """The document of a conversation that has no notebook file: a shell's history where there is one."""
        ...

    async def kernel(self, notebook: Notebook | None) -> Kernel:
        """The kernel of a document, or one without a document in the root; not started before its first run."""
        ...

    def cell_ids(self) -> dict[str, list[tuple[str, str]]]:
        """Per notebook path (id, hash) of cells whose ids live in the conversation only (nbformat below 4.5)."""
        ...

    async def close(self) -> None:
        """Flush documents and end what this host started."""
        ...


class LocalHost:
    """Documents through `notebook.open`, one kernel per document; `connection_file` names a running kernel for all."""

    def __init__(
        self,
        root: Path,
        *,
        connection_file: Path | None = None,
        spill: Path | None = None,
        known_ids: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        self._root = root
        self._known_ids = dict(known_ids or {})
        self._connection_file = connection_file
        self._spill = spill
        self._notebooks: dict[Path, Notebook] = {}
        self._kernels: dict[str, Kernel] = {}

    async def notebook(self, path: Path) -> Notebook:
        from jupyter_agent.notebook import open_notebook

        if path not in self._notebooks:
            known = tuple((id, seen) for id, seen in self._known_ids.get(str(path), ()))
            self._notebooks[path] = await open_notebook(path, root=self._root, known_ids=known)
        return self._notebooks[path]

    async def default_notebook(self) -> Notebook | None:
        return None

    async def kernel(self, notebook: Notebook | None) -> Kernel:
        key = (notebook.path or "") if notebook is not None else ""
        if key not in self._kernels:
            self._kernels[key] = await self._make_kernel(notebook)
        return self._kernels[key]

    async def _make_kernel(self, notebook: Notebook | None) -> Kernel:
        from jupyter_agent.kernel import connect_kernel, kernel_for

        if self._connection_file is not None:
            return await connect_kernel(self._connection_file, spill=self._spill)
        metadata = await notebook.metadata() if notebook is not None else {}
        path = Path(notebook.path) if notebook is not None and notebook.path else None
        return kernel_for(metadata, path=path, cwd=path.parent if path else self._root, spill=self._spill)

    def cell_ids(self) -> dict[str, list[tuple[str, str]]]:
        found = {str(path): list(getattr(notebook, "session_ids", ())) for path, notebook in self._notebooks.items()}
        return {**{path: list(ids) for path, ids in self._known_ids.items()}, **{p: i for p, i in found.items() if i}}

    async def close(self) -> None:
        for notebook in self._notebooks.values():
            with contextlib.suppress(OSError):
                await notebook.save()
            await notebook.close()
        for kernel in self._kernels.values():
            await kernel.shutdown()
        self._notebooks.clear()
        self._kernels.clear()
