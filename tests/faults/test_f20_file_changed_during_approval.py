"""f20: what a person changes while the question is open is kept, and the approved change is refused as stale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import Stale
from jupyter_agent.testing.approvals import yes_after
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.effects import grant
from jupyter_agent.tools import all_tools
from jupyter_agent.workspace import Workspace


@pytest.mark.parametrize("theirs", [b"the user's\n", b"old\n\n", None])
async def test_f20_file_changed_during_approval_is_refused(tmp_path: Path, theirs: bytes | None) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old\n")
    effect = grant(Workspace(tmp_path).write("a.txt", b"agent's\n"))
    path.unlink() if theirs is None else path.write_bytes(theirs)
    with pytest.raises(Stale):
        await effect.commit()
    assert (path.read_bytes() if path.exists() else None) == theirs


async def test_f20_file_created_during_approval_is_kept(tmp_path: Path) -> None:
    effect = grant(Workspace(tmp_path).write("a.txt", b"agent's\n"))
    (tmp_path / "a.txt").write_bytes(b"the user's\n")
    with pytest.raises(Stale):
        await effect.commit()
    assert (tmp_path / "a.txt").read_bytes() == b"the user's\n"


async def test_f20_a_link_swapped_in_during_approval_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_bytes(b"old\n")
    (root / "a.txt").write_bytes(b"old\n")
    effect = grant(Workspace(root).write("a.txt", b"agent's\n"))
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(outside)
    with pytest.raises(Exception, match=r"link|changed"):
        await effect.commit()
    assert outside.read_bytes() == b"old\n"


async def test_f20_an_approval_does_not_cover_another_text(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"old\n")
    assert workspace.write("a.txt", b"one\n").digest != workspace.write("a.txt", b"two\n").digest


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"blocks": [{"search": "old", "replace": "agent's"}]}),
        ("write_file", {"content": "agent's\n", "percentage_to_change": 100}),
    ],
)
async def test_f20_the_tools_refuse_what_changed_while_the_question_was_open(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.txt"
    path.write_text("old\n")
    person = yes_after(lambda: path.write_text("old\nthe user's\n"))
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", mode="review", asker=person) as conversation:
        result = await call(conversation, tool, path="a.txt", **arguments)
    assert result.details["refused"]["kind"] == "stale"
    assert "changed" in text_of(result)
    assert path.read_text() == "old\nthe user's\n"
