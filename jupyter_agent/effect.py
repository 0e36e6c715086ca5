"""Effect: something that will happen, described, shown, granted by digest, committed once.

Ports build effects and never perform them; the permission layer grants them; `commit` refuses everything that was
not granted exactly as described, or whose target changed since.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from jupyter_agent.errors import NotGranted, Stale

Kind = Literal["read", "edit", "execute", "network", "install", "kernel"]
T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """One file or cell that a commit changes.

    `before`/`after` are content hashes, `""` where nothing was or will be. `pre_image` holds what undo needs: the
    file's bytes, or the cell as nbformat JSON bytes with its neighbour (`{"cell": {...}, "after": id|null}`).
    """

    target: str
    cell: str
    before: str
    after: str
    diff: str
    pre_image: bytes | None


@dataclass(frozen=True)
class Grant:
    """Permission to commit exactly one digest.

    `before_commit` runs after the staleness check and before the effect: it stores pre-images durably and refuses when
    the person pressed Stop. `after_commit` runs once the effect happened.
    """

    digest: str
    before_commit: Callable[[Effect[Any]], Awaitable[None]]
    after_commit: Callable[[Effect[Any]], Awaitable[None]]


@dataclass(eq=False)
class Effect(Generic[T]):
    """A described, not yet performed change or communication.

    `target` is what it happens to (a path, a command, a URL, a kernel); `preview` the whole of what will happen, for a
    person (diff, code, argv); `before` the hash of the target's current state and `payload` what will be done to
    it: both enter the digest. `current` recomputes `before` at commit. `details` is free data for rules and screens
    (for a shell command its argv, for code its language), not part of the digest.
    """

    kind: Kind
    target: str
    title: str
    preview: str
    apply: Callable[[], Awaitable[T]]
    before: str = ""
    payload: str = ""
    current: Callable[[], Awaitable[str]] | None = None
    changes: tuple[Change, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    _grant: Grant | None = None
    _committed: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 hex over kind, target, preview, payload and before-hash."""
        parts = [self.kind, self.target, self.preview, self.payload, self.before]
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def granted(self, grant: Grant) -> None:
        """Attach the permission layer's grant; a grant for another digest is kept and refused at commit."""
        self._grant = grant

    async def commit(self) -> T:
        """Perform the effect once and return its outcome.

        Raises NotGranted unless exactly this digest was granted and it was not committed before, and Stale when the
        target's state is no longer the one described; in both cases nothing happened.
        """
        grant = self._grant
        if grant is None or grant.digest != self.digest:
            raise NotGranted(f"{self.title}: this was not approved as shown. Ask for approval of what will happen now.")
        if self._committed:
            raise NotGranted(f"{self.title}: an approval holds for one time. Describe the effect again.")
        await self._check_current()
        await grant.before_commit(self)
        # Storing the pre-image took time: look again, so that the window is only the write itself.
        await self._check_current()
        self._committed = True
        if self.kind != "edit":
            return await self._perform(grant)
        # A write that Stop cancels halfway would be a change nobody recorded: it is finished first.
        performing = asyncio.ensure_future(self._perform(grant))
        try:
            return await asyncio.shield(performing)
        except asyncio.CancelledError:
            await asyncio.wait([performing])
            raise

    async def _perform(self, grant: Grant) -> T:
        try:
            outcome = await self.apply()
        except BaseException:
            # A failed edit changed nothing. A run that was stopped has left outputs behind, which undo has to know of.
            if self.kind != "edit":
                await grant.after_commit(self)
            raise
        await grant.after_commit(self)
        return outcome

    async def _check_current(self) -> None:
        if self.current is not None and await self.current() != self.before:
            raise Stale(f"{self.target} changed since this was described. Read it again and repeat the step.")


def content_hash(data: bytes) -> str:
    """SHA-256 hex of a file's bytes: the only notion of 'the same content' in the program."""
    return hashlib.sha256(data).hexdigest()


def unified_diff(before: str, after: str, name: str, *, context: int = 3) -> str:
    """A unified diff of two texts, `""` when equal; a missing final newline is marked as git marks it."""
    if before == after:
        return ""
    lines: list[str] = []
    # Only \n ends a line here: form feeds and the like are inside one.
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)
