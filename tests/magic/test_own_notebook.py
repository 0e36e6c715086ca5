"""The notebook that the kernel belongs to: found, read, and without a way to its server proposed to, never written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversations import notebook_file
from magic.drive import Front, call, front, model, pristine


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return notebook_file(
        tmp_path_factory.mktemp("own") / "own.ipynb", "%load_ext jupyter_agent", "x = 1", "%%agent\nGo"
    )


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, notebook: Path) -> Iterator[Front]:
    """A kernel as a server starts it: the notebook's name is handed over in the environment."""
    environment = pristine(str(tmp_path_factory.mktemp("home"))) | {"JPY_SESSION_NAME": str(notebook)}
    with front(notebook.parent, **environment) as made:
        yield made


def test_reads_see_it_and_the_asking_cell_is_named(kernel: Front, notebook: Path) -> None:
    script = [
        {"expect": {"last_contains": "Asked from cell c3", "system_contains": str(notebook)}} | call("read_cells"),
        {"expect": {"tool_result_contains": ["id=c2", "x = 1"]}, "text": "Read."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new\nGo", metadata={"cellId": "c3"})
    assert ran.status == "ok", ran.text


def test_a_change_is_proposed_and_offered_and_the_file_stays(kernel: Front, notebook: Path) -> None:
    before = notebook.read_bytes()
    blocks = [{"search": "x = 1", "replace": "x = 2"}]
    script = [
        call("read_cells"),
        call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": blocks}]),
        {"expect": {"tool_result_error": True, "tool_result_contains": "Not written"}, "text": "Apply it, please."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new --mode accept-edits\nGo", metadata={"cellId": "c3"})
    assert notebook.read_bytes() == before
    assert "-x = 1\n+x = 2" in ran.text
    assert ran.next_inputs == ["x = 2"]
    assert kernel.value("_agent.changes") == ()


def test_its_cells_run_in_this_kernel_and_show_here(kernel: Front, notebook: Path) -> None:
    before = notebook.read_bytes()
    with model(kernel, [call("run_cells", cells=["c2"]), call("run_code", code="print('x is', x)"), {"text": "Ran."}]):
        ran = kernel.run("%%agent --new --mode accept-edits\nGo", metadata={"cellId": "c3"})
    assert kernel.value("x") == 1
    assert "x is 1" in ran.text
    assert notebook.read_bytes() == before, "outputs show in the magic's cell; the server owns the document"


def test_what_was_run_since_is_told(kernel: Front) -> None:
    with model(kernel, [{"text": "One."}, {"text": "Two."}]) as server:
        kernel.run("%agent --new One.")
        kernel.run("unsaved_cell = 'only in the browser'")
        kernel.run("%agent Two.")
        last = json.dumps(server.messages[-1]["messages"][-1])
    assert "unsaved_cell = 'only in the browser'" in last


def test_completion_offers_its_cells(kernel: Front) -> None:
    with model(kernel, [{"text": "One."}]):
        kernel.run("%agent --new One.")
    matches = kernel.client.complete("%agent repair c", reply=True, timeout=30)["content"]["matches"]
    assert {"c1", "c2", "c3"} <= set(matches)
