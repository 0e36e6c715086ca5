"""Replacing a file is one step: compared, whole, durable, through links, and harmless when refused."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from pathlib import Path

import pytest

from jupyter_agent.atomic import replace_file
from jupyter_agent.errors import Stale, WorkspaceRefused


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_replaces_content_and_returns_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    assert replace_file(path, b"new", expected_sha256=sha(b"old")) == sha(b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_another_content_than_expected_is_stale_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"the user's")
    with pytest.raises(Stale, match="changed since"):
        replace_file(path, b"new", expected_sha256=sha(b"old"))
    with pytest.raises(Stale, match="exists by now"):
        replace_file(path, b"new", expected_sha256="")
    assert path.read_bytes() == b"the user's"
    path.unlink()
    with pytest.raises(Stale, match="deleted or moved"):
        replace_file(path, b"new", expected_sha256=sha(b"old"))
    assert list(tmp_path.iterdir()) == []


def test_mode_and_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    try:
        os.setxattr(path, "user.origin", b"here")
        has_attributes = True
    except (OSError, AttributeError):
        has_attributes = False
    replace_file(path, b"new", expected_sha256=None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    if has_attributes:
        assert os.getxattr(path, "user.origin") == b"here"


def test_new_file_obeys_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        replace_file(tmp_path / "new", b"x", expected_sha256="")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_links_are_written_through(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    real = tmp_path / "deep" / "real.txt"
    real.write_bytes(b"old")
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    replace_file(link, b"new", expected_sha256=sha(b"old"))
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_outside_the_given_folder_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "data"
    sibling = tmp_path / "data2"
    root.mkdir()
    sibling.mkdir()
    (sibling / "a").write_bytes(b"theirs")
    (root / "link").symlink_to(sibling)
    for path in (sibling / "a", root / "link" / "a", root / ".." / "data2" / "a"):
        with pytest.raises(WorkspaceRefused) as refused:
            replace_file(path, b"x", expected_sha256=None, inside=root)
        assert refused.value.kind == "outside"
    assert (sibling / "a").read_bytes() == b"theirs"
    replace_file(root / "b", b"x", expected_sha256="", inside=root)
    assert (root / "b").read_bytes() == b"x"


def test_folder_pipe_and_missing_parent_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in (
        (tmp_path, "not_regular"),
        (tmp_path / "pipe", "not_regular"),
        (tmp_path / "no" / "a", "missing"),
    ):
        with pytest.raises(WorkspaceRefused) as refused:
            replace_file(path, b"x", expected_sha256=None)
        assert refused.value.kind == kind


def test_leftover_of_a_killed_writer_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    child = os.fork()
    if child == 0:
        # Dies by SIGKILL between the temporary file and the rename.
        os.replace = lambda *a, **k: os.kill(os.getpid(), 9)  # type: ignore[assignment]
        replace_file(path, b"never", expected_sha256=None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    replace_file(path, b"new", expected_sha256=sha(b"old"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_bytes() == b"new"


def test_threads_comparing_and_swapping_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_bytes(b"0")

    def add(times: int) -> None:
        while times:
            seen = path.read_bytes()
            try:
                replace_file(path, str(int(seen) + 1).encode(), expected_sha256=sha(seen))
                times -= 1
            except Stale:
                pass

    threads = [threading.Thread(target=add, args=(10,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == b"40"
