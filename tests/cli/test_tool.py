"""Single tool calls as processes: results that are paged, kernels that end with the call, kernels that stay."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conversations import notebook_file
from program import run_program

Json = dict[str, Any]

SLOW = (
    "import time, pathlib\nprint('began')\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.05)\nprint('ended')"
)
"""Runs until the test lets it go, so that no time is guessed."""


def tool(name: str, notebook: Path, *options: str, **arguments: Any) -> tuple[int, Json]:
    given = [json.dumps(arguments), "--notebook", notebook.name, "--mode", "accept-edits", "--json", *options]
    done = run_program("tool", name, *given, cwd=notebook.parent)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def text_of(result: Json) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def printed(notebook: Path, cell: int) -> str:
    outputs = json.loads(notebook.read_text())["cells"][cell]["outputs"]
    return "".join("".join(output["text"]) for output in outputs)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[str]:
    """The connection file of a kernel that somebody else started."""
    file = tmp_path / "kernel.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "ipykernel_launcher", "-f", str(file)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield str(file)
    process.kill()
    process.wait()


def test_what_was_cut_is_paged_through_by_its_handle(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "for i in range(3000):\n    print(f'line {i} ü', 'x' * 20)")
    code, result = tool("run_cells", notebook, "--conversation", "paging", cells="all")
    assert code == 0
    assert len(text_of(result).encode()) <= 16_000
    handle = result["details"]["handle"]
    assert result["details"]["cells"][0]["handle"] == handle
    assert f'read_output(handle="{handle}")' in text_of(result)
    assert "read_output(cell='c1')" in text_of(result)
    pages, offset = [], 0
    while offset is not None:
        code, page = tool(
            "read_output", notebook, "--conversation", "paging", handle=handle, offset=offset, limit=50_000
        )
        assert code == 0
        pages.append(text_of(page).split("\n", 1)[1])
        offset = page["details"]["next"]
    assert "".join(pages).rstrip("\n") == "\n".join(f"line {i} ü {'x' * 20}" for i in range(3000))
    code, shown = tool("read_cells", notebook, "--conversation", "paging", cells=["c1"], outputs="full")
    assert shown["details"]["handle"] not in (None, handle)


def test_many_cells_stay_within_the_budget(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", *[f"print({i}, 'x' * 300)" for i in range(120)])
    code, result = tool("run_cells", notebook, cells="all")
    assert code == 0
    assert len(text_of(result).encode()) <= 16_000
    assert "80 more cells ran here" in text_of(result)
    assert len(result["details"]["cells"]) == 120


def test_a_cell_does_not_outlive_a_kernel_of_the_calls_own(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", SLOW)
    code, result = tool("run_cells", notebook, cells="all", timeout=1)
    first = text_of(result).split("\n", 1)[0]
    assert code == 0
    assert first.startswith("running cell c1 for ")
    assert "ended with this call" in first
    assert "--kernel" in first
    assert printed(notebook, 0) == "began\n"


def test_a_cell_runs_on_in_a_kernel_that_stays_and_is_waited_for(tmp_path: Path, kernel: str) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", SLOW)
    options = ("--kernel", kernel, "--conversation", "long")
    code, result = tool("run_cells", notebook, *options, cells="all", timeout=1)
    assert code == 0
    assert text_of(result).startswith("running cell c1 for ")
    assert "outputs go on into the notebook" in text_of(result)
    code, state = tool("control_kernel", notebook, *options, action="status")
    assert state["details"]["kernel"]["status"] == "busy"
    code, waited = tool("control_kernel", notebook, *options, action="wait", timeout=1)
    assert text_of(waited).startswith("running: ")
    (tmp_path / "go").touch()
    code, waited = tool("control_kernel", notebook, *options, action="wait", timeout=60)
    assert code == 0
    assert text_of(waited).startswith("ok idle: ")
    deadline = time.monotonic() + 30
    while printed(notebook, 0) != "began\nended\n" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert printed(notebook, 0) == "began\nended\n"


def test_a_refusal_on_a_kernel_that_stays_has_its_exit_code(tmp_path: Path, kernel: str) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "1")
    given = ('{"cells": "all"}', "--notebook", "a.ipynb", "--kernel", kernel)
    done = run_program("tool", "run_cells", *given, cwd=tmp_path)
    assert done.returncode == 3
    assert "needs approval" in done.stdout
    assert printed(notebook, 0) == ""


def test_a_connection_file_of_a_kernel_that_has_ended(tmp_path: Path, kernel: str) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    code, result = tool("run_cells", notebook, "--kernel", kernel, cells="all")
    assert code == 1
    assert text_of(result).startswith("error: KernelDied")
    code, result = tool("control_kernel", notebook, "--kernel", kernel, action="status")
    assert code == 1
    assert "has ended: nothing listens at its ports" in text_of(result)


def test_ctrl_c_interrupts_the_cell_in_a_kernel_that_stays(tmp_path: Path, kernel: str) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", SLOW)
    command = [sys.executable, "-m", "jupyter_agent", "tool", "run_cells", '{"cells": "all"}', "--notebook", "a.ipynb"]
    with subprocess.Popen(
        [*command, "--mode", "accept-edits", "--json", "--kernel", kernel],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while printed(notebook, 0) != "began\n" and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    _, state = tool("control_kernel", notebook, "--kernel", kernel, action="status")
    assert state["details"]["kernel"]["status"] == "idle"


def test_options_may_stand_between_the_arguments(tmp_path: Path) -> None:
    notebook_file(tmp_path / "a.ipynb", "x = 1")
    middle = run_program("tool", "read_cells", "--notebook", "a.ipynb", '{"cells": "all"}', cwd=tmp_path)
    assert (middle.returncode, middle.stderr) == (0, "")
    assert "x = 1" in middle.stdout
    dry = run_program("refactor", "strip-outputs", "--no-verify", "a.ipynb", cwd=tmp_path)
    assert "a.ipynb" in dry.stdout
    alone = run_program("refactor", "strip-outputs", cwd=tmp_path)
    assert "strip-outputs: " in alone.stderr
