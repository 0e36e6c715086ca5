"""Notebooks with `%%agent` cells executed by nbconvert, papermill and Run All, where nobody can answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversations import notebook_file
from magic.drive import Front, call, model, pristine

from jupyter_agent.testing.scripted import ScriptedServer

CELLS = ("%load_ext jupyter_agent", "x = 20", "%%agent {options}\nAdd one to x.", "print('after', x)")
ADD = [call("run_code", code="x = x + 1\nprint('now', x)\nx"), {"text": "Added: **21**."}]


def execute(tool: str, folder: Path, server: ScriptedServer, options: str) -> tuple[int, str, dict[str, Any]]:
    """(exit code, what the program wrote, the executed notebook)."""
    source = notebook_file(folder / "in.ipynb", *(cell.format(options=options) for cell in CELLS))
    command = {
        "nbconvert": ["-m", "nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb", str(source)],
        "papermill": ["-m", "papermill", "--no-progress-bar", str(source), str(folder / "out.ipynb")],
    }[tool]
    environment = os.environ | pristine(str(folder / "home"))
    environment |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "scripted-1"}
    environment.pop("PYTHONWARNINGS", None)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    out = folder / "out.ipynb"
    return done.returncode, done.stdout + done.stderr, json.loads(out.read_text()) if out.exists() else {}


def text_of(cell: dict[str, Any]) -> str:
    parts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell["outputs"]]
    return "".join("".join(part) + "\n" for part in parts)


@pytest.mark.parametrize("tool", ["nbconvert", "papermill"])
def test_accepted_work_is_done_and_saved_with_its_outputs(tool: str, tmp_path: Path) -> None:
    with ScriptedServer(ADD) as server:
        code, said, notebook = execute(tool, tmp_path, server, "--mode accept-edits")
    assert code == 0, said
    cells = [cell for cell in notebook["cells"] if cell["source"]]
    magic, after = cells[-2], cells[-1]
    assert text_of(after).strip() == "after 21"
    assert "now 21" in text_of(magic)
    assert "Added: **21**." in text_of(magic)
    assert "<strong>21</strong>" in json.dumps(magic["outputs"])
    assert [cell["execution_count"] for cell in cells[-2:]] == [3, 5], "the agent's run is number 4"


@pytest.mark.parametrize("tool", ["nbconvert", "papermill"])
def test_ask_means_no_and_is_said(tool: str, tmp_path: Path) -> None:
    script = [ADD[0], {"expect": {"tool_result_contains": "nobody can answer"}, "text": "I may not."}]
    with ScriptedServer(script) as server:
        code, said, notebook = execute(tool, tmp_path, server, "--mode review")
    assert code == 0, said
    cells = [cell for cell in notebook["cells"] if cell["source"]]
    assert text_of(cells[-1]).strip() == "after 20"
    assert "nobody can answer here" in text_of(cells[-2])
    assert "--allow run_code" in text_of(cells[-2])


def test_a_failed_request_fails_the_execution(tmp_path: Path) -> None:
    refused = {"fault": {"status": 401, "type": "authentication_error", "message": "invalid key"}}
    with ScriptedServer([refused]) as server:
        code, said, _ = execute("nbconvert", tmp_path, server, "--mode accept-edits")
    assert code != 0
    assert "key" in said.split("Add one to x.")[1], "the sentence is told where the log ends"


def test_run_all_goes_on_after_a_turn_and_stops_after_a_failed_one(kernel: Front) -> None:
    """As JupyterLab queues all cells at once, with stop_on_error."""
    with model(kernel, ADD):
        kernel.run("x = 20")
        sent = [
            kernel.client.execute(code)
            for code in ("%%agent --new --mode accept-edits\nAdd.", "y = x + 1", "%agent mode no", "z = 1")
        ]
        replies = [kernel.client._recv_reply(id, timeout=60)["content"]["status"] for id in sent]
    assert replies == ["ok", "ok", "error", "aborted"]
    assert kernel.value("(x, y, 'z' in dir())") == (21, 22, False)
