"""Atomic compare-and-swap replacement of one file: after a crash it holds the old bytes or the new, whole.

Touches the file, a temporary file beside it and an advisory lock on the folder; nothing else.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jupyter_agent.errors import Stale, WorkspaceRefused

LOCK_TIMEOUT = 10.0
"""Seconds to wait for another writer of ours in the same folder: an fsync of 100 MB takes some."""

_HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}


def replace_file(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    expected_sha256: str | None,
    inside: str | os.PathLike[str] | None = None,
    mode: int = 0o666,
) -> str:
    """Replace the file's content by `data` in one step and return the SHA-256 hex of `data`.

    `expected_sha256` is the hex digest the current content must have; `""`: no file may be there; None: no
    condition. `inside`: a folder whose real path must contain the folder written to, checked on the opened
    descriptor, so a link swapped in meanwhile cannot lead outside. Symbolic links are written through; an
    existing file keeps its mode, owner (where permitted) and extended attributes, a new one gets `mode` under
    the umask. The parent must exist. A hard link is detached from its other names.

    Raises Stale when the content is another one, and WorkspaceRefused: `outside`, `missing` (no parent),
    `not_regular`, `no_space`, `not_writable`, `busy` (another writer holds the folder). Then the old bytes
    are intact.
    """
    target = os.path.realpath(path)
    parent, name = os.path.split(target)
    try:
        with _open_folder(parent) as folder:
            if inside is not None:
                _check_inside(folder, parent, inside, target)
            with _folder_lock(folder, target) as locked:
                return _swap(folder, parent, name, target, data, expected_sha256, mode, locked)
    except FileNotFoundError:
        raise WorkspaceRefused("missing", f"{parent} is not a folder. Create it first.") from None
    except NotADirectoryError:
        raise WorkspaceRefused("missing", f"{parent} is not a folder. Choose another path.") from None
    except OSError as error:
        raise _refusal(error, target) from error


def _swap(
    folder: int | None,
    parent: str,
    name: str,
    target: str,
    data: bytes,
    expected: str | None,
    mode: int,
    locked: bool,
) -> str:
    old = _stat(folder, parent, name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise WorkspaceRefused("not_regular", f"{target} is not a regular file, so it cannot be written.")
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "not writable", target)
    if expected is not None:
        _compare(folder, parent, name, target, expected)
    temporary = _temporary_name(name, locked)
    try:
        _write_temporary(folder, parent, temporary, data, old, mode, target)
        if _identity(_stat(folder, parent, name)) != _identity(old):
            raise Stale(f"{target} changed while it was being written. Read it again and repeat the step.")
        os.replace(*(_at(folder, parent, part) for part in (temporary, name)), src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(_at(folder, parent, temporary), dir_fd=folder)
        raise
    if folder is not None:
        # The rename itself must survive a power cut; some file systems cannot sync a folder.
        with suppress(OSError):
            os.fsync(folder)
    return hashlib.sha256(data).hexdigest()


def _write_temporary(
    folder: int | None,
    parent: str,
    temporary: str,
    data: bytes,
    old: os.stat_result | None,
    mode: int,
    target: str,
) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flag("O_CLOEXEC") | _flag("O_NOFOLLOW") | _flag("O_BINARY")
    place = _at(folder, parent, temporary)
    # A temporary file never is more readable than the file it will replace.
    created_mode = mode if old is None else 0o600
    try:
        descriptor = os.open(place, flags, created_mode, dir_fd=folder)
    except FileExistsError:
        # Left behind by a writer that was killed: the name is this target's, and we hold the folder's lock.
        os.unlink(place, dir_fd=folder)
        descriptor = os.open(place, flags, created_mode, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if old is not None:
            _keep_attributes(descriptor, old, target)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_attributes(descriptor: int, old: os.stat_result, target: str) -> None:
    if hasattr(os, "fchown") and (old.st_uid != os.geteuid() or old.st_gid != os.getegid()):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    if sys.platform == "linux":
        with suppress(OSError):
            for attribute in os.listxattr(target):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(target, attribute))


def _compare(folder: int | None, parent: str, name: str, target: str, expected: str) -> None:
    flags = os.O_RDONLY | _flag("O_CLOEXEC") | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY")
    try:
        descriptor = os.open(_at(folder, parent, name), flags, dir_fd=folder)
    except FileNotFoundError:
        current = ""
    else:
        with open(descriptor, "rb") as stream:
            current = hashlib.file_digest(stream, "sha256").hexdigest()
    if current == expected:
        return
    if not expected:
        raise Stale(f"{target} exists by now. Read it first, or choose another name.")
    if not current:
        raise Stale(f"{target} was deleted or moved meanwhile. Check where it went and repeat the step.")
    raise Stale(f"{target} changed since it was read. Read it again and repeat the step.")


@contextmanager
def _open_folder(parent: str) -> Iterator[int | None]:
    """A descriptor of the folder, None where the platform has none: then full paths are used."""
    if not _HAS_DIR_FD:
        yield None
        return
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_inside(folder: int | None, parent: str, inside: str | os.PathLike[str], target: str) -> None:
    real = parent
    if folder is not None and sys.platform == "linux":
        real = os.readlink(f"/proc/self/fd/{folder}")
    elif folder is not None and not os.path.samestat(os.fstat(folder), os.stat(os.path.realpath(parent))):
        raise Stale(f"{target}: its folder was replaced meanwhile. Repeat the step.")
    if not Path(real).is_relative_to(os.path.realpath(inside)):
        raise WorkspaceRefused("outside", f"{target} is outside {os.fspath(inside)}. Choose a path inside it.")


@contextmanager
def _folder_lock(folder: int | None, target: str) -> Iterator[bool]:
    """Serialise our writers, threads and processes alike; yields False where the file system knows no locks.

    The lock is on the folder itself, so no lock file is left behind, and it dies with its holder.
    """
    if folder is None:
        yield False
        return
    import fcntl

    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"another process keeps the folder of {target} locked. Try again in a while."
                raise WorkspaceRefused("busy", message) from None
            time.sleep(0.005)
        except OSError:
            yield False
            return
    yield True


def _temporary_name(name: str, locked: bool) -> str:
    """One fixed name per target under the lock: a killed writer leaves one file, gone at the next write."""
    unique = "" if locked else f"-{os.urandom(6).hex()}"
    return f".jupyter-agent-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}{unique}.tmp"


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))


def _at(folder: int | None, parent: str, name: str) -> str:
    return name if folder is not None else os.path.join(parent, name)


def _stat(folder: int | None, parent: str, name: str) -> os.stat_result | None:
    try:
        return os.stat(_at(folder, parent, name), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _identity(state: os.stat_result | None) -> tuple[int, ...]:
    return () if state is None else (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def _refusal(error: OSError, target: str) -> WorkspaceRefused:
    if error.errno in _NO_SPACE:
        advice = "Free some space and repeat the step."
        return WorkspaceRefused("no_space", f"no space left to write {target}; it is as it was. {advice}")
    if error.errno in _NOT_WRITABLE:
        advice = "Change its permissions or choose another path."
        return WorkspaceRefused("not_writable", f"{target} is not writable for you. {advice}")
    reason = error.strerror or error.__class__.__name__
    return WorkspaceRefused("not_writable", f"{target} could not be written ({reason}); it is as it was.")
