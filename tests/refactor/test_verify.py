"""Verification against real kernels: what it may call proven, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import KernelError, UsageError
from jupyter_agent.kernel.launch import started_pids
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.refactor.verify import Original, VerifyReport, verify
from jupyter_agent.refactor.verify_config import project_patterns
from jupyter_agent.refactor.verify_copy import folder_copy, project_of
from jupyter_agent.refactor.verify_run import needed, run_fresh

PYTHON: dict[str, Any] = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}


def code(id: str, source: str, printed: str | None = None, *tags: str) -> Cell:
    """A cell that ran and printed something (`""`: nothing), or never ran (None)."""
    outputs: list[Output] = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    return Cell(id, 0, "code", source, {"tags": list(tags)}, outputs, None if printed is None else 1)


def notebook(*cells: Cell) -> list[Cell]:
    return [replace(cell, index=index) for index, cell in enumerate(cells)]


def verdicts(report: VerifyReport) -> dict[str, str]:
    return {cell: item.verdict for item in report.verdicts for cell in item.cells}


def reasons(report: VerifyReport) -> dict[str, str]:
    return {cell: item.reason for item in report.verdicts for cell in item.cells}


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterable[None]:
    own = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    yield
    assert started_pids() == []
    assert [name for name in os.listdir(own) if name.startswith("jupyter-agent-")] == []


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


def raising(id: str, source: str, name: str, message: str) -> Cell:
    error = {"output_type": "error", "ename": name, "evalue": message, "traceback": ["…"]}
    return replace(code(id, source, ""), outputs=[error])


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


# ------------------------------------------------------------------------------------------------ against an original


async def test_split_merged_and_moved_cells_with_the_same_outputs_are_proven() -> None:
    old = notebook(
        code("imports", "import math"),
        code("both", "print('one')\nprint(math.pi)"),
        code("x", "x = 2"),
        code("y", "print(x)"),
        code("apart", "print('apart')"),
    )
    new = notebook(
        code("imports", "import math"),
        code("apart", "print('apart')"),
        code("both", "print('one')"),
        code("both2", "print(math.pi)"),
        code("x", "x = 2\n\nprint(x)"),
    )
    groups = [(["imports"], ["imports"]), (["both"], ["both", "both2"]), (["x", "y"], ["x"]), (["apart"], ["apart"])]
    report = await verify(new, PYTHON, original=Original(old, execute=True, groups=groups))
    assert report.status == "proven"
    assert report.runs == 2


async def test_cells_without_a_partner_join_the_one_before() -> None:
    old = notebook(code("a", "print(1)\nprint(2)"), code("b", "print(3)"), code("gone", "print(4)"))
    split = notebook(code("a", "print(1)"), code("new", "print(2)"), code("b", "print(3)\nprint(4)"))
    report = await verify(split, PYTHON, original=Original(old, execute=True))
    assert report.status == "proven"
    assert [item.cells for item in report.verdicts] == [("a", "new"), ("b",)]
    lost = notebook(code("a", "print(1)\nprint(2)"), code("b", "print(3)"))
    report = await verify(lost, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "changed"}
    assert "-4\n" in report.verdicts[1].difference


async def test_a_refactoring_that_changes_an_output_is_caught_and_chance_is_not_blamed() -> None:
    old = notebook(code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(10)))"))
    new = notebook(code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(11)))"))
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "not_deterministic", "b": "changed"}
    assert report.status == "failed"
    assert report.runs == 3


async def test_chance_before_the_change_neither_blames_nor_hinders_it() -> None:
    old = notebook(
        code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(10)))"), code("c", "print(3)")
    )
    new = [*old[:1], replace(old[1], source="print(5 * 9)"), old[2]]
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "not_deterministic", "b": "same", "c": "same"}
    assert report.status == "proven"
    assert "chance" in reasons(report)["a"]
    assert report.runs == 2
    late = notebook(*old[1:], old[0])
    changed = [replace(late[0], source="print(5 * 9)"), *late[1:]]
    assert (await verify(changed, PYTHON, original=Original(late, execute=True))).status == "unproven"
    # A new file may be seen from anywhere.
    listing = notebook(code("l", "import os\nprint(sorted(os.listdir()))"), code("b", "x = 1"))
    moved = [listing[0], replace(listing[1], source="from made import x")]
    report = await verify(moved, PYTHON, original=Original(listing, execute=True), files={"made.py": b"x = 1\n"})
    assert verdicts(report)["l"] == "changed"


async def test_chance_is_the_same_before_and_after_and_leaves_no_trace() -> None:
    draws = "import random\nimport numpy as np\nprint(random.random(), np.random.rand(), {str(i) for i in range(9)})"
    old = notebook(
        code("a", f"x = 1\n{draws}"),
        code("b", "print(np.random.rand(), sorted(n for n in globals() if n[0] != '_'))"),
        code("c", "print(len(In), 'numpy' in globals())"),
    )
    new = [replace(old[0], source=f"x = 2 - 1\n{draws}"), *old[1:]]
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert (report.status, report.runs) == ("proven", 2), report.verdicts
    other = [replace(old[0], source=f"x = 1\n{draws}\nx = np.random.rand()"), *old[1:]]
    report = await verify(other, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "not_deterministic", "c": "same"}


async def test_the_code_that_a_warning_repeats_is_no_output() -> None:
    source = (
        "import warnings\nx = 1\nif x:\n    warnings.warn(f'odd: {x}\\n  in {x} lines')\n"
        "warnings.warn(str(x), FutureWarning)"
    )
    old = notebook(code("a", source))
    renamed = [replace(old[0], source=source.replace("x", "y"))]
    report = await verify(renamed, PYTHON, original=Original(old, execute=True))
    assert report.status == "proven", report.verdicts
    for other in (source.replace("odd", "even"), source.replace("lines", "rows"), source.replace("Future", "User")):
        report = await verify([replace(old[0], source=other)], PYTHON, original=Original(old, execute=True))
        assert verdicts(report) == {"a": "changed"}, other


async def test_an_original_that_fails_by_itself_proves_nothing() -> None:
    old = notebook(code("a", "print(undefined)"), code("b", "print(1)"))
    new = notebook(code("a", "print('mended')"), code("b", "print(1)"))
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "unproven", "b": "unproven"}


async def test_against_stored_outputs_of_another_notebook() -> None:
    before = notebook(code("a", "print(1)", "1\n"), code("b", "print(2)", "2\n"))
    now = notebook(code("a", "print(1)", "stale\n"), code("b", "print(3)", "3\n"))
    report = await verify(now, PYTHON, original=Original(before))
    assert verdicts(report) == {"a": "same", "b": "changed"}


# ---------------------------------------------------------------------------------------------- the person's folder


async def test_files_resolve_and_what_the_notebook_writes_stays_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.csv").write_text("1,2\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mine.py").write_text("x = 1\n")
    folder = tmp_path / "lib"
    source = """
import os
from pathlib import Path
import mine, extracted
print(open("../data/in.csv").read().strip(), mine.x, extracted.y)
Path("out.txt").write_text("new")
Path("../data/in.csv").write_text("overwritten")
os.remove("mine.py")
print(os.getcwd())
"""
    expected = f"1,2 1 7\n{folder}\n"
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    report = await verify(
        notebook(code("a", source, expected)),
        PYTHON,
        path=folder / "n.ipynb",
        files={"extracted.py": b"y = 7\n"},
    )
    assert report.status == "proven", report.verdicts
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


async def test_two_runs_do_not_see_each_others_files(tmp_path: Path) -> None:
    source = "with open('n', 'a+') as f:\n    f.write('x')\n    f.seek(0)\n    print(f.read())"
    cells = notebook(code("a", source, "x\n"), code("b", "print(2)", "1\n"))
    report = await verify(cells, PYTHON, path=tmp_path / "n.ipynb")
    assert verdicts(report) == {"a": "same", "b": "changed"}
    assert list(tmp_path.iterdir()) == []


async def test_a_write_through_a_link_to_a_large_file_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_agent.refactor.verify_copy.FILE_LIMIT", 10)
    (tmp_path / "large.txt").write_text("more than ten bytes")
    (tmp_path / "read.txt").write_text("also more than ten")
    source = "print(open('read.txt').read())\nopen('large.txt', 'a').write('!')"
    result = await run_fresh(notebook(code("a", source)), PYTHON, path=tmp_path / "n.ipynb")
    assert result.ok
    assert len(result.notes) == 1
    assert "large.txt" in result.notes[0]


def test_copy_holds_links_and_leaves_out_what_is_not_the_notebooks(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "deep").mkdir()
    (tmp_path / "notes" / "deep" / "a.txt").write_text("a")
    (tmp_path / "notes" / "near").symlink_to("deep/a.txt")
    (tmp_path / "notes" / "far").symlink_to("/etc/hostname")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / ".hypothesis").mkdir()
    (tmp_path / "run.sh").write_bytes(b"ab\n" * 1_000_000)
    (tmp_path / "run.sh").chmod(0o755)
    os.mkfifo(tmp_path / "notes" / "pipe")
    assert project_of(tmp_path / "notes" / "deep") == tmp_path
    with folder_copy(tmp_path / "notes", files={"near": b"mine"}) as copy:
        assert sorted(os.listdir(copy.cwd)) == ["deep", "far", "near"]
        assert (copy.cwd / "near").read_bytes() == b"mine"
        assert os.readlink(copy.cwd / "far") == os.path.realpath("/etc/hostname")
        assert os.listdir(copy.cwd.parent) == ["notes"]
        copy.complete()
        assert sorted(os.listdir(copy.cwd.parent)) == ["node_modules", "notes", "run.sh"]
        assert (copy.cwd.parent / "node_modules").is_symlink()
        assert sorted(os.listdir(copy.cwd)) == ["deep", "far", "near"]
        made, original = (copy.cwd.parent / "run.sh").stat(), (tmp_path / "run.sh").stat()
        assert (made.st_mode, made.st_mtime_ns, made.st_size) == (original.st_mode, original.st_mtime_ns, 3_000_000)
    assert (tmp_path / "notes" / "deep" / "a.txt").read_text() == "a"
    assert not copy.cwd.exists()


def test_a_copy_that_is_not_needed_any_more_is_not_completed(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text("x")
    with folder_copy(tmp_path / "notes") as copy:
        completing = threading.Thread(target=copy.complete)
        completing.start()
    assert not copy.top.exists()
    completing.join()
    copy.complete()
    assert not copy.top.exists()


def test_home_is_never_copied_as_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()
    assert project_of(tmp_path / "notes") == tmp_path / "notes"


@pytest.mark.parametrize(
    "source",
    ["print(open('../data/a.txt').read())", "import os\nprint(open(os.path.join('..', 'data', 'a.txt')).read())"],
)
async def test_files_beside_the_notebooks_folder_are_there_where_it_speaks_of_them(tmp_path: Path, source: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("beside")
    (tmp_path / "notebooks").mkdir()
    path = tmp_path / "notebooks" / "n.ipynb"
    writing = code("b", "with open('../data/a.txt', 'w') as file:\n    print('changed', file=file)", "")
    report = await verify(notebook(code("a", source, "beside\n"), writing), PYTHON, path=path)
    assert report.status == "proven", report.verdicts
    assert (tmp_path / "data" / "a.txt").read_text() == "beside"


def test_home_is_not_reached_from_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert [project_of(tmp_path / "a" / "b", above) for above in range(4)] == [
        tmp_path / "a" / "b",
        *[tmp_path / "a"] * 3,
    ]


async def test_the_projects_sanitising_patterns_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '--nbval --nbval-sanitize-with=sane.cfg'\n"
    )
    (tmp_path / "sane.cfg").write_text("regex: job \\d+\nreplace: JOB\n")
    (tmp_path / "nb").mkdir()
    cells = notebook(code("a", "print('job', 7)", "job 6\n"))
    assert (await verify(cells, PYTHON, path=tmp_path / "nb" / "n.ipynb")).status == "proven"
    assert verdicts(await verify(cells, PYTHON, path=tmp_path / "nb" / "n.ipynb", sanitize=())) == {"a": "changed"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts =\n    -q\n    --nbval-sanitize-with sane.cfg\n"),
        ("tox.ini", "[pytest]\naddopts = --sanitize-with 'sane.cfg'\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = --nbval-sanitize-with=sane.cfg -x\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['--nbval-sanitize-with', 'sane.cfg']\n"),
    ],
)
def test_patterns_are_found_in_every_form_of_configuration(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "sane.cfg").write_text("# comment\nregex: a+\nreplace: b\n\nregex: [0-9]\nreplace: N\n")
    assert project_patterns(tmp_path / "n.ipynb") == (("a+", "b"), ("[0-9]", "N"))
    (tmp_path / "sane.cfg").write_text("regex: (\nreplace: b\n")
    with pytest.raises(UsageError, match="no regular expression"):
        project_patterns(tmp_path / "n.ipynb")
    (tmp_path / "sane.cfg").unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        project_patterns(tmp_path / "n.ipynb")


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
