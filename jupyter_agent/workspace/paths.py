"""Paths confined to a root, and regular files opened beneath it without following a link.

Reads the file system; changes nothing. Every decision is made on real paths and on opened descriptors, so that a link
swapped in between the check and the use is refused, not followed.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from jupyter_agent.errors import WorkspaceRefused

_HAS_DIR_FD: Final = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_CHUNK: Final = 1 << 20


def _flags(*names: str) -> int:
    """The flags of these names that the platform has."""
    return sum(int(getattr(os, name, 0)) for name in names)


_READ: Final = os.O_RDONLY | _flags("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_BINARY")
# O_PATH walks through folders that may be entered but not listed.
_WALK: Final = os.O_RDONLY | _flags("O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_PATH")


def real_root(root: str | os.PathLike[str]) -> Path:
    """The root's real path. Raises WorkspaceRefused where it is not a folder."""
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise WorkspaceRefused("missing", f"{root} is not a folder. Start where the project is, or pass --root.")
    return real


def resolve(root: Path, path: str | os.PathLike[str]) -> Path:
    """The real path of `path` (relative to `root`, or absolute), every link resolved; it need not exist.

    `root` is a real path. Raises WorkspaceRefused("outside") when the real path is not beneath the root: a link, a
    dangling link, a link among its parents, `..` or a sibling whose name starts like the root's.
    """
    text = _checked(path)
    real = _realpath(root, text)
    if not is_inside(root, real):
        leads = "" if real == Path(os.path.normpath(root / text)) else f" (it leads to {real})"
        raise WorkspaceRefused("outside", f"{text}{leads} is outside {root}. Choose a path inside it.")
    return real


def resolve_parent(root: Path, path: str | os.PathLike[str]) -> Path:
    """As `resolve`, but a link in last place is left as it is: where it lies counts, not where it leads."""
    text = os.path.expanduser(_checked(path)).rstrip("/") or "/"
    folder, name = os.path.split(text)
    if not name or name in (".", ".."):
        return resolve(root, text)
    return resolve(root, folder or ".") / name


def _checked(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not text or "\0" in text:
        raise WorkspaceRefused(
            "outside", "A path cannot be empty or hold a NUL character. Give a path inside the root."
        )
    if len(os.fsencode(text)) > 4096 or any(len(os.fsencode(part)) > 255 for part in text.split("/")):
        raise WorkspaceRefused("outside", f"The path {text[:80]}… is longer than a path can be. Give a shorter one.")
    return text


def _realpath(root: Path, text: str) -> Path:
    try:
        return Path(os.path.realpath(root / os.path.expanduser(text)))
    except OSError as error:
        raise WorkspaceRefused("missing", f"{text} cannot be resolved ({error.strerror}). Check the path.") from None


def is_inside(root: Path, path: Path) -> bool:
    """Whether `path` is `root` or beneath it, both real; on Windows without regard to case."""
    return Path(os.path.normcase(path)).is_relative_to(os.path.normcase(root))


@contextmanager
def open_folder(root: Path, folder: Path) -> Iterator[int | None]:
    """A descriptor of `folder`, reached from `root` link by link without following any; None without such calls.

    Raises FileNotFoundError or NotADirectoryError, and WorkspaceRefused("outside") when a link took a folder's place.
    """
    if not _HAS_DIR_FD:
        yield None
        return
    descriptor = os.open(root, _WALK)
    try:
        for part in folder.relative_to(root).parts:
            try:
                below = os.open(part, _WALK, dir_fd=descriptor)
            except OSError as error:
                if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(part, descriptor)):
                    raise WorkspaceRefused(
                        "outside", f"{folder} became a link meanwhile. Look again where it leads."
                    ) from None
                raise
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _is_link(name: str, folder: int) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


@contextmanager
def open_regular(root: Path, real: Path) -> Iterator[int]:
    """A descriptor of the regular file at `real` (from `resolve`), opened for reading; it never blocks.

    Raises WorkspaceRefused: `missing`, `not_regular` (folder, FIFO, socket, device, a file of /proc or /sys),
    `outside` (a link took its place), `not_readable`.
    """
    if real == root:
        raise _is_folder(real)
    try:
        with open_folder(root, real.parent) as folder:
            place = real.name if folder is not None else str(real)
            # Opening a device can have effects of its own, so its kind is asked first and checked again once open.
            _check_regular(os.stat(place, dir_fd=folder, follow_symlinks=False), real)
            descriptor = os.open(place, _READ, dir_fd=folder)
    except OSError as error:
        raise _refusal(error, real) from None
    try:
        _check_regular(os.fstat(descriptor), real)
        yield descriptor
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, limit: int, name: str) -> bytes:
    """All bytes of an open file. Raises WorkspaceRefused("too_large") beyond `limit`, without reading on."""
    chunks: list[bytes] = []
    size = 0
    while size <= limit:
        chunk = os.read(descriptor, min(_CHUNK, limit + 1 - size))
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
    raise WorkspaceRefused(
        "too_large", f"{name} is larger than {limit:,} bytes. Read a part of it with run_bash (head, tail, sed -n)."
    )


def _check_regular(state: os.stat_result, real: Path) -> None:
    if stat.S_ISLNK(state.st_mode):
        raise WorkspaceRefused("outside", f"{real} became a link meanwhile. Look again where it leads.")
    if stat.S_ISDIR(state.st_mode):
        raise _is_folder(real)
    if not stat.S_ISREG(state.st_mode):
        kind = next((name for test, name in _KINDS if test(state.st_mode)), "no regular file")
        raise WorkspaceRefused("not_regular", f"{real} is {kind}, not a regular file; it cannot be read or edited.")
    if state.st_dev in _kernel_devices():
        raise WorkspaceRefused(
            "not_regular", f"{real} belongs to the operating system's kernel. Use run_bash to see it."
        )


def _is_folder(real: Path) -> WorkspaceRefused:
    return WorkspaceRefused("not_regular", f"{real} is a folder. Use find_files to see what is in it.")


_KINDS = (
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _kernel_devices() -> set[int]:
    """Device numbers of /proc and /sys, whose files look regular and can be endless or block."""
    devices = set()
    if sys.platform == "linux":
        for place in ("/proc", "/sys"):
            with suppress(OSError):
                devices.add(os.stat(place).st_dev)
    return devices


def _refusal(error: OSError, real: Path) -> WorkspaceRefused:
    if isinstance(error, FileNotFoundError):
        return WorkspaceRefused("missing", f"{real} does not exist. find_files searches for it by name.")
    if isinstance(error, NotADirectoryError):
        return WorkspaceRefused("missing", f"{real} does not exist: a part of its path is a file.")
    if error.errno == errno.ELOOP:
        return WorkspaceRefused("outside", f"{real} is a link that leads in a circle or was swapped in meanwhile.")
    if error.errno == errno.ENXIO:
        return WorkspaceRefused("not_regular", f"{real} is a socket or device; it cannot be read or edited.")
    return WorkspaceRefused("not_readable", f"{real} cannot be read ({error.strerror}). Check its permissions.")
