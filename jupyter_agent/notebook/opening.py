"""Opening a notebook by path: who owns the document decides the backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jupyter_agent.errors import NotebookRefused

if TYPE_CHECKING:
    from jupyter_agent.notebook.document import Notebook


async def open_notebook(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    known_ids: Sequence[tuple[str, str]] = (),
) -> Notebook:
    """The notebook in a file, whose writes ask the running Jupyter servers first, each time.

    `root`: a folder that writes must stay in. Raises NotebookRefused when the file cannot be read as a notebook
    (`missing`, `not_regular`, `corrupt`, `version`, `duplicate_ids`).
    """
    from jupyter_agent.notebook.file import FileNotebook
    from jupyter_agent.notebook.servers import check_not_open

    if os.path.isdir(path):
        raise NotebookRefused("not_regular", f"{os.fspath(path)} is a folder. Name a notebook (.ipynb) in it.")
    notebook = FileNotebook(path, guard=check_not_open, root=root, known_ids=known_ids)
    await notebook.cells()
    return notebook
