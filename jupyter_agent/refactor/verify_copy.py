"""A copy of a notebook's surroundings to run it in, so that nothing it writes lands among the person's files.

Touches only the temporary folder it makes. Large or many files are linked instead of copied; those linked singly are
looked at afterwards, and a change is reported.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

FILE_LIMIT = 50_000_000
"""Bytes: a larger file is linked."""

TOTAL_LIMIT = 200_000_000
"""Bytes copied in all; what comes after is linked. The notebook's own folder comes first, deep folders last."""

COUNT_LIMIT = 2_000
"""Files copied in all."""

CHUNK = 1 << 20
"""Bytes copied at a time."""

Window = tuple[float, float]
"""Begin and end, in seconds since the epoch."""

COARSE_CLOCK = 0.05
"""Seconds by which a file's time may lie beside the clock's: file systems take the time of the last tick."""

PROJECT_MARKS = (".git", "pyproject.toml", "setup.py")
LEFT_OUT = frozenset(
    {
        *(".git", ".hg", ".svn", "__pycache__", ".ipynb_checkpoints"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"),
    }
)
LINKED = frozenset({"node_modules", ".venv", "venv", "env", ".tox", ".nox"})


@dataclass
class FolderCopy:
    """`top` stands for the person's `original`, `cwd` for the notebook's folder; `links` holds (size, mtime in ns)."""

    cwd: Path
    top: Path
    original: Path
    links: dict[Path, tuple[int, int]] = field(default_factory=dict)
    linked_folders: list[Path] = field(default_factory=list)
    without: Collection[Path] = ()
    count: int = 0
    size: int = 0
    closed: bool = False
    busy: threading.Lock = field(default_factory=threading.Lock)

    def complete(self) -> None:
        """Copy what of the project lies around the notebook's folder; to be called once. Blocks: use a thread."""
        folder = self.original / self.cwd.relative_to(self.top)
        if folder != self.original:
            with self.busy:
                _fill(self, self.original, self.top, filled=folder)

    def close(self) -> None:
        """End `complete`, should it still be at work."""
        self.closed = True
        with self.busy:
            pass

    def takes(self, size: int) -> bool:
        return size <= FILE_LIMIT and self.size + size <= TOTAL_LIMIT and self.count < COUNT_LIMIT

    def written_through(self) -> list[Path]:
        """Files of the person's that changed since they were linked."""
        return [path for path, before in self.links.items() if _stamp(path) != before]

    def restored(self, text: str) -> str:
        """`text` with the copy's path replaced by the original's."""
        return text.replace(str(self.top), str(self.original))


@contextmanager
def folder_copy(
    folder: Path | None, *, files: Mapping[str, bytes] | None = None, without: Collection[Path] = (), above: int = 0
) -> Iterator[FolderCopy]:
    """Copy `folder` (None: an empty one) and remove the copy at the end; `complete` adds the project around it.

    The project is the nearest folder above that holds one of `PROJECT_MARKS`, so that `../data` resolves; else it is
    `folder` itself, or what lies `above` it by so many levels. `files` (path relative to `folder` → content) are
    written into the copy, those `without` (real paths) are left out. Blocks: use a thread.
    """
    with tempfile.TemporaryDirectory(prefix="jupyter-agent-", ignore_cleanup_errors=True) as name:
        top = Path(os.path.realpath(name))
        if folder is None:
            copy = FolderCopy(top, top, Path("notebook"))
        else:
            folder = Path(os.path.realpath(folder))
            project = project_of(folder, above)
            target = top / (project.name or "root")
            copy = FolderCopy(target / folder.relative_to(project), target, project, without=without)
            copy.cwd.mkdir(parents=True)
            _fill(copy, folder, copy.cwd)
        for path, content in (files or {}).items():
            place = copy.cwd / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # a link here would lead to the person's own file
            place.write_bytes(content)
        try:
            yield copy
        finally:
            copy.close()


def project_of(folder: Path, above: int = 0) -> Path:
    """The folder to copy with a notebook in `folder`: the project's, else the one that many levels `above`; never the
    home or temporary folder or what lies above them."""
    closed = [Path(os.path.realpath(path)) for path in (Path.home(), tempfile.gettempdir())]
    highest = folder
    for level, candidate in enumerate((folder, *folder.parents)):
        if any(candidate == each or candidate in each.parents for each in closed):
            break
        if any((candidate / mark).exists() for mark in PROJECT_MARKS):
            return candidate
        if level <= above:
            highest = candidate
    return highest


def written_in(notebook: Path | None, windows: Sequence[Window]) -> set[Path]:
    """Files around a notebook, itself aside, last written within one of the windows: what runs there left behind.

    Looks at `COUNT_LIMIT` files at most. Blocks: use a thread.
    """
    if notebook is None:
        return set()
    real = Path(os.path.realpath(notebook))
    found: set[Path] = set()
    pending, looked = [project_of(real.parent)], 0
    while pending and looked < COUNT_LIMIT:
        try:
            entries = list(os.scandir(pending.pop(0)))
        except OSError:
            continue
        for entry in entries:
            if entry.name in LEFT_OUT or entry.name in LINKED:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and entry.path != str(real):
                looked += 1
                with suppress(OSError):
                    written = entry.stat(follow_symlinks=False).st_mtime
                    if any(begin - COARSE_CLOCK <= written <= end + COARSE_CLOCK for begin, end in windows):
                        found.add(Path(entry.path))
    return found


def _fill(copy: FolderCopy, source: Path, target: Path, *, filled: Path | None = None) -> None:
    """Mirror `source` into `target`, breadth first; `filled` is a folder below that is there already."""
    skipped = {str(path) for path in copy.without} | ({str(filled)} if filled is not None else set())
    above_filled = {str(path) for path in filled.parents} if filled is not None else set()
    pending = [(str(source), str(target))]
    while pending:
        here, there = pending.pop(0)
        try:
            entries = sorted(os.scandir(here), key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name))
        except OSError:
            continue
        for entry in entries:
            if copy.closed:
                return
            if entry.name in LEFT_OUT or entry.path in skipped:
                continue
            place = os.path.join(there, entry.name)
            with suppress(OSError):
                if entry.is_symlink():
                    _copy_link(Path(entry.path), Path(place), source)
                elif entry.is_dir(follow_symlinks=False):
                    if entry.path in above_filled:
                        pending.append((entry.path, place))
                    elif entry.name in LINKED or not copy.takes(0):
                        copy.linked_folders.append(Path(entry.path))
                        os.symlink(entry.path, place, target_is_directory=True)
                    else:
                        os.mkdir(place)
                        pending.append((entry.path, place))
                elif entry.is_file(follow_symlinks=False):
                    _copy_file(copy, entry, place)


def _copy_file(copy: FolderCopy, entry: os.DirEntry[str], place: str) -> None:
    status = entry.stat(follow_symlinks=False)
    if copy.takes(status.st_size):
        copy.count += 1
        copy.size += status.st_size
        _copy_content(entry.path, place, status)
    else:
        copy.links[Path(entry.path)] = (status.st_size, status.st_mtime_ns)
        os.symlink(entry.path, place)


def _copy_content(path: str, place: str, status: os.stat_result) -> None:
    """Content, permissions (as far as the umask allows) and times: a third of the time that `shutil.copy2` takes, which
    matters where a project has a thousand files."""
    flags = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    reading = os.open(path, os.O_RDONLY | flags)
    try:
        writing = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, stat.S_IMODE(status.st_mode))
        try:
            while data := os.read(reading, CHUNK):
                while data:
                    data = data[os.write(writing, data) :]
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_link(path: Path, place: Path, source: Path) -> None:
    """A link that stays inside the copied folder is copied as it is; any other leads to where it led."""
    target = os.readlink(path)
    real = Path(os.path.realpath(path))
    if os.path.isabs(target) or not real.is_relative_to(source):
        target = str(real)
    place.symlink_to(target)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
