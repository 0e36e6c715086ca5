"""Verification against real kernels: what it may call proven, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from refactor.verify_helpers import PYTHON, code, notebook, nothing_left_behind, raising, reasons, verdicts

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.launch import started_pids
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.verify import Original, verify
from jupyter_agent.refactor.verify_run import needed, run_fresh

__all__ = ["nothing_left_behind"]


async def test_reproduced_outputs_are_proven_and_seen_in_one_run() -> None:
    cells = notebook(
        Cell("title", 0, "markdown", "# Title"),
        code("a", "x = 6", ""),
        code("b", "print(x * 7)", "42\n"),
        code("c", "1 / 0", "", "raises-exception"),
        code("d", "import random\nprint(random.random())  # chance\n# NBVAL_IGNORE_OUTPUT", "0.5\n"),
    )
    failed = {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []}
    cells[3] = replace(cells[3], outputs=[failed])
    seen: list[tuple[str, int, int]] = []
    report = await verify(cells, PYTHON, on_cell=lambda cell, number, total: seen.append((cell.id, number, total)))
    assert report.status == "proven"
    assert verdicts(report) == dict.fromkeys("abcd", "same")
    assert report.runs == 1
    assert seen == [("a", 1, 4), ("b", 2, 4), ("c", 3, 4), ("d", 4, 4)]
    assert report.summary.startswith("proven: 4 same (")
    assert report.to_json()["cells"][1] == {
        "cells": ["b"],
        "index": 2,
        "verdict": "same",
        "reason": "",
        "difference": "",
        "seconds": report.to_json()["cells"][1]["seconds"],
    }


async def test_changed_and_chance_are_told_apart_by_a_second_run() -> None:
    cells = notebook(
        code("wrong", "print(6 * 7)", "41\n"),
        code("chance", "import random\nprint(random.random())", "0.25\n"),
        code("right", "print('ok')", "ok\n"),
    )
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"wrong": "changed", "chance": "not_deterministic", "right": "same"}
    assert report.status == "failed"
    assert report.runs == 2
    assert "-41\n+42\n" in report.verdicts[0].difference


async def test_a_second_run_that_fails_is_no_excuse_for_the_first(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    once = f"import os\nassert not os.path.exists({mark!r})\nopen({mark!r}, 'w').close()\nprint(2)"
    report = await verify(notebook(code("wrong", once, "1\n")), PYTHON)
    assert (verdicts(report), report.runs) == ({"wrong": "changed"}, 2)


async def test_hidden_state_is_not_proven() -> None:
    cells = notebook(code("use", "print(window)", "9\n"), code("define", "window = 9", ""))
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"use": "new_error", "define": "unproven"}
    assert report.status == "failed"
    assert "hidden state" in reasons(report)["use"]
    assert "because cell use" in reasons(report)["define"]


async def test_an_edit_that_only_the_live_kernel_forgives_is_seen() -> None:
    # The stored output is that of an older source of `step`: nothing fails, but the number is another.
    cells = notebook(code("step", "step = 3", ""), code("use", "print(10 * step)", "20\n"))
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"step": "same", "use": "changed"}


async def test_never_run_cells_are_unproven_not_passed() -> None:
    cells = notebook(code("a", "x = 1"), code("b", "print(x)"))
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"a": "same", "b": "unproven"}
    assert report.status == "unproven"
    assert "no output is stored" in reasons(report)["b"]


async def test_an_old_error_is_no_new_one_but_never_proof() -> None:
    failed = {"output_type": "error", "ename": "KeyError", "evalue": "'NA'", "traceback": ["…"]}
    cells = notebook(replace(code("a", "{}['NA']", ""), outputs=[failed]))
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"a": "same"}
    assert report.status == "unproven"
    report = await verify([replace(cells[0], source="{}['ZA']")], PYTHON)
    assert verdicts(report) == {"a": "new_error"}


async def test_a_run_goes_on_behind_an_error_that_the_notebook_shows() -> None:
    cells = notebook(raising("a", "1 / 0", "ZeroDivisionError", "division by zero"), code("b", "print(1)", "2\n"))
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {"a": "same", "b": "changed"}
    cells = notebook(raising("a", "[][3]", "ZeroDivisionError", "division by zero"), code("b", "print(1)", "1\n"))
    assert verdicts(await verify(cells, PYTHON)) == {"a": "new_error", "b": "unproven"}


async def test_an_error_that_the_notebook_shows_is_proved_like_any_other_output() -> None:
    old = notebook(
        code("a", "x = {}", ""), raising("b", "print(1); x['k']", "KeyError", "'k'"), code("c", "print(2)", "2\n")
    )
    same = [old[0], replace(old[1], source="print(1)\nx['k']"), old[2]]
    report = await verify(same, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "same", "c": "same"}
    assert report.status == "proven"
    assert "fails as it did before" in reasons(report)["b"]
    for source, verdict in (("print(3)\nx['k']", "changed"), ("x['z']", "changed"), ("x.k", "new_error")):
        other = [old[0], replace(old[1], source=source), old[2]]
        report = await verify(other, PYTHON, original=Original(old, execute=True))
        assert verdicts(report)["b"] == verdict, source
        assert report.status == "failed"
    mended = [old[0], replace(old[1], source="print(1)"), old[2]]
    report = await verify(mended, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "unproven", "c": "same"}


async def test_marked_cells_are_not_run_and_what_hangs_on_them_is_unproven() -> None:
    cells = notebook(
        code("first", "print('first')", "first\n"),
        code("train", "raise SystemExit('trained again')", "", "agent:never-rerun"),
        code("skip", "raise SystemExit('ran')", "", "skip-execution"),
        code("differs", "print('model' in globals())", "True\n"),
        code("fails", "print(model)", "trained\n"),
    )
    report = await verify(cells, PYTHON)
    assert verdicts(report) == {
        "first": "same",
        "train": "unproven",
        "skip": "unproven",
        "differs": "unproven",
        "fails": "unproven",
    }
    assert "agent:never-rerun" in reasons(report)["train"]
    assert "cell train" in reasons(report)["fails"]


async def test_a_cell_beyond_its_time_is_unproven_and_its_kernel_ended() -> None:
    cells = notebook(code("slow", "while True: pass", "done\n"), code("after", "print(1)", "1\n"))
    report = await verify(cells, PYTHON, timeout=0.5)
    assert verdicts(report) == {"slow": "unproven", "after": "unproven"}
    assert "Still running after 0.5 s" in reasons(report)["slow"]


async def test_a_kernel_that_dies_is_a_new_error() -> None:
    report = await verify(notebook(code("a", "import os\nos._exit(3)", "")), PYTHON)
    assert verdicts(report) == {"a": "new_error"}


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import os\nos.environ['SOME_SERVICE_API_KEY']", "credentials"),
        ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/')", "a network connection"),
        ("input('name? ')", "a person at the keyboard"),
    ],
)
async def test_what_the_surroundings_lack_is_unproven(source: str, needs: str) -> None:
    report = await verify(notebook(code("a", source, "fine\n")), PYTHON)
    assert verdicts(report) == {"a": "unproven"}
    assert reasons(report)["a"].startswith(f"It needs {needs}: ")


@pytest.mark.parametrize(
    ("name", "message", "trace", "needs"),
    [
        ("HTTPError", "HTTP Error 401: Unauthorized", "", "credentials"),
        ("RuntimeError", "No CUDA GPUs are available", "", "a GPU"),
        ("ModuleNotFoundError", "No module named 'pandsa'", "", ""),
        ("HTTPError", "HTTP Error 404: Not Found", "", ""),
        ("KeyError", "'API_KEY'", "row['API_KEY']", ""),
        ("FileNotFoundError", "data.csv", "", ""),
    ],
)
def test_only_the_surroundings_excuse_an_error(name: str, message: str, trace: str, needs: str) -> None:
    assert needed(name, message, trace) == needs


# --------------------------------------------------------------------------------------------------------- kernels


async def test_a_python_kernel_of_another_machine_is_replaced_and_said_so() -> None:
    metadata = {"kernelspec": {"name": "conda-env-elsewhere", "language": "python"}}
    report = await verify(notebook(code("a", "print(1)", "1\n")), metadata)
    assert report.status == "proven"
    assert "conda-env-elsewhere" in report.notes[0]
    with pytest.raises(KernelError, match="No kernel named"):
        await verify(notebook(code("a", "1", "")), {"kernelspec": {"name": "no-such-kernel", "language": "cobol"}})


async def test_cancelling_ends_the_kernel_and_removes_the_copy(tmp_path: Path) -> None:
    started = asyncio.Event()
    cells = notebook(code("a", "import time\ntime.sleep(60)", ""))
    task = asyncio.create_task(run_fresh(cells, PYTHON, path=tmp_path / "n.ipynb", on_cell=lambda *_: started.set()))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started_pids() == []


async def test_only_the_named_cells_are_run() -> None:
    cells = notebook(code("a", "x = 1"), code("b", "raise ValueError"), code("c", "print(x)"))
    result = await run_fresh(cells, PYTHON, only={"a", "c"})
    assert result.ok
    assert list(result.cells) == ["a", "c"]
    result = await run_fresh(cells, PYTHON)
    assert not result.ok
    assert result.failure is not None
    assert result.failure[0] == "b"
