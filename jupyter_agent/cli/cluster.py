"""Notebooks as tasks of a Dask cluster that shares the file system (the extra `dask`).

Workers plan, run and compare; they write nothing, so a task that a dying worker leaves behind is simply done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from jupyter_agent.errors import UsageError
from jupyter_agent.refactor.proving import Outcome, Task, perform

CONNECT_TIMEOUT = 30
"""Seconds in which the scheduler must answer."""

STOP_POLL = 1.0
"""Seconds between a worker's looks at whether the person stopped the command."""


async def outcomes_of_cluster(tasks: Sequence[Task], address: str) -> AsyncGenerator[tuple[Task, Outcome]]:
    """Outcomes as they come. Ended early, workers end the kernels of what they run. Raises UsageError."""
    distributed = _distributed()
    try:
        client = await distributed.Client(address, asynchronous=True, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        raise UsageError(f"No Dask scheduler answers at {address}: {error}. Write it as tcp://HOST:PORT.") from None
    stop = f"jupyter-agent-{uuid.uuid4().hex}"
    stopping = distributed.Event(stop, client=client)
    finished = False
    try:
        by_future = {client.submit(perform_on_worker, task, stop, pure=False): task for task in tasks}
        async for future in distributed.as_completed(by_future):
            task = by_future[future]
            yield task, await _outcome(future, task)
        finished = True
    finally:
        with contextlib.suppress(Exception):
            if not finished:
                await asyncio.wait_for(stopping.set(), STOP_POLL)
        await client.close()


def _distributed() -> Any:
    """The library, which is optional. Raises UsageError where it is missing."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise UsageError(
            "--scheduler needs Dask: pip install 'jupyter-agent-live[dask]', here and on the workers."
        ) from None


async def _outcome(future: Any, task: Task) -> Outcome:
    try:
        outcome = await future.result()
    except Exception as error:
        reason = f"The cluster could not do it ({type(error).__name__}: {error})."
        return Outcome(task.path, "error", reason)
    assert isinstance(outcome, Outcome)
    return outcome


def perform_on_worker(task: Task, stop: str) -> Outcome:
    """What a worker runs, in a thread of its own. `stop` names the event that the command sets when it is stopped."""
    return asyncio.run(_watched(task, stop))


async def _watched(task: Task, stop: str) -> Outcome:
    distributed = _distributed()
    event = distributed.Event(stop, client=distributed.get_client())
    running = asyncio.ensure_future(perform(task))

    async def watch() -> None:
        # A scheduler that is gone can stop nobody: then the work goes on, its result is lost with the cluster.
        with contextlib.suppress(Exception):
            while not await asyncio.to_thread(event.wait, STOP_POLL):
                pass
            running.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        return await running
    except asyncio.CancelledError:
        return Outcome(task.path, "error", "Stopped.")
    finally:
        watching.cancel()
