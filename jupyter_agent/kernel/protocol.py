"""The kernel protocol: running code in some kernel, whoever owns it.

An `Execution` outlives the wait for it: a cell that runs for hours goes on, its outputs still reaching the sink, until
it ends, is interrupted or the kernel dies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, Unpack

Output = dict[str, Any]
Status = Literal["queued", "running", "ok", "error", "aborted", "interrupted", "dead"]
KernelStatus = Literal["none", "starting", "idle", "busy", "dead", "unknown"]


@dataclass(frozen=True)
class Busy:
    """What keeps the kernel busy: seconds so far, and the cell's id or first code line if known.

    `what` is empty for code whose start nobody saw: then it runs for `seconds` at least.
    `ours` is true for an execution of this client; `code` is the whole code where it was seen, so that a caller who
    knows the notebook can name the cell.
    """

    seconds: float
    what: str = ""
    code: str = ""
    ours: bool = False

    def sentence(self) -> str:
        """`running cell ab12 for 40 s`."""
        if not self.what:
            return "running code that was started before this program connected"
        return f"running {self.what} for {self.seconds:.0f} s"


@dataclass(frozen=True)
class KernelState:
    """`ours` is true when this program started the kernel and so may shut it down."""

    status: KernelStatus
    name: str
    language: str
    ours: bool
    busy: Busy | None = None
    restarts: int = 0


@dataclass(frozen=True)
class Snapshot:
    """An execution as it stands. `outputs` are nbformat outputs with stream text as the kernel sent it, coalesced.

    `error` is (ename, evalue, traceback lines without ANSI); `seconds` counts from our own busy; `truncated` says that
    stream text beyond the flood limit was left out of `outputs` (its whole is in `spill`, a file path, when given);
    `started`/`ended` are ISO 8601 UTC; `lost_names` are the variables that a dead kernel took with it, as last seen;
    `advice` says what to do next where the status alone does not (input() refused, kernel dead, interrupt ignored);
    `asks` is the prompt of an input() that a person is being asked just now.
    """

    status: Status
    outputs: Sequence[Output] = ()
    execution_count: int | None = None
    error: tuple[str, str, list[str]] | None = None
    seconds: float = 0.0
    started: str = ""
    ended: str = ""
    truncated: bool = False
    spill: str | None = None
    lost_names: Sequence[str] = ()
    advice: str = ""
    asks: str = ""


OnOutput = Callable[[Snapshot], Awaitable[None]]
"""Called with the latest snapshot while outputs arrive (at most ~10 times a second) and once at the end.

It is called again later when a thread of the cell prints on or another cell updates one of its displays.
"""


class RunOptions(TypedDict, total=False):
    """How code is run. `cell` is the nbformat id that the outputs belong to; `queue_timeout` seconds (60) are waited
    for another's execution; `store_history` (true) and `silent` (false) are the message protocol's own."""

    cell: str | None
    on_output: OnOutput | None
    queue_timeout: float
    store_history: bool
    silent: bool


class Execution(Protocol):
    """One execution of ours. `snapshot` may be read at any time."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def done(self) -> bool: ...

    async def wait(self, timeout: float | None, *, interrupt: bool = False) -> Snapshot:
        """The snapshot at the end, or after `timeout` seconds of *our own* running time with the execution going on
        (with `interrupt`, interrupted then; in-process code without awaits can only be bounded so).

        Time in which another's execution keeps the kernel busy does not count against `timeout`; waiting for the
        kernel to become ours is bounded by `queue_timeout` of `Kernel.run`. Cancelling the wait leaves it running.
        """
        ...

    async def interrupt(self) -> Snapshot:
        """Interrupt this execution, and only if it is ours that runs; returns after the kernel is idle or after 2 s."""
        ...


@dataclass(frozen=True)
class Variable:
    """A name in the kernel's namespace, described without side effects; `preview` is bounded (about 200 characters)."""

    name: str
    type: str
    shape: str = ""
    size: int | None = None
    preview: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


class Kernel(Protocol):
    """Rules for every backend: DESIGN section 7. Raises KernelError with advice."""

    @property
    def language(self) -> str: ...

    async def state(self) -> KernelState: ...

    async def start(self) -> Any:
        """Have the kernel running; nothing happens when it is. `run` starts it by itself."""
        ...

    async def run(self, code: str, **options: Unpack[RunOptions]) -> Execution:
        """Queue code and return at once.

        When another's execution keeps the kernel busy for longer than `queue_timeout` seconds, `wait` raises
        KernelError("busy") naming what runs; our queued request is then withdrawn where the backend can, and
        otherwise its later outputs still reach `on_output`.
        """
        ...

    async def scratch(self, code: str, *, timeout: float, queue_timeout: float = 60.0) -> Execution:
        """As `run`, in a copy of the kernel's process that is thrown away: variables, random state and the offsets of
        open files stay as they are. The copy is ended after `timeout` seconds. An execution that ends `aborted` was
        refused, with the reason in its `advice`. Raises KernelError("unsupported") where the kernel is not Python's.
        """
        ...

    async def variables(self, names: Sequence[str] | None = None, *, detail: bool = False) -> list[Variable]:
        """Describe variables with stdlib-only text in the kernel; works while a cell runs where subshells exist."""
        ...

    async def interrupt(self) -> None:
        """Interrupt whatever runs (the person or the model asked for it by name)."""
        ...

    async def restart(self) -> None: ...

    async def shutdown(self) -> None:
        """Release the kernel; end it only if this program started it."""
        ...
