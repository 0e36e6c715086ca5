"""The magic's documents and kernel: this live kernel, its own notebook where it can be reached, else its history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_agent.host import LocalHost
from jupyter_agent.kernel.inprocess import InProcessKernel
from jupyter_agent.magic.knowing import OWN_CALL
from jupyter_agent.magic.place import Place, started_by_server
from jupyter_agent.magic.proposing import ProposingNotebook
from jupyter_agent.magic.routed import RoutedKernel
from jupyter_agent.notebook.bridge import BridgedNotebook
from jupyter_agent.notebook.history import Entered, HistoryNotebook

if TYPE_CHECKING:
    from jupyter_agent.kernel.protocol import Kernel
    from jupyter_agent.notebook.document import Notebook


class MagicHost(LocalHost):
    """`place` has this kernel's notebook; every other one is a file with a kernel of its own, as on the command line.

    `adopted`: notebooks named with `--notebook`, which are worked on in this kernel.
    """

    def __init__(self, shell: Any, root: Path, place: Place, spill: Path) -> None:
        super().__init__(root, spill=spill)
        self._shell = shell
        self._place = place
        self.adopted: set[Path] = set()
        # What fails is told by the tool's result, mapped to cell and line: the traceback is not shown a second time.
        self._live = InProcessKernel(shell, spill=spill, show_tracebacks=False)
        self._history = HistoryNotebook(history_of(shell))

    async def notebook(self, path: Path) -> Notebook:
        if path == self._place.notebook and path not in self._notebooks:
            if self._place.bridge is not None:
                self._notebooks[path] = BridgedNotebook(self._place.bridge, str(path))
            elif started_by_server():
                self._notebooks[path] = ProposingNotebook(await super().notebook(path), proposer(self._shell))
        return await super().notebook(path)

    async def default_notebook(self) -> Notebook | None:
        return self._history

    async def kernel(self, notebook: Notebook | None) -> Kernel:
        path = Path(notebook.path) if notebook is not None and notebook.path else None
        if path is not None and self.shows_in_cells(path) and self._place.bridge is not None:
            return RoutedKernel(self._live, self._shell, self._place.bridge)
        if path is None or self.is_live(path):
            return self._live
        return await super().kernel(notebook)

    def is_live(self, path: Path) -> bool:
        """Whether the notebook at `path` runs in this very kernel."""
        return path == self._place.notebook or path in self.adopted

    def shows_in_cells(self, path: Path) -> bool:
        """Whether outputs of its cells show in these cells themselves, instead of the magic's."""
        return self._place.bridge is not None and path == self._place.notebook and path not in self.adopted

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
