"""`jupyter agent verify` as a whole process: what reproduces, what differs, what is unproven, here and on a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversations import code_cell, notebook_file
from program import run_program

Json = dict[str, Any]
SLACK = 10.0


def stored(id: str, source: str, text: str, **more: Any) -> Json:
    output = {"output_type": "stream", "name": "stdout", "text": [text]}
    cell: Json = code_cell(id, source, outputs=[output], execution_count=1, **more)
    return cell


def good(path: Path) -> Path:
    return notebook_file(path, cells=[stored("c1", "x = 2\nprint(x)", "2\n"), stored("c2", "print(x * 2)", "4\n")])


def wrong(path: Path) -> Path:
    return notebook_file(path, cells=[stored("c1", "x = 2\nprint(x)", "2\n"), stored("c2", "print(x * 2)", "5\n")])


def skipping(path: Path) -> Path:
    tagged = stored("c2", "print(2)", "2\n", metadata={"tags": ["skip-execution"]})
    return notebook_file(path, cells=[stored("c1", "print(1)", "1\n"), tagged])


def test_what_reproduces_is_proven_and_nothing_changes(tmp_path: Path) -> None:
    notebook = good(tmp_path / "a.ipynb")
    before = notebook.read_bytes()
    done = run_program("verify", "a.ipynb", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("a.ipynb: proven: 2 same")
    assert notebook.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.ipynb"]


def test_a_difference_is_shown_and_exit_1(tmp_path: Path) -> None:
    wrong(tmp_path / "a.ipynb")
    done = run_program("verify", "a.ipynb", cwd=tmp_path)
    assert done.returncode == 1
    assert "✘ c2: changed" in done.stdout
    assert "-5" in done.stdout
    assert "+4" in done.stdout


def test_unproven_is_said_counted_as_skipped_and_fails_only_when_strict(tmp_path: Path) -> None:
    skipping(tmp_path / "a.ipynb")
    done = run_program("verify", "a.ipynb", "--junit", "r.xml", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("a.ipynb: unproven: 1 unproven, 1 same")
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("2", "1", "0")
    assert run_program("verify", "a.ipynb", "--strict", cwd=tmp_path).returncode == 1


def test_a_timeout_is_unproven(tmp_path: Path) -> None:
    notebook_file(tmp_path / "a.ipynb", cells=[stored("c1", "import time\ntime.sleep(600)", "x")])
    done = run_program("verify", "a.ipynb", "--timeout", "1", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["status"] == "unproven"
    assert "Still running after 1 s" in done.stdout


def test_a_cell_that_fails_as_stored_is_no_passed_case(tmp_path: Path) -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    notebook_file(tmp_path / "a.ipynb", cells=[code_cell("c1", "raise ValueError('no')", outputs=[error])])
    done = run_program("verify", "a.ipynb", "--junit", "r.xml", cwd=tmp_path)
    assert "unproven" in done.stdout
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("skipped")) == ("1", "1")


def test_junit_holds_any_text(tmp_path: Path) -> None:
    notebook_file(tmp_path / "a.ipynb", cells=[stored("c1", "print('\\x00\\x1b[1m<&>\\udcff')", "other\n")])
    done = run_program("verify", "a.ipynb", "--junit", "r.xml", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    failure = ElementTree.parse(tmp_path / "r.xml").getroot().find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert "<&>" in failure.text


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_against_head_and_against_a_file(tmp_path: Path) -> None:
    notebook = good(tmp_path / "a.ipynb")
    git(tmp_path, "init")
    git(tmp_path, "add", "a.ipynb")
    git(tmp_path, "commit", "-m", "first")
    notebook.write_text(notebook.read_text().replace("x = 2", "x = 3"))
    changed = run_program("verify", "a.ipynb", "--against", "HEAD", cwd=tmp_path)
    assert changed.returncode == 1
    assert "c1: changed" in changed.stdout
    good(tmp_path / "b.ipynb")
    against = run_program("verify", "b.ipynb", "--against", "a.ipynb", cwd=tmp_path)
    assert against.returncode == 0, against.stdout
    missing = run_program("verify", "b.ipynb", "--against", "c.ipynb", cwd=tmp_path)
    assert missing.returncode == 2
    uncommitted = run_program("verify", "b.ipynb", "--against", "HEAD", cwd=tmp_path)
    assert uncommitted.returncode == 1
    assert "git has no b.ipynb at HEAD" in uncommitted.stdout


def test_many_one_json_line_each_and_a_table(tmp_path: Path) -> None:
    good(tmp_path / "a.ipynb")
    wrong(tmp_path / "b.ipynb")
    (tmp_path / "c.ipynb").write_text("{")
    done = run_program("verify", "a.ipynb", "b.ipynb", "c.ipynb", "a.ipynb", "--jobs", "3", "--json", cwd=tmp_path)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = {Path(line["notebook"]).name: line["status"] for line in lines}
    assert found == {"a.ipynb": "proven", "b.ipynb": "failed", "c.ipynb": "error"}
    assert len(lines) == 3
    table = run_program("verify", "a.ipynb", "c.ipynb", cwd=tmp_path).stdout
    assert "2 notebooks: 1 proven, 1 error" in table


# ----------------------------------------------------------------------------------------------------------- a cluster

needs_signals = pytest.mark.skipif(os.name != "posix", reason="signals")


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, dict[str, subprocess.Popen[str]]]]:
    """A scheduler and two workers, each a process of its own: (address, processes by name)."""
    processes: dict[str, subprocess.Popen[str]] = {}

    def start(name: str, *arguments: str) -> None:
        with open(folder / f"{name}.log", "w") as log:
            processes[name] = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
                cwd=folder,
                stdout=log,
                stderr=log,
                text=True,
            )

    file = folder / "scheduler.json"
    here = ["--host", "tcp://127.0.0.1", "--no-dashboard"]
    try:
        start("scheduler", "dask_scheduler", "--scheduler-file", str(file), "--port", "0", *here)
        until(file.exists)
        address = json.loads(file.read_text())["address"]
        for name in ("one", "two"):
            nanny = [
                "--no-nanny",
                "--nthreads",
                "1",
                "--name",
                name,
                "--local-directory",
                str(folder / f"space-{name}"),
            ]
            start(name, "dask_worker", address, *nanny, *here)
        yield address, processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def until(condition: Any, seconds: float = 6 * SLACK) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_signals
def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    work, marks = tmp_path / "work", tmp_path / "marks"
    work.mkdir()
    marks.mkdir()
    # Every notebook says that it runs, and goes on once the killing is done.
    go = tmp_path / "go"
    names = []
    for number in range(6):
        code = (
            "import os, pathlib, time\n"
            f"pathlib.Path({str(marks)!r}, '{number}-%d' % os.getpid()).touch()\n"
            f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.02)\nprint({number})"
        )
        names.append(f"n{number}.ipynb")
        notebook_file(work / names[-1], cells=[stored("c1", code, f"{number}\n")])
    with cluster(tmp_path) as (address, processes):
        command = subprocess.Popen(
            [sys.executable, "-m", "jupyter_agent", "verify", *names, "--scheduler", address, "--json"],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: len({path.name[0] for path in marks.iterdir()}) == 2, 12 * SLACK)
            processes["one"].send_signal(signal.SIGKILL)
            processes["one"].wait()
            go.touch()
            output, errors = command.communicate(timeout=24 * SLACK)
        finally:
            command.kill()
            command.wait()
        assert command.returncode == 0, output + errors
    lines = [json.loads(line) for line in output.splitlines()]
    assert {Path(line["notebook"]).name: line["status"] for line in lines} == dict.fromkeys(names, "proven")
    twice = [number for number in range(6) if sum(path.name[0] == str(number) for path in marks.iterdir()) > 1]
    assert len(twice) == 1, "the notebook of the killed worker runs again on the other one"


@needs_signals
def test_refactor_on_a_cluster_writes_here_and_ctrl_c_ends_its_kernels(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    work, marks = tmp_path / "work", tmp_path / "marks"
    work.mkdir()
    marks.mkdir()
    late = notebook_file(work / "late.ipynb", "print(1)", "import os")
    tell = f"import os, pathlib, time\npathlib.Path({str(marks)!r}, str(os.getpid())).touch()\ntime.sleep(600)"
    slow = notebook_file(work / "slow.ipynb", tell, "import json")
    before = late.read_bytes()
    with cluster(tmp_path) as (address, _):
        options = ["--scheduler", address, "--write"]
        done = run_program("refactor", "hoist-imports", "late.ipynb", *options, cwd=work)
        assert done.returncode == 0, done.stdout + done.stderr
        assert late.read_bytes() != before
        assert run_program("undo", cwd=work).returncode == 0
        assert late.read_bytes() == before
        command = subprocess.Popen(
            [sys.executable, "-m", "jupyter_agent", "refactor", "hoist-imports", "slow.ipynb", *options],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: any(marks.iterdir()))
            command.send_signal(signal.SIGINT)
            output, errors = command.communicate(timeout=6 * SLACK)
        finally:
            command.kill()
            command.wait()
        assert command.returncode == 130, output + errors
        pids = [int(path.name) for path in marks.iterdir()]
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 3 * SLACK)
        assert "import json" in json.loads(slow.read_text())["cells"][1]["source"]


def test_no_scheduler_is_a_sentence(tmp_path: Path) -> None:
    good(tmp_path / "a.ipynb")
    done = run_program("verify", "a.ipynb", "--scheduler", "nonsense://x", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Dask" in done.stderr
