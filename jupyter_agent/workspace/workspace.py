"""The files of one project, as the agent may see and change them.

Reads regular files beneath the root, never what `.agentignore` names; changes them through effects only.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_agent.effect import Effect, content_hash
from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.workspace import writing
from jupyter_agent.workspace.ignore import Ignored
from jupyter_agent.workspace.ledger import Ledger
from jupyter_agent.workspace.paths import (
    open_regular,
    read_descriptor,
    real_root,
    resolve,
    resolve_parent,
)
from jupyter_agent.workspace.protected import protection
from jupyter_agent.workspace.writing import WRITE_LIMIT, Written

READ_LIMIT = WRITE_LIMIT
"""Bytes of a file read whole into memory."""


@dataclass(frozen=True)
class FileContent:
    """A file as it is now. `path` is its real path, `links` how many names it has (more than one: hard links)."""

    path: Path
    data: bytes
    sha256: str
    links: int

    @property
    def binary(self) -> bool:
        """Whether it holds a NUL byte in its first 8 KiB, as git decides it."""
        return b"\0" in self.data[:8192]

    @property
    def text(self) -> str:
        """The bytes as UTF-8; bytes that are not become lone surrogates, which encode back to themselves."""
        return self.data.decode("utf-8", "surrogateescape")


class Workspace:
    """A root and what is beneath it.

    Paths given to methods are relative to the root or absolute; results are real paths. Every method raises
    WorkspaceRefused with advice. With a `ledger`, editing tools demand that a file was read before it is changed; None
    (a single tool call) demands nothing.
    """

    def __init__(self, root: str | os.PathLike[str], ledger: Ledger | None = None) -> None:
        self.root = real_root(root)
        self.ledger = ledger
        self._ignored = Ignored(self.root)
        self._locks: dict[Path, tuple[asyncio.Lock, int]] = {}

    def resolve(self, path: str | os.PathLike[str]) -> Path:
        """The real path, inside the root and not ignored; it need not exist."""
        real = resolve(self.root, path)
        if self.ignored(real):
            raise WorkspaceRefused("ignored", f"{path} is listed in .agentignore: it is never read or changed.")
        return real

    def relative(self, path: str | os.PathLike[str]) -> str:
        """A real path as the model names it: relative to the root with forward slashes."""
        return Path(path).relative_to(self.root).as_posix() if Path(path).is_relative_to(self.root) else str(path)

    def ignored(self, path: Path) -> bool:
        """Whether `.agentignore` names the real `path`, or a folder it is in."""
        return path != self.root and self._ignored(path)

    def protection(self, path: Path) -> str | None:
        """Why changing the real `path` needs its own approval in every mode, or None."""
        return protection(path, self.root)

    def read(self, path: str | os.PathLike[str], limit: int = READ_LIMIT) -> FileContent:
        """The whole file. Kinds of refusal: outside, ignored, missing, not_regular, not_readable, too_large."""
        real = self.resolve(path)
        with open_regular(self.root, real) as descriptor:
            state = os.fstat(descriptor)
            data = read_descriptor(descriptor, limit, self.relative(real))
        return FileContent(real, data, content_hash(data), state.st_nlink)

    @contextmanager
    def open(self, path: str | os.PathLike[str]) -> Iterator[int]:
        """A descriptor of a regular file, for reading parts of a large one. Refuses as `read` does."""
        with open_regular(self.root, self.resolve(path)) as descriptor:
            yield descriptor

    def hash(self, path: str | os.PathLike[str]) -> str:
        """The file's SHA-256, `""` where it does not exist."""
        data = writing.read_or_none(self.root, self.resolve(path))
        return "" if data is None else content_hash(data)

    @asynccontextmanager
    async def lock(self, path: str | os.PathLike[str]) -> AsyncIterator[Path]:
        """Hold the file against other calls of this conversation, from reading it to the end of the commit.

        Parallel calls on one file then follow one another instead of finding each other's change (fault f19).
        """
        real = self.resolve(path)
        lock, users = self._locks.get(real, (asyncio.Lock(), 0))
        self._locks[real] = (lock, users + 1)
        try:
            async with lock:
                yield real
        finally:
            lock, users = self._locks.pop(real)
            if users > 1:
                self._locks[real] = (lock, users - 1)

    def write(self, path: str | os.PathLike[str], data: bytes, *, expected: str | None = None) -> Effect[Written]:
        """Create or replace a file, as one effect of kind `edit` with a unified diff as its preview.

        `expected` is the SHA-256 of the content the change was made from (`""`: no file); another content is refused
        with `changed` or `exists`. None takes what is there now. Missing folders are made on commit. The file keeps its
        mode and owner; a link inside the root is written through.
        """
        real = self.resolve(path)
        name = self.relative(real)
        before = writing.read_or_none(self.root, real)
        self._check_expected(name, before, expected)
        if len(data) > WRITE_LIMIT:
            raise WorkspaceRefused("too_large", f"{name} would have {len(data):,} bytes; the limit is {WRITE_LIMIT:,}.")
        effect = writing.write_effect(self.root, real, name, before, data, self._notes(path, real))
        return self._marked(effect, real)

    def delete(self, path: str | os.PathLike[str]) -> Effect[Written]:
        """Delete a regular file. Folders and links are refused: undo could not bring them back."""
        real = self._own_name(path)
        content = self.read(real)
        effect = writing.delete_effect(self.root, real, self.relative(real), content.data, self._notes(path, real))
        return self._marked(effect, real)

    def move(self, path: str | os.PathLike[str], to: str | os.PathLike[str]) -> Effect[Written]:
        """Move a regular file to a new name, where nothing may be. Missing folders are made on commit."""
        real, target = self._own_name(path), self._own_name(to)
        if os.path.lexists(target):
            raise WorkspaceRefused("exists", f"{self.relative(target)} exists. Choose another name or delete it first.")
        content = self.read(real)
        names = (self.relative(real), self.relative(target))
        effect = writing.move_effect(self.root, real, target, names, content.data, self._notes(path, real))
        return self._marked(effect, real, target)

    def _own_name(self, path: str | os.PathLike[str]) -> Path:
        """The path with its own last name: a link there is refused, not followed."""
        place = resolve_parent(self.root, path)
        if place.is_symlink():
            name = self.relative(place)
            raise WorkspaceRefused("not_regular", f"{name} is a link, which undo could not restore. Use run_bash.")
        return self.resolve(place)

    def _check_expected(self, name: str, before: bytes | None, expected: str | None) -> None:
        if expected is None:
            return
        now = "" if before is None else content_hash(before)
        if now == expected:
            return
        if not expected:
            raise WorkspaceRefused("exists", f"{name} exists. Read it first, then edit it.")
        if not now:
            raise WorkspaceRefused("missing", f"{name} does not exist any more. find_files searches for it by name.")
        raise WorkspaceRefused("changed", f"{name} changed since it was read. Read it again and repeat the step.")

    def _notes(self, given: str | os.PathLike[str], real: Path) -> str:
        """What a person should know beside the diff, one line each."""
        notes = []
        if Path(os.path.normpath(self.root / given)) != real:
            notes.append(f"{os.fspath(given)} is a link to {self.relative(real)}, which is what changes.\n")
        try:
            links = os.stat(real, follow_symlinks=False).st_nlink
        except OSError:
            links = 1
        if links > 1:
            notes.append(f"{self.relative(real)} has {links} names (hard links); only this one changes.\n")
        return "".join(notes)

    def _marked(self, effect: Effect[Written], *paths: Path) -> Effect[Written]:
        reasons = [reason for path in paths if (reason := self.protection(path)) is not None]
        if reasons:
            effect.details["protected"] = "; ".join(reasons)
        effect.details["path"] = self.relative(paths[0])
        return effect
