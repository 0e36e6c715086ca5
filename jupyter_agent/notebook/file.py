"""A notebook in a file that nobody has open: read strictly, written by compare-and-swap in one step.

Touches only its file (through jupyter_agent.atomic) and asks a guard before each write. Reading never writes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakSet

from jupyter_agent.atomic import replace_file
from jupyter_agent.effect import Change, Effect
from jupyter_agent.errors import AgentError, NotebookRefused, Stale
from jupyter_agent.notebook.cells import Json, carried_ids, derived_ids, from_json, renumbered, with_outputs
from jupyter_agent.notebook.change import Rewrite, changed_by_others, edit_effect
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Operation, Output
from jupyter_agent.notebook.ipynb import Ipynb, parse
from jupyter_agent.notebook.ipynb_write import new_file, rewrite
from jupyter_agent.notebook.limits import cap_outputs
from jupyter_agent.notebook.transaction import NewId, apply

Guard = Callable[[str], Awaitable[None]]
"""Asked with the path before each write; raises NotebookRefused("open_elsewhere") when somebody else owns the file."""

POLL = 0.5
"""Seconds between looks at the file by `watch`."""
ATTEMPTS = 10
"""Writes tried when others keep winning the race between our read and our write."""
# Timestamps of a file are no finer than a few milliseconds: one written this recently may change unnoticed.
_SETTLED = 1.0


@dataclass(frozen=True)
class _State:
    """The file as it was read once. `known` are the (id, hash) pairs of cells whose ids the file does not hold."""

    file: Ipynb
    cells: tuple[Cell, ...]
    sha256: str
    identity: tuple[int, ...]
    known: tuple[tuple[str, str], ...]


class Watcher:
    """What one `watch` has seen; `changed` are ids that others changed and it has not told yet."""

    def __init__(self, cells: tuple[Cell, ...], identity: tuple[int, ...]) -> None:
        self.cells = cells
        self.identity = identity
        self.changed: tuple[str, ...] = ()

    def look(self, cells: tuple[Cell, ...], identity: tuple[int, ...]) -> None:
        self.changed = tuple(dict.fromkeys([*self.changed, *changed_by_others(self.cells, cells)]))
        self.cells, self.identity = cells, identity

    def skip(self, before: tuple[Cell, ...], after: tuple[Cell, ...]) -> None:
        """Our own write from `before` to `after`."""
        self.look(before, self.identity)
        self.cells = after


class FileNotebook:
    """See the module. `root`: a folder that writes must stay in.

    `known_ids` are the `session_ids` of an earlier instance, for ids that are not in the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        guard: Guard | None = None,
        root: str | os.PathLike[str] | None = None,
        known_ids: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._path = os.path.realpath(path)
        self._guard = guard
        self._root = root
        self._known = tuple(known_ids)
        self._state: _State | None = None
        self._pending: dict[str, tuple[Sequence[Output], int | None, Mapping[str, str] | None]] = {}
        self._flusher: asyncio.Task[None] | None = None
        self._write_seconds = 0.0
        self._watchers: WeakSet[Watcher] = WeakSet()

    @property
    def path(self) -> str:
        return self._path

    @property
    def backend(self) -> Literal["file"]:
        return "file"

    @property
    def session_ids(self) -> tuple[tuple[str, str], ...]:
        """(id, hash) of the cells whose ids live in this conversation only, in order; empty from nbformat 4.5 on."""
        return self._known

    async def cells(self) -> tuple[Cell, ...]:
        return self._with_pending((await self._read()).cells)

    async def metadata(self) -> Mapping[str, Any]:
        return (await self._read()).file.metadata

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        state = await self._read()
        cells = self._with_pending(state.cells)
        language = str(state.file.metadata.get("kernelspec", {}).get("language", "python"))
        transaction = apply(cells, operations, make_id=await self.id_maker(), language=language)
        return edit_effect(transaction, target=self._path, read=self.cells, rewrite=self.rewrite)

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        """As the protocol says; written after a pause that grows with the time a write takes, or by `save`."""
        if timing is None and cell in self._pending:
            timing = self._pending[cell][2]
        self._pending[cell] = (cap_outputs(outputs), execution_count, timing)
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.get_running_loop().create_task(self._flush_later())

    def watch(self) -> AsyncIterator[CellsChanged]:
        watcher = Watcher(self._read_now().cells, _identity(self._path))
        self._watchers.add(watcher)
        return self._watch(watcher)

    async def save(self) -> None:
        """Write pending outputs. Raises NotebookRefused, WorkspaceRefused; then they stay pending, shown by `cells`."""
        wanted = dict(self._pending)
        if not wanted:
            return
        await self.rewrite(lambda cells: tuple(cells))
        if any(self._pending.get(cell) is outputs for cell, outputs in wanted.items()):
            raise NotebookRefused(
                "unconfirmed",
                f"{self._path} is unchanged after a write of outputs: the storage drops writes. Save it elsewhere.",
            )

    async def close(self) -> None:
        """Writes pending outputs; raises as `save` does."""
        if self._flusher is not None:
            self._flusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._flusher
        await self.save()

    async def _read(self) -> _State:
        """Read, waiting out a moment in which another program rewrites the file in place."""
        for _ in range(5):
            try:
                return self._read_now()
            except NotebookRefused as refused:
                if refused.kind != "corrupt":
                    raise
                seen = _identity(self._path)
                await asyncio.sleep(0.05)
                if _identity(self._path) == seen:
                    raise
        return self._read_now()

    def _read_now(self) -> _State:
        state = self._state
        if state is not None and state.identity == _identity(self._path) and _is_settled(state.identity):
            return state
        data, identity = read_bytes(self._path)
        sha256 = hashlib.sha256(data).hexdigest()
        if state is None or state.sha256 != sha256:
            file = parse(data, self._path)
            cells, known = identified(file.raw, file.minor, self._known)
        else:
            file, cells, known = state.file, state.cells, state.known
        self._known = known
        self._state = _State(file, cells, sha256, identity, known)
        return self._state

    async def id_maker(self) -> NewId | None:
        """How new cells get their ids: None for at random, which is where the file stores them."""
        state = await self._read()
        return None if state.file.minor >= 5 else derived_id(self._with_pending(state.cells))

    async def rewrite(self, make: Rewrite) -> tuple[Cell, ...]:
        """Replace the cells in one step, with pending outputs; repeats `make` on what others wrote in between."""
        await self._read()
        for _ in range(ATTEMPTS):
            if self._guard is not None:
                await self._guard(self._path)
            # From here to the write nothing is awaited.
            state = self._read_now()
            pending = dict(self._pending)
            file, before = state.file, state.cells
            after = renumbered(make(self._with_pending(before)))
            old, data = file.encoded(file.text), file.encoded(rewrite(file, before, after))
            started = time.monotonic()
            try:
                replace_file(self._path, data, expected_sha256=state.sha256, inside=self._root)
            except Stale:
                continue
            self._write_seconds = time.monotonic() - started
            for watcher in self._watchers:
                watcher.skip(before, after)
            self._known = tuple((cell.id, cell.hash) for cell in after) if file.minor < 5 or state.known else ()
            written = self._read_now()
            if written.sha256 != state.sha256 or data == old:
                # Outputs are pending until the write is known to have happened.
                self._pending = {key: value for key, value in self._pending.items() if pending.get(key) is not value}
            return self._with_pending(written.cells)
        raise Stale(f"{self._path} is being changed all the time by another program. Wait for it and repeat the step.")

    def _with_pending(self, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
        for cell, (outputs, execution_count, timing) in self._pending.items():
            cells = with_outputs(cells, cell, outputs, execution_count, timing)
        return cells

    async def _flush_later(self) -> None:
        """Write pending outputs now and then, at most a tenth of the time; an error waits for `save` to raise it."""
        while self._pending:
            await asyncio.sleep(max(0.5, 10 * self._write_seconds))
            with suppress(AgentError):
                await self.save()

    async def _watch(self, watcher: Watcher) -> AsyncIterator[CellsChanged]:
        while True:
            await asyncio.sleep(POLL)
            identity = _identity(self._path)
            if identity == watcher.identity and _is_settled(identity) and not watcher.changed:
                continue
            with suppress(NotebookRefused):
                watcher.look((await self._read()).cells, identity)
            if watcher.changed:
                changed, watcher.changed = watcher.changed, ()
                yield CellsChanged(changed)


def create_notebook(
    path: str | os.PathLike[str],
    cells: Sequence[Cell],
    metadata: Mapping[str, Any],
    *,
    guard: Guard | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Effect[str]:
    """The effect that creates a notebook file of nbformat 4.5; its outcome is the real path.

    Raises NotebookRefused("exists") when something is there already.
    """
    target = os.path.realpath(path)
    if os.path.lexists(target):
        raise NotebookRefused("exists", f"{target} exists already. Edit it, or choose another name.")
    data = new_file(cells, metadata).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    preview = "\n".join(
        f"insert {cell.type} cell {cell.id}\n" + "".join(f"+{line}\n" for line in cell.source.split("\n"))
        for cell in cells
    )

    async def current() -> str:
        return "exists" if os.path.lexists(target) else ""

    async def write() -> str:
        if guard is not None:
            await guard(target)
        replace_file(target, data, expected_sha256="", inside=root)
        return target

    return Effect(
        kind="edit",
        target=target,
        title=f"Create the notebook {os.path.basename(target)} with {len(cells)} cell{'' if len(cells) == 1 else 's'}",
        preview=f"new notebook {target}\n{preview}",
        apply=write,
        payload=sha256,
        current=current,
        changes=(Change(target, "", "", sha256, preview, None),),
        details={"path": target, "created": [cell.id for cell in cells]},
    )


def read_bytes(path: str) -> tuple[bytes, tuple[int, ...]]:
    """A regular file's bytes and identity. Raises NotebookRefused("missing" | "not_regular")."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise NotebookRefused("missing", f"{path} cannot be read: {reason}. Check the path.") from None
    with open(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise NotebookRefused("not_regular", f"{path} is not a regular file, so it is no notebook.")
        return stream.read(), _identity_of(state)


def _identity(path: str) -> tuple[int, ...]:
    try:
        return _identity_of(os.stat(path))
    except OSError:
        return ()


def _identity_of(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino, state.st_size)


def _is_settled(identity: tuple[int, ...]) -> bool:
    return not identity or time.time() - max(identity[:2]) / 1e9 > _SETTLED


def identified(
    raw: Sequence[Json], minor: int, known: Sequence[tuple[str, str]]
) -> tuple[tuple[Cell, ...], tuple[tuple[str, str], ...]]:
    """The cells (nbformat JSON) with ids, those that they have where they count; and the (id, hash) pairs of others."""
    ids = [cell.get("id") for cell in raw]
    if minor < 5 and len(set(ids)) < len(ids):
        # Below 4.5 an id in the file means nothing; it serves only while it names one cell.
        ids = [None] * len(ids)
    cells = [from_json(cell, cell_id or "", index) for index, (cell, cell_id) in enumerate(zip(raw, ids, strict=True))]
    nameless = [index for index, cell_id in enumerate(ids) if not cell_id]
    if not nameless:
        return tuple(cells), ()
    contents = [(cells[index].type, cells[index].source) for index in nameless]
    taken = {cell_id for cell_id in ids if cell_id}
    left = [(cell_id, content) for cell_id, content in known if cell_id not in taken]
    given = carried_ids(left, contents) if left else derived_ids(contents, taken)
    for index, cell_id in zip(nameless, given, strict=True):
        cells[index] = from_json(raw[index], cell_id, index)
    return tuple(cells), tuple((cells[index].id, cells[index].hash) for index in nameless)


def derived_id(cells: Sequence[Cell]) -> NewId:
    """New ids for a file that cannot hold ids: those that the next process will derive from it."""

    def make(taken: Collection[str], cell_type: str, source: str) -> str:
        number = sum((cell.type, cell.source) == (cell_type, source) for cell in cells)
        candidates = derived_ids([(cell_type, source)] * (number + 1 + len(taken)))
        return next(candidate for candidate in candidates[number:] if candidate not in taken)

    return make
