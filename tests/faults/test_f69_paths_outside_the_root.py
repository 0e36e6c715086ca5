"""f69: a sibling with the root's name as prefix, `..`, NUL and absolute paths do not lead out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.tools import all_tools
from jupyter_agent.workspace import Workspace

OUTSIDE = [
    "../data2/x.txt",
    "{parent}/data2/x.txt",
    "../data2",
    "..",
    "../",
    "sub/../../data2/x.txt",
    "sub/../../x.txt",
    "../data/../data2/x.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "~/.bashrc",
    "~root/x",
    "../data2/x.txt\0.py",
    "a\0b",
    "",
    "./../../../../../../etc/passwd",
    "sub/" + "../" * 40 + "etc/passwd",
    "a" * 5000,
]


OPERATIONS: dict[str, Callable[[Workspace, str], object]] = {
    "read": lambda workspace, path: workspace.read(path),
    "write": lambda workspace, path: workspace.write(path, b"agent"),
    "delete": lambda workspace, path: workspace.delete(path),
    "move": lambda workspace, path: workspace.move("own.txt", path),
}


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: repr(path[:40]))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_f69_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, operation: str) -> None:
    home = tmp_path / "home"
    for folder in (home, tmp_path / "data" / "sub", tmp_path / "data2"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("data2/x.txt", "x.txt", "home/.bashrc"):
        (tmp_path / name).write_text("outside")
    (tmp_path / "data" / "own.txt").write_text("own")
    workspace = Workspace(tmp_path / "data")
    path = path.replace("{parent}", str(tmp_path))
    with pytest.raises(WorkspaceRefused):
        OPERATIONS[operation](workspace, path)


@pytest.mark.parametrize("path", [path for path in OUTSIDE if path], ids=lambda path: repr(path[:40]))
async def test_f69_every_tool_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    home = tmp_path / "home"
    for folder in (home, tmp_path / "data" / "sub", tmp_path / "data2"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("data2/x.txt", "x.txt", "home/.bashrc"):
        (tmp_path / name).write_text("outside")
    path = path.replace("{parent}", str(tmp_path))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {}),
        ("edit_file", {"blocks": [{"search": "outside", "replace": "agent"}]}),
        ("write_file", {"content": "agent", "percentage_to_change": 100}),
        ("search_code", {"pattern": "outside"}),
        ("find_files", {"query": "x"}),
    ]
    async with conversation_on(tmp_path / "data", all_tools(), folder=tmp_path / "c") as conversation:
        for tool, arguments in calls:
            result = await call(conversation, tool, path=path, **arguments)
            assert result.details["refused"]["kind"] in ("outside", "missing"), tool
    assert (tmp_path / "data2" / "x.txt").read_text() == "outside"


def test_f69_names_that_only_look_dangerous_are_inside(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for path in ("..x", "...", "a..b/c", "~x/y", "C:\\x", "sub/./../own"):
        assert workspace.resolve(path).is_relative_to(tmp_path)
