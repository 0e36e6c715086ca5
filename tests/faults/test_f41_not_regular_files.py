"""f41: a FIFO, a socket, a device or a file of /proc is refused at once, never waited for."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.tools import all_tools, ripgrep
from jupyter_agent.workspace import Workspace


def _fifo(place: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))


def _device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _terminal(place: Path) -> None:
    place.symlink_to("/dev/tty")


def _proc(place: Path) -> None:
    place.symlink_to("/proc/kmsg")


@pytest.mark.parametrize("make", [_fifo, _socket, _device, _terminal, _proc], ids=lambda make: make.__name__)
@pytest.mark.parametrize("root", ["folder", "/"])
def test_f41_refused_at_once(tmp_path: Path, make: Callable[[Path], None], root: str) -> None:
    """With `/` as root the links lead inside, so that the kind of file decides, not the confinement."""
    place = tmp_path / "x"
    make(place)
    workspace = Workspace(tmp_path if root == "folder" else "/")
    for attempt in (lambda: workspace.read(place), lambda: workspace.write(place, b"x"), lambda: workspace.hash(place)):
        started = time.perf_counter()
        with pytest.raises(WorkspaceRefused) as caught:
            attempt()
        assert time.perf_counter() - started < 1
        assert caught.value.kind in ("not_regular", "outside")
        if root == "/":
            assert caught.value.kind == "not_regular"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/mem", "/proc/version"])
def test_f41_regular_looking_files_of_the_operating_system(path: str) -> None:
    with pytest.raises(WorkspaceRefused) as caught:
        Workspace("/").read(path)
    assert caught.value.kind == "not_regular"


@pytest.mark.parametrize("make", [_fifo, _socket, _device, _terminal, _proc], ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {}),
        ("edit_file", {"blocks": [{"search": "a", "replace": "b"}]}),
        ("write_file", {"content": "b", "percentage_to_change": 100}),
        ("search_code", {"pattern": "a"}),
        ("search_code", {"pattern": "a", "kind": "symbol"}),
        ("find_files", {"query": "a"}),
    ],
    ids=["read", "edit", "write", "search", "symbols", "find"],
)
async def test_f41_every_tool_refuses_at_once(
    tmp_path: Path, make: Callable[[Path], None], tool: str, arguments: dict[str, Any]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    make(root / "x.csv")
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        started = time.perf_counter()
        result = await call(conversation, tool, path="x.csv", **arguments)
        assert time.perf_counter() - started < 5
    assert result.details["refused"]["kind"] in ("not_regular", "outside", "missing")


@pytest.mark.parametrize("engine", ["ripgrep", "worker"])
async def test_f41_a_search_passes_them_by(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "worker":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
    root = tmp_path / "root"
    root.mkdir()
    for number, make in enumerate([_fifo, _socket, _device, _terminal, _proc]):
        make(root / f"{number}.py")
    (root / "a.py").write_text("def needle(): pass\n")
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        for kind in ("text", "symbol"):
            result = await call(conversation, "search_code", pattern="needle", kind=kind)
            assert [hit["path"] for hit in result.details["hits"]] == ["a.py"]
