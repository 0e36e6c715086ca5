"""A notebook's code cells run in order in a fresh kernel, on a copy of its folder.

Starts one kernel and ends it; neither the person's kernel nor files in the notebook's folder are touched. Whatever else
the code does (absolute paths, the network) it does.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.protocol import Kernel, Output, Snapshot
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.verify_compare import marks
from jupyter_agent.refactor.verify_copy import FolderCopy, folder_copy

CELL_TIMEOUT = 600.0
"""Seconds of its own running time that a cell gets unless the caller says otherwise."""

RunStatus = Literal["ok", "error", "timeout", "dead", "skipped", "not_run"]
StartKernel = Callable[[str, Path, str | None], Awaitable[Kernel]]
"""Starts the kernel `name` in folder `cwd` for the notebook at the given path (of the copy)."""

OnCell = Callable[[Cell, int, int], None]
"""Called before each cell that is run: the cell, its number from 1, and how many there are."""


@dataclass(frozen=True)
class CellRun:
    """What became of a cell. `reason` is a sentence wherever `status` is not `ok`; `error` is (name, message).

    `truncated`: more was put out than is kept. `needs` says what of the surroundings an error asks for (a network, a
    key, a GPU, a person), else it is empty. `foreseen`: the notebook stores an error of that name as the cell's output.
    """

    status: RunStatus
    outputs: Sequence[Output] = ()
    error: tuple[str, str] | None = None
    reason: str = ""
    needs: str = ""
    seconds: float = 0.0
    truncated: bool = False
    foreseen: bool = False


@dataclass(frozen=True)
class FreshRun:
    """Cell ids in document order to what became of them; `notes` are sentences for the person."""

    cells: Mapping[str, CellRun]
    began: datetime
    ended: datetime
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every cell ran without an error, those marked as raising one aside."""
        return all(run.status == "ok" for run in self.cells.values())

    @property
    def seconds(self) -> float:
        return (self.ended - self.began).total_seconds()

    @property
    def failure(self) -> tuple[str, CellRun] | None:
        """The first cell that did not run to its end, and its run; skipped cells are none."""
        stopped = (item for item in self.cells.items() if item[1].status in ("error", "timeout", "dead"))
        return next(stopped, None)


async def run_fresh(
    cells: Sequence[Cell],
    metadata: Mapping[str, Any],
    *,
    path: Path | None = None,
    files: Mapping[str, bytes] | None = None,
    only: Collection[str] | None = None,
    without: Collection[Path] = (),
    past_foreseen: bool = False,
    seeded: bool = False,
    timeout: float = CELL_TIMEOUT,
    start: StartKernel | None = None,
    on_cell: OnCell | None = None,
) -> FreshRun:
    """Run the code cells (those in `only`, if given) in order; the first error that no mark allows ends the run, with
    `past_foreseen` the first that the notebook does not itself store: tutorials show errors without any mark.

    `metadata` is the notebook's, `path` where it lies (relative data files resolve from there), `files` are added to
    the copy (path relative to the notebook's folder → content), and files `without` (real paths) are left out of it.
    `seeded`: Python's and NumPy's global generators and the order of sets begin the same in every such run.
    Raises KernelError when no kernel can be started. When cancelled, the kernel is ended and the copy removed.
    """
    code = [cell for cell in cells if cell.type == "code" and (only is None or cell.id in only)]
    began = datetime.now(UTC)
    async with _copied(path, files, without, _levels_above(code)) as copy:
        default = start_seeded_kernel if seeded else start_client_kernel
        # The notebook's folder is there; what lies around it is copied while the kernel starts.
        completing = asyncio.ensure_future(asyncio.to_thread(copy.complete))
        kernel, notes = await _started(metadata, copy, path, start or default)
        try:
            await completing
            if seeded and _language(metadata) in ("", "python"):
                await _seed(kernel, code)
            runs = await _run_all(kernel, code, timeout, past_foreseen, on_cell)
        finally:
            await kernel.shutdown()
        changed = await asyncio.to_thread(copy.written_through)
    notes += [f"The notebook wrote to {name}, a file too large to be copied first." for name in changed]
    restored = {id: _restored(run, copy) for id, run in runs.items()}
    return FreshRun(restored, began, datetime.now(UTC), tuple(notes))


def _levels_above(code: Sequence[Cell]) -> int:
    """How many folders above its own a notebook speaks of (`../data`), as far as its text shows it."""
    found = [
        match[0].count("..")
        for cell in code
        for match in re.finditer(r"(?<![\w.])\.\.(?:[/\\]\.\.)*(?=[/\\'\"])", cell.source)
    ]
    return max(found, default=0)


async def start_client_kernel(name: str, cwd: Path, notebook: str | None) -> Kernel:
    """The default way to a kernel: a process of ours, ended with this program."""
    from jupyter_agent.kernel.client import start_kernel

    return await start_kernel(name, cwd=cwd, notebook=notebook)


async def start_seeded_kernel(name: str, cwd: Path, notebook: str | None) -> Kernel:
    """The same with sets of strings in one order for all such kernels."""
    from jupyter_agent.kernel.client import ClientKernel
    from jupyter_agent.kernel.launch import start_own

    link = await start_own(name, cwd=cwd, notebook=notebook, environment={"PYTHONHASHSEED": "0"})
    return await ClientKernel.open(link)


_NUMPY = re.compile(r"\b(?:numpy|pandas|scipy|sklearn|seaborn|statsmodels|pylab)\b")
"""Where numpy is imported anyway, importing it first costs nothing."""


async def _seed(kernel: Kernel, code: Sequence[Cell]) -> None:
    """Leaves no name and no count behind; a kernel that cannot do it runs unseeded."""
    lines = ["import random"]
    if any(_NUMPY.search(cell.source) for cell in code):
        lines += ["import numpy", "numpy.random.seed(0)"]
    # Last: an import may draw.
    lines += ["random.seed(0)"]
    execution = await kernel.run(f"exec({chr(10).join(lines)!r}, {{}})", silent=True, store_history=False)
    await execution.wait(SEEDING)


SEEDING = 60.0
"""Seconds that importing numpy may take."""


@asynccontextmanager
async def _copied(path: Path | None, files: Mapping[str, bytes] | None, without: Collection[Path], above: int) -> Any:
    """`folder_copy` made and removed off the event loop."""
    context = folder_copy(path.parent if path is not None else None, files=files, without=without, above=above)
    entering = asyncio.ensure_future(asyncio.to_thread(context.__enter__))
    try:
        copy = await asyncio.shield(entering)
        yield copy
    finally:
        if not entering.done():
            await entering
        if not entering.cancelled() and entering.exception() is None:
            await asyncio.to_thread(context.__exit__, None, None, None)


async def _started(
    metadata: Mapping[str, Any], copy: FolderCopy, path: Path | None, start: StartKernel
) -> tuple[Kernel, list[str]]:
    """The notebook's kernel; for a Python notebook whose kernel is not installed here, the Python that is."""
    from jupyter_agent.kernel.launch import DEFAULT_KERNEL, kernel_name

    name = kernel_name(metadata)
    notebook = str(copy.cwd / path.name) if path is not None else None
    try:
        return await start(name, copy.cwd, notebook), []
    except KernelError as error:
        if error.kind != "no_kernelspec" or name == DEFAULT_KERNEL or _language(metadata) != "python":
            raise
        kernel = await start(DEFAULT_KERNEL, copy.cwd, notebook)
        return kernel, [f"The kernel {name!r} is not installed here; {DEFAULT_KERNEL!r} was used instead."]


def _language(metadata: Mapping[str, Any]) -> str:
    for key, field in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key)
        if isinstance(part, Mapping) and isinstance(part.get(field), str):
            return str(part[field]).lower()
    return ""


async def _run_all(
    kernel: Kernel, code: Sequence[Cell], timeout: float, past_foreseen: bool, on_cell: OnCell | None
) -> dict[str, CellRun]:
    runs: dict[str, CellRun] = {}
    ended = ""
    for number, cell in enumerate(code, 1):
        mark = marks(cell)
        if mark.skipped:
            runs[cell.id] = CellRun("skipped", reason=f"Not run: it is marked {mark.skipped}.")
        elif ended:
            runs[cell.id] = CellRun("not_run", reason=ended)
        elif not cell.source.strip():
            runs[cell.id] = CellRun("ok")
        else:
            if on_cell is not None:
                on_cell(cell, number, len(code))
            run = await _run_one(kernel, cell, timeout)
            if run.status == "error" and mark.raises:
                run = replace(run, status="ok", reason="")
            run = replace(run, foreseen=_foreseen(cell, run))
            runs[cell.id] = run
            if run.status != "ok" and not (past_foreseen and run.foreseen):
                ended = f"Not run, because cell {cell.id} before it did not run to its end."
    return runs


def _foreseen(cell: Cell, run: CellRun) -> bool:
    if run.status != "error" or run.error is None:
        return False
    return any(output.get("output_type") == "error" and output.get("ename") == run.error[0] for output in cell.outputs)


async def _run_one(kernel: Kernel, cell: Cell, timeout: float) -> CellRun:
    began = time.monotonic()
    try:
        execution = await kernel.run(cell.source, cell=cell.id)
        snapshot = await execution.wait(timeout)
        if not execution.done:
            snapshot = await execution.interrupt()
            return _as_run(snapshot, "timeout", f"Still running after {timeout:g} s, so it was interrupted.")
    except KernelError as error:
        return CellRun("dead", reason=str(error), seconds=time.monotonic() - began)
    if snapshot.status == "ok":
        return _as_run(snapshot, "ok")
    if snapshot.status == "dead":
        return _as_run(snapshot, "dead", snapshot.advice or "The kernel died while it ran.")
    name, message, trace = snapshot.error or ("Interrupted", snapshot.advice or "The execution was interrupted.", [])
    run = _as_run(snapshot, "error", f"{name}: {message}".rstrip(": ").split("\n")[0])
    return replace(run, error=(name, message), needs=needed(name, message, "\n".join(trace)))


def _as_run(snapshot: Snapshot, status: RunStatus, reason: str = "") -> CellRun:
    return CellRun(
        status, tuple(snapshot.outputs), reason=reason, seconds=snapshot.seconds, truncated=snapshot.truncated
    )


# ------------------------------------------------------------------------------------- what an error says is missing

_NEEDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "a network connection",
        re.compile(
            r"^(URLError|gaierror|ConnectionRefusedError|ConnectionResetError|ConnectTimeout|ConnectError|ReadTimeout"
            r"|NewConnectionError|MaxRetryError|NameResolutionError|SSLError|ProxyError|ClientConnectorError"
            r"|ConnectionError|EndpointConnectionError)\b"
            r"|Temporary failure in name resolution|Name or service not known"
        ),
    ),
    (
        "credentials",
        re.compile(
            r"^(NoCredentialsError|DefaultCredentialsError|AuthenticationError|GoogleAuthError|PartialCredentialsError)\b"
            r"|\bHTTP Error 40[13]\b|\b40[13] Client Error\b"
            r"|^(?!KeyError)\w+: .*\b(api[_ ]key|access token|credentials)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "a GPU",
        re.compile(
            r"No CUDA GPUs are available|Found no NVIDIA driver|Torch not compiled with CUDA|CUDA-capable device"
        ),
    ),
    ("a person at the keyboard", re.compile(r"^StdinNotImplementedError\b")),
)

_SECRET_KEY = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|USERNAME)\b")


def needed(name: str, message: str, trace: str) -> str:
    """What of the surroundings an error asks for, `""` when it is the notebook's own.

    A missing package is the notebook's own: an import that an edit broke looks just the same.
    """
    text = f"{name}: {message}"
    for what, pattern in _NEEDS:
        if pattern.search(text):
            return what
    if name == "KeyError" and "environ" in trace and _SECRET_KEY.search(message):
        return "credentials"
    return ""


def _restored(run: CellRun, copy: FolderCopy) -> CellRun:
    """The run with the copy's paths replaced by the person's own, wherever they were printed."""

    def restored(value: Any) -> Any:
        if isinstance(value, str):
            return copy.restored(value)
        if isinstance(value, list):
            return [restored(item) for item in value]
        if isinstance(value, dict):
            return {key: restored(item) for key, item in value.items()}
        return value

    error = (run.error[0], copy.restored(run.error[1])) if run.error is not None else None
    return replace(run, outputs=restored(list(run.outputs)), error=error, reason=copy.restored(run.reason))
