"""Paths stay inside the root, whatever links, names and races lead out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.workspace import Workspace
from jupyter_agent.workspace.paths import open_regular, resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n")
    return folder


def test_relative_absolute_and_dotted_paths_name_the_same_file(root: Path) -> None:
    workspace = Workspace(root)
    real = root / "src" / "a.py"
    for path in ("src/a.py", "./src//a.py", "src/../src/a.py", str(real), real):
        assert workspace.resolve(path) == real
    assert workspace.relative(real) == "src/a.py"


def test_links_inside_the_root_are_followed(root: Path) -> None:
    (root / "link.py").symlink_to("src/a.py")
    (root / "folder").symlink_to("src")
    workspace = Workspace(root)
    assert workspace.read("link.py").path == root / "src" / "a.py"
    assert workspace.read("folder/a.py").data == b"a = 1\n"


def test_the_root_itself_may_be_reached_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    workspace = Workspace(tmp_path / "alias")
    assert workspace.root == root
    assert workspace.read(tmp_path / "alias" / "src" / "a.py").data == b"a = 1\n"


def test_a_link_swapped_in_after_the_check_is_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("secret")
    real = resolve(root, "src/a.py")
    (root / "src").rename(root / "kept")
    (root / "src").symlink_to(outside)
    with pytest.raises(WorkspaceRefused) as caught, open_regular(root, real):
        pass
    assert caught.value.kind == "outside"
    (root / "src").unlink()
    (root / "kept").rename(root / "src")
    (root / "src" / "a.py").unlink()
    (root / "src" / "a.py").symlink_to(outside / "a.py")
    with pytest.raises(WorkspaceRefused) as caught, open_regular(root, real):
        pass
    assert caught.value.kind == "outside"


def test_a_circle_of_links_is_refused(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    with pytest.raises(WorkspaceRefused):
        Workspace(root).read("one")


def test_a_root_that_is_no_folder_is_refused_with_advice(root: Path) -> None:
    with pytest.raises(WorkspaceRefused, match="not a folder"):
        Workspace(root / "src" / "a.py")


@pytest.mark.parametrize("path", ["missing.py", "src/a.py/below", "src/missing/a.py"])
def test_what_does_not_exist_is_missing(root: Path, path: str) -> None:
    with pytest.raises(WorkspaceRefused) as caught:
        Workspace(root).read(path)
    assert caught.value.kind == "missing"


def test_a_folder_is_not_read_as_a_file(root: Path) -> None:
    with pytest.raises(WorkspaceRefused, match="folder"):
        Workspace(root).read("src")


def test_a_file_larger_than_the_limit_is_refused_and_not_read_on(root: Path) -> None:
    path = root / "huge.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceRefused) as caught:
        Workspace(root).read("huge.bin", limit=1000)
    assert caught.value.kind == "too_large"


def test_bytes_that_are_not_utf8_survive_as_text(root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    content = Workspace(root).read("latin.txt")
    assert content.text.encode("utf-8", "surrogateescape") == b"caf\xe9\n"
    assert not content.binary


def test_hard_links_are_noted(root: Path) -> None:
    os.link(root / "src" / "a.py", root / "same.py")
    assert Workspace(root).read("same.py").links == 2


def test_odd_names_are_names(root: Path) -> None:
    for name in ("with space", "quote'\".py", "línea", "-rf", "new\nline", os.fsdecode(b"caf\xe9")):
        (root / name).write_text(name, errors="surrogateescape")
        assert Workspace(root).read(name).path.name == name
