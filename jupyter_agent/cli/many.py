"""Many notebooks at a time, here or on a Dask cluster, with progress at a terminal, and an orderly end on Ctrl-C.

Starts kernels through `perform` only; writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_agent.refactor.proving import Outcome, Task, perform

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from jupyter_agent.notebook.document import Cell

Done = Callable[[Task, Outcome], Coroutine[Any, Any, None]]
"""Called with each outcome as it comes, one at a time; what it writes is finished before the next."""


async def run_all(tasks: Sequence[Task], done: Done, *, jobs: int, scheduler: str | None) -> bool:
    """Perform every task and call `done` for each. False when Ctrl-C or SIGTERM ended it before all were done; kernels
    are ended by then, and what `done` had begun is finished. Raises UsageError where there is no such cluster."""

    async def work() -> None:
        with _Bar(len(tasks)) as bar:
            if scheduler is not None:
                from jupyter_agent.cli.cluster import outcomes_of_cluster

                outcomes = outcomes_of_cluster(tasks, scheduler)
            else:
                outcomes = _outcomes(tasks, jobs, bar)
            async with contextlib.aclosing(outcomes):
                async for task, outcome in outcomes:
                    with bar.advancing():
                        await _finished(done(task, outcome))

    return await _interruptible(work())


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """A write that has begun is finished, whatever is pressed."""
    finishing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(finishing)
    except asyncio.CancelledError:
        await finishing
        raise


async def _outcomes(tasks: Sequence[Task], jobs: int, bar: _Bar) -> AsyncGenerator[tuple[Task, Outcome]]:
    """Outcomes as they come, at most `jobs` notebooks at a time; ended early, everything begun is ended with it."""
    limit = asyncio.Semaphore(jobs)

    async def one(task: Task) -> tuple[Task, Outcome]:
        async with limit:
            with bar.notebook(task.path) as on_cell:
                return task, await guarded(perform(task, on_cell=on_cell), task)

    running = [asyncio.ensure_future(one(task)) for task in tasks]
    try:
        for finished in asyncio.as_completed(running):
            yield await finished
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def guarded(work: Coroutine[Any, Any, Outcome], task: Task) -> Outcome:
    """A fault of ours in one notebook must not take the others with it; the log has the rest."""
    try:
        return await work
    except Exception as error:
        logging.getLogger("jupyter_agent").debug("%s failed", task.path, exc_info=True)
        return Outcome(task.path, "error", f"This failed by a fault of our own ({type(error).__name__}: {error}).")


async def _interruptible(work: Coroutine[Any, Any, None]) -> bool:
    """Run to the end, or cancel in order at SIGINT and SIGTERM. A second signal does not cut the clean-up short."""
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(work)
    handled: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, running.cancel)
            handled.append(number)
    try:
        await running
        return True
    except asyncio.CancelledError:
        return False
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


class _Bar:
    """A progress bar on standard error where that is a terminal, with a line for each notebook that runs."""

    def __init__(self, count: int) -> None:
        self._progress: Progress | None = None
        self._count = count

    def __enter__(self) -> _Bar:
        if os.isatty(2) and self._count:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            from jupyter_agent.cli.render import make_console

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            console = make_console(sys.stderr)
            self._progress = Progress(
                *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._progress.start()
            self._whole = self._progress.add_task("notebooks", total=self._count)
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    @contextlib.contextmanager
    def advancing(self) -> Iterator[None]:
        """One notebook more is done. The bar makes room while that is said: it may share the terminal."""
        if self._progress is None:
            yield
            return
        self._progress.advance(self._whole)
        self._progress.stop()
        yield
        self._progress.start()

    @contextlib.contextmanager
    def notebook(self, path: str) -> Any:
        """A line for one notebook; gives the `on_cell` to call."""
        if self._progress is None:
            yield None
            return
        progress = self._progress
        line: TaskID = progress.add_task(f"  {os.path.basename(path)}", total=None)

        def on_cell(cell: Cell, number: int, count: int) -> None:
            progress.update(line, completed=number - 1, total=count)

        try:
            yield on_cell
        finally:
            progress.remove_task(line)
