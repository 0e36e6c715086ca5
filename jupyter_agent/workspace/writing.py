"""Effects on files: write, delete, move. Each is described first, then happens once, as a compare-and-swap.

Built by `Workspace`; after a commit, or a failed one, a file holds its old bytes or its new ones, whole.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jupyter_agent.atomic import replace_file
from jupyter_agent.effect import Change, Effect, content_hash, unified_diff
from jupyter_agent.errors import Stale, WorkspaceRefused
from jupyter_agent.workspace.paths import open_folder, open_regular, read_descriptor

WRITE_LIMIT = 100 * 2**20
"""Bytes of a file that can be changed: what undo can keep of one file."""


@dataclass(frozen=True)
class Written:
    """What a commit left behind, read back from the disk. `sha256` is `""` after a deletion."""

    path: Path
    sha256: str
    size: int
    diff: str


def read_or_none(root: Path, real: Path, limit: int = WRITE_LIMIT) -> bytes | None:
    """The file's bytes, None where there is no file. Raises WorkspaceRefused for everything else."""
    try:
        with open_regular(root, real) as descriptor:
            return read_descriptor(descriptor, limit, str(real))
    except WorkspaceRefused as error:
        if error.kind == "missing":
            return None
        raise


def current_hash(root: Path, real: Path) -> Callable[[], Awaitable[str]]:
    """The `current` of an effect on a file: its content hash now, `""` where there is none."""

    async def current() -> str:
        data = await asyncio.to_thread(read_or_none, root, real)
        return "" if data is None else content_hash(data)

    return current


def write_effect(root: Path, real: Path, name: str, before: bytes | None, data: bytes, notes: str) -> Effect[Written]:
    """Create `real` (`before` is None) or replace its content; parents are made on commit."""
    old, new = "" if before is None else content_hash(before), content_hash(data)
    diff = describe_change(before, data, name)

    async def apply() -> Written:
        await asyncio.to_thread(_write, root, real, data, old)
        return Written(real, new, len(data), diff)

    verb = "Create" if before is None else "Edit"
    return Effect(
        kind="edit",
        target=str(real),
        title=f"{verb} {name}",
        preview=notes + (diff or "(no change)\n"),
        apply=apply,
        before=old,
        payload=new,
        current=current_hash(root, real),
        changes=(Change(str(real), "", old, new, diff, before),),
    )


def delete_effect(root: Path, real: Path, name: str, before: bytes, notes: str) -> Effect[Written]:
    """Delete a regular file."""
    old = content_hash(before)
    diff = describe_change(before, None, name)

    async def apply() -> Written:
        await asyncio.to_thread(_unlink, root, real, old)
        return Written(real, "", 0, diff)

    return Effect(
        kind="edit",
        target=str(real),
        title=f"Delete {name}",
        preview=notes + (diff or f"Delete the empty file {name}\n"),
        apply=apply,
        before=old,
        payload="deleted",
        current=current_hash(root, real),
        changes=(Change(str(real), "", old, "", diff, before),),
    )


def move_effect(root: Path, real: Path, to: Path, names: tuple[str, str], before: bytes, notes: str) -> Effect[Written]:
    """Move a regular file to a path where nothing is."""
    digest = content_hash(before)

    async def apply() -> Written:
        await asyncio.to_thread(_move, root, real, to, digest)
        return Written(to, digest, len(before), "")

    async def current() -> str:
        if os.path.lexists(to):
            raise Stale(f"{to} exists by now. Choose another name.")
        return await current_hash(root, real)()

    return Effect(
        kind="edit",
        target=str(real),
        title=f"Move {names[0]} to {names[1]}",
        preview=f"{notes}rename from {names[0]}\nrename to {names[1]}\n",
        apply=apply,
        before=digest,
        payload=f"moved to {to}",
        current=current,
        changes=(
            Change(str(real), "", digest, "", f"rename from {names[0]}\n", before),
            Change(str(to), "", "", digest, f"rename to {names[1]}\n", None),
        ),
    )


def _write(root: Path, real: Path, data: bytes, expected: str) -> None:
    made = _make_parents(root, real.parent) if not expected else []
    try:
        written = replace_file(real, data, expected_sha256=expected, inside=root)
    except BaseException:
        _remove_made(made)
        raise
    # Read back: a file system or a hook that swallowed the write must not pass for success (fault f13).
    kept = read_or_none(root, real)
    if kept is None or content_hash(kept) != written:
        raise Stale(f"{real} was changed by another program right after it was written. Read it again.")


def _make_parents(root: Path, folder: Path) -> list[Path]:
    """Make the missing folders down to `folder`, none through a link; returns those made."""
    made: list[Path] = []
    missing = [parent for parent in (folder, *folder.parents) if parent.is_relative_to(root) and not parent.exists()]
    try:
        for parent in reversed(missing):
            with _refusing(parent, "made"), open_folder(root, parent.parent) as descriptor, suppress(FileExistsError):
                os.mkdir(parent.name if descriptor is not None else parent, dir_fd=descriptor)
                made.append(parent)
    except WorkspaceRefused:
        _remove_made(made)
        raise
    return made


def _remove_made(made: list[Path]) -> None:
    for folder in reversed(made):
        with suppress(OSError):
            folder.rmdir()


def _unlink(root: Path, real: Path, expected: str) -> None:
    """Delete by way of a name of our own, so that what is deleted is what was compared."""
    aside = real.parent / f".jupyter-agent-{os.urandom(6).hex()}.deleted"
    with _refusing(real, "deleted"), open_folder(root, real.parent) as folder:
        old, new = _at(folder, real), _at(folder, aside)
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
        data = None
        with suppress(WorkspaceRefused):
            data = read_or_none(root, aside)
        if data is None or content_hash(data) != expected:
            # Should another file have taken the name meanwhile, both stay.
            with suppress(FileExistsError):
                _rename_to_new(folder, new, folder, old)
            raise Stale(f"{real} changed since it was read, so it was not deleted. Read it again.")
        os.unlink(new, dir_fd=folder)


def _move(root: Path, real: Path, to: Path, expected: str) -> None:
    made = _make_parents(root, to.parent)
    try:
        with (
            _refusing(real, "moved"),
            open_folder(root, real.parent) as source,
            open_folder(root, to.parent) as target,
        ):
            old, new = _at(source, real), _at(target, to)
            _rename_to_new(source, old, target, new)
            data = None
            with suppress(WorkspaceRefused):
                data = read_or_none(root, to)
            if data is None or content_hash(data) != expected:
                with suppress(FileExistsError):
                    _rename_to_new(target, new, source, old)
                raise Stale(f"{real} changed since it was read, so it was not moved. Read it again.")
    except FileExistsError:
        raise Stale(f"{to} exists by now. Choose another name.") from None
    finally:
        # Those that the file went into are not empty and stay.
        _remove_made(made)


def _rename_to_new(source: int | None, old: str, target: int | None, new: str) -> None:
    """Rename where a plain rename would silently replace what has the new name. Raises FileExistsError."""
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # A file system without hard links: look, then rename.
        if _exists(new, target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
    else:
        os.unlink(old, dir_fd=source)


def _exists(place: str, folder: int | None) -> bool:
    try:
        os.stat(place, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _at(folder: int | None, path: Path) -> str:
    return path.name if folder is not None else str(path)


@contextmanager
def _refusing(real: Path, done: str) -> Iterator[None]:
    """Operating-system errors as refusals; FileExistsError passes for the caller to explain."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        kind = "no_space" if error.errno == errno.ENOSPC else "not_writable"
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            kind = "missing"
        message = f"{real} could not be {done} ({error.strerror}); nothing was changed. Check the folder and repeat."
        raise WorkspaceRefused(kind, message) from None


# ------------------------------------------------------------------------------------------------------ previews


def describe_change(before: bytes | None, after: bytes | None, name: str) -> str:
    """The change as a unified diff, or as sizes where a side is binary. `""`: the same bytes."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        sizes = ["nothing" if side is None else f"{len(side):,} bytes" for side in (before, after)]
        return "" if before == after else f"binary file {name}: {sizes[0]} → {sizes[1]}\n"
    return diff_lines(old, new, name)


def _text(data: bytes | None) -> str | None:
    if data is None:
        return ""
    return None if b"\0" in data[:8192] else data.decode("utf-8", "surrogateescape")


def diff_lines(before: str, after: str, name: str) -> str:
    """`unified_diff` in time proportional to the change: equal lines at both ends are set aside first."""
    old, new = before.split("\n"), after.split("\n")
    head = _common(old, new)
    if head == len(old) == len(new):
        return ""
    tail = _common(old[head:][::-1], new[head:][::-1])
    skipped = max(head - 3, 0)
    kept = max(tail - 3, 0)
    inner = unified_diff(
        "\n".join(old[skipped : len(old) - kept]) + ("\n" if kept else ""),
        "\n".join(new[skipped : len(new) - kept]) + ("\n" if kept else ""),
        name,
    )
    return _HUNK.sub(lambda m: f"@@ -{_shift(m[1], skipped)} +{_shift(m[2], skipped)} @@", inner) if skipped else inner


_HUNK = re.compile(r"^@@ -([\d,]+) \+([\d,]+) @@", re.MULTILINE)


def _shift(place: str, by: int) -> str:
    start, comma, count = place.partition(",")
    return f"{int(start) + by}{comma}{count}"


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
