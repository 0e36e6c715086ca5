"""n27 in the magic: a cell that takes hours is not rerun unasked, and the interrupt button ends what runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversations import code_cell, notebook_file
from magic.drive import Front, Message, call, fresh_front, model

from jupyter_agent.testing.kernels import SLACK


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


def long_notebook(folder: Path) -> Path:
    hours = {"iopub.status.busy": "2026-01-01T00:00:00Z", "shell.execute_reply": "2026-01-01T03:00:00Z"}
    training = code_cell("train", "open('trained', 'a').write('x')\nrate = 1")
    training["metadata"] = {"tags": ["agent:never-rerun"], "execution": hours}
    training["execution_count"] = 1
    using = code_cell("use", "print('rate', rate)")
    return notebook_file(folder / "long.ipynb", cells=[code_cell("setup", "a = 1"), training, using])


def test_n27_neither_asked_for_nor_stale_nor_verified_is_it_run(kernel: Front) -> None:
    long_notebook(kernel.folder)
    blocks = [{"search": "rate'", "replace": "the rate'"}]
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "use", "blocks": blocks}])
    script = [
        call("read_cells"),
        edit,
        call("run_cells", cells="all"),
        {"expect": {"tool_result_error": True, "tool_result_contains": "never-rerun"}}
        | call("run_cells", cells="stale"),
        {"text": "It would take hours."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new --mode accept-edits --notebook long.ipynb\nRun it.")
    assert ran.status == "ok", ran.text
    assert not (kernel.folder / "trained").exists()
    assert kernel.value("_agent.verified") == "unproven"


def test_n27_with_a_person_it_is_asked_for(kernel: Front) -> None:
    long_notebook(kernel.folder)
    with model(kernel, [call("run_cells", cells=["train"]), {"text": "Not run."}]):
        ran = kernel.run("%%agent --new --mode auto --notebook long.ipynb\nRun it.", answers=["r takes hours"])
    assert len(ran.prompts) == 1
    assert not (kernel.folder / "trained").exists()


def test_n27_the_interrupt_ends_a_running_cell(kernel: Front) -> None:
    source = "print('begun', flush=True)\nimport time\nfor _ in range(3600):\n    time.sleep(1)"
    notebook_file(kernel.folder / "slow.ipynb", source, "later = 1")
    pressed: list[float] = []

    def press(message: Message) -> None:
        if message["content"].get("text") == "begun\n":
            pressed.append(time.monotonic())
            kernel.interrupt()

    with model(kernel, [call("run_cells", cells="all"), {"when": {"last_contains": "Go on"}, "text": "Here."}]):
        ran = kernel.run("%%agent --new --mode accept-edits --notebook slow.ipynb\nRun all.", on_message=press)
        assert ran.status == "error"
        assert time.monotonic() - pressed[0] < 1 * SLACK
        assert "later" not in kernel.value("dir()")
        assert kernel.run("%agent Go on.").status == "ok"
