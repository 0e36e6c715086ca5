"""`jupyter agent run` and `demo` as whole processes: events in order, exit codes, nothing changed without a yes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conversations import notebook_file
from program import run_program
from runs import REPAIR, broken, call, digest

from jupyter_agent.testing.scripted import ScriptedServer

Json = dict[str, Any]


def test_read_edit_run_fail_fix_verify(tmp_path: Path) -> None:
    notebook = broken(tmp_path)
    with ScriptedServer(REPAIR) as server:
        done = run_program(
            "run",
            notebook.name,
            "Repair it",
            "--mode",
            "accept-edits",
            "--json",
            "--model",
            "m",
            "--base-url",
            server.url,
            cwd=tmp_path,
        )
        assert server.failures == []
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kept = [event for event in events if event["type"] != "delta"]
    assert [event["seq"] for event in kept] == list(range(kept[0]["seq"], kept[0]["seq"] + len(kept)))
    names = [event["name"] for event in kept if event["type"] == "tool_start"]
    assert names == ["read_cells", "run_cells", "edit_cells", "run_cells", "verify_notebook"]
    assert kept[-1]["type"] == "stop"
    assert kept[-1]["verified"] == "proven"
    changes = [event for event in kept if event["type"] == "change" and event["before"] != event["after"]]
    assert [change["cell"] for change in changes] == ["c2"]
    assert "+print(sum(x) / len(x))" in changes[0]["diff"]
    assert "2.0" in notebook.read_text()


def test_plan_mode_changes_nothing(tmp_path: Path) -> None:
    notebook = broken(tmp_path)
    before = digest(notebook)
    script = [
        call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "lenn", "replace": "len"}]}]),
        call("run_cells", cells="all"),
        call("run_bash", command="touch made"),
        {"text": "Here is the plan."},
    ]
    with ScriptedServer(script) as server:
        run_program(
            "run", notebook.name, "Plan it", "--mode", "plan", "--model", "m", "--base-url", server.url, cwd=tmp_path
        )
    assert digest(notebook) == before
    assert not (tmp_path / "made").exists()


def test_undo_restores_the_bytes_and_can_be_undone(tmp_path: Path) -> None:
    notebook = broken(tmp_path)
    before = notebook.read_bytes()
    with ScriptedServer(REPAIR) as server:
        run_program(
            "run",
            notebook.name,
            "Repair it",
            "--mode",
            "accept-edits",
            "--model",
            "m",
            "--base-url",
            server.url,
            cwd=tmp_path,
        )
    after = notebook.read_bytes()
    assert after != before
    undone = run_program("undo", cwd=tmp_path)
    assert undone.returncode == 0, undone.stderr
    assert "Kernel state is not restored" in undone.stdout
    assert notebook.read_bytes() == before
    again = run_program("undo", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert notebook.read_bytes() == after


def test_conversations_are_listed_shown_exported_and_resumed(tmp_path: Path) -> None:
    with ScriptedServer([{"text": "Hello."}, {"expect": {"any_contains": "Say hello"}, "text": "Again."}]) as server:
        options = ["--model", "m", "--base-url", server.url]
        run_program("run", ".", "Say hello", *options, cwd=tmp_path)
        listed = json.loads(run_program("conversations", "--json", cwd=tmp_path).stdout)
        assert [row["title"] for row in listed] == ["Say hello"]
        name = listed[0]["id"]
        assert "Hello." in run_program("show", name, cwd=tmp_path).stdout
        assert "# Say hello" in run_program("export", name, cwd=tmp_path).stdout
        resumed = run_program("run", ".", "Go on", "--resume", name, *options, cwd=tmp_path)
        assert resumed.returncode == 0
        assert server.failures == []


def test_the_demo_ends_proven_with_every_cell_executed(tmp_path: Path) -> None:
    done = run_program("demo", "--keep", "copy", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified: proven" in done.stdout
    cells = json.loads((tmp_path / "copy" / "kepler.ipynb").read_text())["cells"]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")


# ------------------------------------------------------------------------------------------------------- bad input


def no_traceback(text: str) -> None:
    assert "Traceback" not in text
    assert 'File "' not in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "missing.ipynb", "x"], 2, "There is no notebook missing.ipynb"),
        (["run", ".", "  "], 2, "prompt is empty"),
        (["run", "text.txt", "x"], 2, "not a notebook"),
        (["run", "corrupt.ipynb", "x"], 1, "corrupt.ipynb"),
        (["run", "old.ipynb", "x"], 1, "nbformat 3"),
        (["tool", "read_cells", "{}", "--allow", "edit_cell"], 2, "there is no tool edit_cell"),
        (["run", ".", "x"], 4, "No model is connected"),
        (["run", ".", "x", "--base-url", "http://127.0.0.1:9", "--model", "m"], 4, "127.0.0.1"),
        (["run", ".", "x", "--mode", "yolo"], 2, "invalid choice"),
        (["run", ".", "x", "--allow", "not a rule"], 2, "is not a rule"),
        (["run", ".", "x", "--resume", "nope"], 1, "nope"),
        (["tool", "nonsense", "{}"], 2, "There is no tool"),
        (["tool", "read_file", "{"], 2, "not JSON"),
        (["tool", "read_file", '{"path": "missing.py"}'], 1, "missing.py"),
        (["tool", "read_file", '{"pth": "x"}'], 1, "Did you mean 'path'?"),
        (["tool", "read_cells", "{}", "--notebook", "old.ipynb"], 1, "nbformat 3"),
        (["tool", "read_cells", '{"cells": ["zz"]}', "--notebook", "good.ipynb"], 1, "zz"),
        (["tool", "run_code", '{"code": "1"}', "--notebook", "nokernel.ipynb", "--mode", "auto"], 1, "no-such-kernel"),
        (["tool", "run_code", '{"code": "1"}', "--kernel", "missing.json"], 2, "connection file"),
        (["show", "nope"], 1, "nope"),
        (["undo"], 1, "nothing to undo"),
        (["verify", "missing.ipynb"], 2, "missing.ipynb"),
        (["graph", "corrupt.ipynb"], 1, "corrupt.ipynb"),
    ],
)
def test_bad_input_is_a_sentence_and_a_code(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    notebook_file(tmp_path / "good.ipynb", "x = 1")
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "corrupt.ipynb").write_text('{"cells": [')
    (tmp_path / "old.ipynb").write_text('{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}')
    other = notebook_file(tmp_path / "nokernel.ipynb", "x = 1")
    other.write_text(other.read_text().replace('"python3"', '"no-such-kernel"'))
    before = {path: digest(path) for path in tmp_path.iterdir()}
    done = run_program(*arguments, cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert words in said
    no_traceback(said)
    assert {path: digest(path) for path in tmp_path.iterdir()} == before


def test_a_wrong_key_is_exit_4(tmp_path: Path) -> None:
    with ScriptedServer([{"server": {"api_key": "right"}}, {"text": "x"}]) as server:
        done = run_program(
            "run", ".", "x", "--model", "m", "--base-url", server.url, cwd=tmp_path, ANTHROPIC_API_KEY="wrong-key"
        )
    assert done.returncode == 4, done.stdout + done.stderr
    no_traceback(done.stdout + done.stderr)


def test_a_model_that_only_talks_ends_the_turn(tmp_path: Path) -> None:
    with ScriptedServer([{"text": "I would edit the file now."}]) as server:
        done = run_program("run", ".", "x", "--model", "m", "--base-url", server.url, cwd=tmp_path)
    assert done.returncode == 0
    assert "Nothing was changed" in done.stdout


def test_help_and_version_need_no_model(tmp_path: Path) -> None:
    assert "exit codes" in run_program("--help", cwd=tmp_path).stdout
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert run_program("--version", cwd=tmp_path).stdout.strip() == project["version"]
    assert run_program(cwd=tmp_path).returncode == 2


def test_a_cell_that_still_runs_is_waited_for_before_the_kernel_ends(tmp_path: Path) -> None:
    source = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.05)\nprint('ended')"
    notebook = notebook_file(tmp_path / "a.ipynb", source)
    script = [call("run_cells", cells="all", timeout=0.5), {"text": "It runs."}]
    with ScriptedServer(script) as server:
        command = [sys.executable, "-m", "jupyter_agent", "run", "a.ipynb", "Go", "--mode", "accept-edits", "--json"]
        with subprocess.Popen(
            [*command, "--model", "m", "--base-url", server.url],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            seen = []
            for line in process.stdout:
                seen.append(json.loads(line))
                if seen[-1]["type"] == "note" and "still running" in seen[-1]["text"]:
                    (tmp_path / "go").touch()
    assert process.returncode == 0
    assert (tmp_path / "go").exists()
    assert seen[-1]["type"] == "stop"
    assert "ended" in str(json.loads(notebook.read_text())["cells"][0]["outputs"])
