"""A command that is ended does not go on with its next part, whatever dies first."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_agent.shell.processes import Tracker


class Slowly(list[int]):
    """Process ids with a pause behind each, in which the next one could go on."""

    def __iter__(self) -> Iterator[int]:
        for pid in super().__iter__():
            yield pid
            time.sleep(0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc for the child")
def test_a_shell_whose_child_gets_the_signal_first_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["bash", "-c", "sleep 60; touch reached"]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as shell:
        children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
        deadline = time.monotonic() + 20
        while not children.read_text().split():
            assert time.monotonic() < deadline
        child = int(children.read_text().split()[0])
        tracker = Tracker(shell.pid, "no-mark")
        monkeypatch.setattr(tracker, "find", lambda: Slowly([child, shell.pid]))
        tracker.signal(signal.SIGTERM)
        assert shell.wait(20) == -signal.SIGTERM
    assert not (tmp_path / "reached").exists()
