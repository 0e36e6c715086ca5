"""Writes, deletions and moves: described first, granted, then one step on disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.effect import content_hash
from jupyter_agent.errors import NotGranted, Stale, WorkspaceRefused
from jupyter_agent.testing.effects import commit, grant
from jupyter_agent.workspace import Workspace
from jupyter_agent.workspace.writing import diff_lines


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.py").write_text("a = 1\nb = 2\n")
    return Workspace(tmp_path)


async def test_nothing_happens_before_the_commit_nor_without_a_grant(workspace: Workspace) -> None:
    effect = workspace.write("a.py", b"a = 2\nb = 2\n")
    assert effect.kind == "edit"
    assert effect.target == str(workspace.root / "a.py")
    assert effect.preview == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 2\n"
    assert effect.changes[0].pre_image == b"a = 1\nb = 2\n"
    with pytest.raises(NotGranted):
        await effect.commit()
    assert (workspace.root / "a.py").read_text() == "a = 1\nb = 2\n"
    written = await commit(effect)
    assert (workspace.root / "a.py").read_bytes() == b"a = 2\nb = 2\n"
    assert written.sha256 == content_hash(b"a = 2\nb = 2\n")


async def test_a_new_file_makes_its_folders_only_on_commit(workspace: Workspace) -> None:
    effect = workspace.write("new/deep/c.py", b"c = 3\n", expected="")
    assert not (workspace.root / "new").exists()
    await commit(effect)
    assert (workspace.root / "new" / "deep" / "c.py").read_bytes() == b"c = 3\n"
    assert [p.name for p in (workspace.root / "new" / "deep").iterdir()] == ["c.py"]


async def test_a_failed_creation_leaves_no_folders(workspace: Workspace) -> None:
    effect = grant(workspace.write("new/deep/c.py", b"c = 3\n"))
    (workspace.root / "new").write_text("in the way")
    with pytest.raises(WorkspaceRefused):
        await effect.commit()
    assert (workspace.root / "new").read_text() == "in the way"


@pytest.mark.parametrize(
    ("name", "expected", "kind"),
    [("a.py", "", "exists"), ("a.py", content_hash(b"other"), "changed"), ("gone.py", content_hash(b"x"), "missing")],
)
def test_another_content_than_the_change_was_made_from(
    workspace: Workspace, name: str, expected: str, kind: str
) -> None:
    with pytest.raises(WorkspaceRefused) as caught:
        workspace.write(name, b"new", expected=expected)
    assert caught.value.kind == kind


async def test_mode_is_kept_and_links_inside_are_written_through(workspace: Workspace) -> None:
    (workspace.root / "a.py").chmod(0o755)
    (workspace.root / "link").symlink_to("a.py")
    effect = workspace.write("link", b"new\n")
    assert "link is a link to a.py" in effect.preview
    await commit(effect)
    assert (workspace.root / "link").is_symlink()
    assert (workspace.root / "a.py").read_bytes() == b"new\n"
    assert stat.S_IMODE((workspace.root / "a.py").stat().st_mode) == 0o755


async def test_a_hard_link_is_noted_and_its_other_name_keeps_the_old_bytes(workspace: Workspace) -> None:
    os.link(workspace.root / "a.py", workspace.root / "other.py")
    effect = workspace.write("a.py", b"new\n")
    assert "2 names (hard links)" in effect.preview
    await commit(effect)
    assert (workspace.root / "other.py").read_text() == "a = 1\nb = 2\n"


async def test_delete_and_its_pre_image(workspace: Workspace) -> None:
    effect = workspace.delete("a.py")
    assert effect.changes[0].pre_image == b"a = 1\nb = 2\n"
    assert "-a = 1" in effect.preview
    written = await commit(effect)
    assert written.sha256 == ""
    assert list(workspace.root.iterdir()) == []


async def test_delete_of_a_file_that_changed_meanwhile_is_stale(workspace: Workspace) -> None:
    effect = grant(workspace.delete("a.py"))
    (workspace.root / "a.py").write_text("the user's")
    with pytest.raises(Stale):
        await effect.commit()
    assert (workspace.root / "a.py").read_text() == "the user's"


async def test_move_to_a_new_folder(workspace: Workspace) -> None:
    effect = workspace.move("a.py", "pkg/sub/b.py")
    assert "rename to pkg/sub/b.py" in effect.preview
    await commit(effect)
    assert not (workspace.root / "a.py").exists()
    assert (workspace.root / "pkg" / "sub" / "b.py").read_text() == "a = 1\nb = 2\n"


async def test_move_never_replaces_a_file(workspace: Workspace) -> None:
    effect = grant(workspace.move("a.py", "b.py"))
    (workspace.root / "b.py").write_text("the user's")
    with pytest.raises(Stale, match="exists by now"):
        await effect.commit()
    assert (workspace.root / "b.py").read_text() == "the user's"
    assert (workspace.root / "a.py").read_text() == "a = 1\nb = 2\n"
    with pytest.raises(WorkspaceRefused) as caught:
        workspace.move("a.py", "b.py")
    assert caught.value.kind == "exists"


@pytest.mark.parametrize("operation", ["delete", "move"])
def test_links_and_folders_are_neither_deleted_nor_moved(workspace: Workspace, operation: str) -> None:
    (workspace.root / "link").symlink_to("a.py")
    (workspace.root / "folder").mkdir()
    for name in ("link", "folder"):
        with pytest.raises(WorkspaceRefused) as caught:
            workspace.delete(name) if operation == "delete" else workspace.move(name, "elsewhere")
        assert caught.value.kind == "not_regular"


async def test_binary_changes_are_described_by_size(workspace: Workspace) -> None:
    (workspace.root / "x.bin").write_bytes(b"\0" * 10)
    effect = workspace.write("x.bin", b"\0" * 20)
    assert effect.preview == "binary file x.bin: 10 bytes → 20 bytes\n"
    await commit(effect)


lines = st.lists(st.sampled_from(["a", "b", "", "long line"]), max_size=25).map("\n".join)


@given(lines, lines)
def test_a_diff_applies(before: str, after: str) -> None:
    """Applying the diff by hand turns one text into the other: line numbers and contents are right."""
    assert _apply(before, diff_lines(before, after, "x")) == after


def _apply(text: str, diff: str) -> str:
    import re

    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    result: list[str] = []
    position = 0
    diff_lines = re.findall(r"[^\n]*\n", diff)[2:]
    for number, line in enumerate(diff_lines):
        if header := re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(header[1]) - (0 if header[2] == "0" else 1)
            result += old[position:start]
            position = start
            continue
        unterminated = number + 1 < len(diff_lines) and diff_lines[number + 1].startswith("\\")
        body = line[1:-1] if unterminated else line[1:]
        if line[0] in " -":
            assert old[position] == body
            position += 1
        if line[0] in " +":
            result.append(body)
    return "".join([*result, *old[position:]])


def test_a_one_line_change_in_a_huge_file_is_described_at_once() -> None:
    before = "".join(f"line {n % 1000}\n" for n in range(400_000))
    after = before.replace("line 7\n", "line seven\n", 1)
    diff = diff_lines(before, after, "x")
    assert diff.splitlines()[2] == "@@ -5,7 +5,7 @@"
    assert len(diff.splitlines()) == 11


def test_only_newlines_end_a_line_of_a_diff() -> None:
    diff = diff_lines("a\x0cb\rc\u2028d\n", "a\x0cb\rc\u2028e\n", "x")
    assert diff == "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x0cb\rc\u2028d\n+a\x0cb\rc\u2028e\n"
