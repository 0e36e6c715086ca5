"""The same scripted turn through `%%agent` in ipykernel, in terminal IPython and through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conversations import notebook_file
from magic.drive import call, front, pristine
from magic.terminal import terminal
from program import run_program

from jupyter_agent.testing.scripted import ScriptedServer

TURN = [
    call("read_cells"),
    call("run_cells", cells="all"),
    {"expect": {"tool_result_contains": ["error: NameError", "cell c2 line 3"]}}
    | call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "lenn", "replace": "len"}]}]),
    call(
        "edit_cells", ops=[{"op": "insert", "after": "c2", "type": "code", "source": "table = {'mean': mean}\ntable"}]
    ),
    call("run_cells", cells="stale"),
    call("run_cells", cells="all"),
    call("run_code", code="kept = [mean]\nkept"),
    call("inspect_variables"),
    {"text": "Repaired."},
]
REQUEST = "Repair the mean."


def prepared(folder: Path) -> Path:
    folder.mkdir()
    second = "import asyncio\nawait asyncio.sleep(0)\nmean = sum(x) / lenn(x)\nprint('mean', mean)\nmean"
    return notebook_file(folder / "a.ipynb", "x = [1, 2, 3]", second)


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    """The cells without what the clock and earlier runs of the kernel decide, and ids that were made up."""
    cells = json.loads(notebook.read_text())["cells"]
    for cell in cells:
        cell["metadata"].pop("execution", None)
        cell["id"] = cell["id"] if cell["id"].startswith("c") and len(cell["id"]) == 2 else "new"
        for holder in (cell, *cell["outputs"]):
            holder["execution_count"] = holder.get("execution_count") is not None
    return cells


def variables_seen(server: ScriptedServer) -> str:
    """What inspect_variables told the model."""
    blocks = [block for message in server.messages[-1]["messages"] for block in message["content"]]
    texts = [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
    return next(text for text in reversed(texts) if "variables" in text)


def environment(server: ScriptedServer, home: Path) -> dict[str, str]:
    known = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "scripted-1"}
    return pristine(str(home)) | known


def test_the_same_turn_leaves_the_same_cells_and_variables(tmp_path: Path) -> None:
    cells, variables, stops = {}, {}, {}
    options = "%%agent --mode accept-edits --notebook a.ipynb"

    notebook = prepared(tmp_path / "kernel")
    with ScriptedServer(TURN) as server, front(notebook.parent, **environment(server, tmp_path / "h1")) as kernel:
        ran = kernel.run(f"{options}\n{REQUEST}")
        assert ran.status == "ok", ran.text
        assert kernel.value("(x, mean, table, kept)") == ([1, 2, 3], 2.0, {"mean": 2.0}, [2.0])
        cells["kernel"], variables["kernel"] = cells_of(notebook), variables_seen(server)
        stops["kernel"] = kernel.value("_agent.verified")

    notebook = prepared(tmp_path / "terminal")
    with ScriptedServer(TURN) as server, terminal(notebook.parent, **environment(server, tmp_path / "h2")) as shell:
        shown = shell.run(options, REQUEST)
        assert "([1, 2, 3], 2.0, {'mean': 2.0}, [2.0])" in shell.run("(x, mean, table, kept)"), shown
        cells["terminal"], variables["terminal"] = cells_of(notebook), variables_seen(server)
        stops["terminal"] = shell.run("print(_agent.verified)").strip()

    notebook = prepared(tmp_path / "program")
    with ScriptedServer(TURN) as server:
        arguments = ("run", "a.ipynb", REQUEST, "--mode", "accept-edits", "--json")
        done = run_program(*arguments, cwd=notebook.parent, **environment(server, tmp_path / "h3"))
        assert done.returncode == 0, done.stderr
        cells["program"], variables["program"] = cells_of(notebook), variables_seen(server)
        stops["program"] = json.loads(done.stdout.splitlines()[-1])["verified"]

    assert cells["kernel"] == cells["terminal"] == cells["program"]
    assert variables["kernel"] == variables["terminal"] == variables["program"]
    assert set(stops.values()) == {"proven"}, stops
