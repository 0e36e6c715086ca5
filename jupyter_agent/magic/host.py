"""The magic's documents and kernel: this live kernel, its own notebook where it can be reached, else its history."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_agent.host import LocalHost
from jupyter_agent.kernel.inprocess import InProcessKernel
from jupyter_agent.magic.knowing import OWN_CALL
from jupyter_agent.magic.proposing import ProposingNotebook
from jupyter_agent.magic.restarts import connection_file
from jupyter_agent.notebook.history import Entered, HistoryNotebook

if TYPE_CHECKING:
    from jupyter_agent.kernel.protocol import Kernel
    from jupyter_agent.notebook.document import Notebook

_KERNEL_ID = re.compile(r"kernel-(?P<id>[0-9a-f-]{36})\.json$")


async def own_notebook(shell: Any) -> Path | None:
    """The real path of the notebook this kernel belongs to, None where it cannot be told.

    Asked of the server by the kernel's id, since a name handed over at the start is stale after a rename; else what the
    server (`JPY_SESSION_NAME`) or VS Code left.
    """
    kernel_id = _kernel_id()
    if kernel_id is not None:
        from jupyter_agent.notebook.servers import notebook_of_kernel

        found = await notebook_of_kernel(kernel_id)
        if found is not None:
            return Path(found)
    for named in (os.environ.get("JPY_SESSION_NAME"), shell.user_ns.get("__vsc_ipynb_file__")):
        if isinstance(named, str) and named.endswith(".ipynb") and Path(named).is_file():
            return Path(named).resolve()
    return None


def _kernel_id() -> str | None:
    match = _KERNEL_ID.search(connection_file() or "")
    return match["id"] if match else None


def started_by_server() -> bool:
    """Whether some server or editor started this kernel and so may hold its notebook open."""
    return "JPY_SESSION_NAME" in os.environ or _kernel_id() is not None or "VSCODE_PID" in os.environ


class MagicHost(LocalHost):
    """`own` is this kernel's notebook; every other notebook is a file with a kernel of its own, as on the command line.

    `adopted`: notebooks named with `--notebook`, which are worked on in this kernel.
    """

    def __init__(self, shell: Any, root: Path, own: Path | None, spill: Path) -> None:
        super().__init__(root, spill=spill)
        self._shell = shell
        self._own = own
        self.adopted: set[Path] = set()
        # What fails is told by the tool's result, mapped to cell and line: the traceback is not shown a second time.
        self._live = InProcessKernel(shell, spill=spill, show_tracebacks=False)
        self._history = HistoryNotebook(history_of(shell))

    async def notebook(self, path: Path) -> Notebook:
        if path == self._own and path not in self._notebooks and started_by_server():
            saved = await super().notebook(path)
            self._notebooks[path] = ProposingNotebook(saved, proposer(self._shell))
        return await super().notebook(path)

    async def default_notebook(self) -> Notebook | None:
        return self._history

    async def kernel(self, notebook: Notebook | None) -> Kernel:
        path = Path(notebook.path) if notebook is not None and notebook.path else None
        if path is None or self.is_live(path):
            return self._live
        return await super().kernel(notebook)

    def is_live(self, path: Path) -> bool:
        """Whether the notebook at `path` runs in this very kernel."""
        return path == self._own or path in self.adopted

    async def close(self) -> None:
        await super().close()
        await self._live.shutdown()


def history_of(shell: Any) -> Callable[[], Sequence[Entered]]:
    """The shell's inputs so far, without the magic's own."""

    def entered() -> list[Entered]:
        sources = shell.user_ns.get("In", [])
        results = shell.user_ns.get("Out", {})
        found = []
        for number, source in enumerate(sources):
            if source.strip() and not source.lstrip().startswith(OWN_CALL):
                found.append(Entered(number, source, _shown(shell, results[number]) if number in results else ""))
        return found

    return entered


def _shown(shell: Any, value: Any) -> str:
    """A result as text, by the type's own name where it is not a plain value: a repr may be slow or huge."""
    if isinstance(value, str | int | float | bool | bytes | type(None)):
        return repr(value)[:1_000]
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def proposer(shell: Any) -> Callable[[str, Sequence[str]], None]:
    """Shows a diff in the magic's cell and puts new sources into the next input."""

    def propose(diff: str, sources: Sequence[str]) -> None:
        from jupyter_agent.magic.cards import diff_bundle
        from jupyter_agent.magic.display import publisher_of

        publisher_of(shell)(diff_bundle("Proposed; apply it yourself:", diff), {})
        for source in sources[:1]:
            shell.set_next_input(source, replace=False)

    return propose
