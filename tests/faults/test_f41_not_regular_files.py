"""f41: a FIFO, a socket, a device or a file of /proc is refused at once, never waited for."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_agent.errors import WorkspaceRefused
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
