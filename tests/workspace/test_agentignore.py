"""`.agentignore` decides what is never read or changed, by gitignore's rules."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.workspace import Workspace

PATTERNS = "# private\n*.secret\n!keep.secret\n/data/\ndeep/**/x.txt\n\\#odd\n"
FILES = [
    "a.secret",
    "sub/b.secret",
    "keep.secret",
    "data/x.csv",
    "data/keep.secret",
    "other/data/y.csv",
    "deep/1/2/x.txt",
    "deep/x.txt",
    "deep/y.txt",
    "#odd",
    "plain.txt",
]


def make(root: Path) -> Path:
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / ".agentignore").write_text(PATTERNS)
    return root


@pytest.mark.parametrize("name", FILES)
def test_verdicts_are_those_of_git(tmp_path: Path, name: str) -> None:
    root = make(tmp_path)
    git_root = tmp_path / "git"
    subprocess.run(["git", "init", "-q", str(git_root)], check=True)
    (git_root / ".gitignore").write_text(PATTERNS)
    place = git_root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")
    ignored_by_git = subprocess.run(["git", "check-ignore", "-q", name], cwd=git_root, check=False).returncode == 0
    workspace = Workspace(root)
    assert workspace.ignored(root / name) == ignored_by_git
    if ignored_by_git:
        with pytest.raises(WorkspaceRefused) as caught:
            workspace.read(name)
        assert caught.value.kind == "ignored"
        with pytest.raises(WorkspaceRefused):
            workspace.write(name, b"")
    else:
        assert workspace.read(name).text == name


def test_a_link_to_an_ignored_file_is_ignored(tmp_path: Path) -> None:
    root = make(tmp_path)
    (root / "innocent.txt").symlink_to("a.secret")
    with pytest.raises(WorkspaceRefused) as caught:
        Workspace(root).read("innocent.txt")
    assert caught.value.kind == "ignored"


def test_a_file_in_a_folder_counts_beneath_it_and_is_read_again_when_it_changed(tmp_path: Path) -> None:
    root = make(tmp_path)
    workspace = Workspace(root)
    assert not workspace.ignored(root / "deep" / "y.txt")
    (root / "deep" / ".agentignore").write_text("y.txt\n")
    assert workspace.ignored(root / "deep" / "y.txt")
    assert not workspace.ignored(root / "plain.txt")
    (root / "deep" / ".agentignore").write_text("z.txt\n")
    os.utime(root / "deep" / ".agentignore", ns=(1, 1))
    assert not workspace.ignored(root / "deep" / "y.txt")


def test_an_agentignore_that_cannot_be_read_ignores_everything_beneath(tmp_path: Path) -> None:
    root = make(tmp_path)
    (root / "deep" / ".agentignore").mkdir()
    workspace = Workspace(root)
    assert workspace.ignored(root / "deep" / "y.txt")
    assert not workspace.ignored(root / "plain.txt")
