"""`jupyter agent refactor` as a whole process: planned, proved, applied, taken back; nothing written without proof."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conversations import code_cell, notebook_file
from program import run_program

from jupyter_agent.cli.main import main

Json = dict[str, Any]

SLACK = 10.0
IMPORTS = ("x = [3, 1, 2]", "import statistics\nprint(statistics.mean(x))", "print(sorted(x))")


def markdown(id: str, source: str) -> Json:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": [source]}


def saved(path: Path) -> list[Json]:
    cells: list[Json] = json.loads(path.read_text())["cells"]
    return cells


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in saved(path)]


def lines_of(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines()]


def test_dry_run_shows_the_difference_of_each_cell_and_writes_nothing(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", *IMPORTS)
    before = notebook.read_bytes()
    done = run_program("refactor", "hoist-imports", "a.ipynb", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-import statistics" in done.stdout
    assert "+import statistics" in done.stdout
    assert "proven: 4 same" in done.stdout
    assert "--write applies it" in done.stdout
    assert notebook.read_bytes() == before
    assert json.loads(run_program("conversations", "--json", cwd=tmp_path).stdout) == []


def test_written_when_proved_and_undone_to_the_byte(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", *IMPORTS)
    before = notebook.read_bytes()
    done = run_program("refactor", "hoist-imports", "a.ipynb", "--write", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sources(notebook)[0] == "import statistics"
    assert "undo" in done.stdout
    undone = run_program("undo", cwd=tmp_path)
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert notebook.read_bytes() == before
    listed = json.loads(run_program("conversations", "--json", cwd=tmp_path).stdout)
    assert listed[0]["title"] == "/refactor hoist-imports a.ipynb"


def test_changed_outputs_are_shown_and_nothing_is_written(tmp_path: Path) -> None:
    # The name of the function is part of what the notebook prints, which no data flow can see.
    notebook = notebook_file(tmp_path / "a.ipynb", "def area(r):\n    return r * r", "print(area.__name__, area(2))")
    before = notebook.read_bytes()
    done = run_program(
        "refactor", "rename", "a.ipynb", "--set", "old=area", "--set", "new=square", "--write", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "c2: changed" in done.stdout
    assert "+square 4" in done.stdout
    assert "Outputs would change, so nothing was written" in done.stdout
    assert notebook.read_bytes() == before
    forced = run_program(
        *("refactor", "rename", "a.ipynb", "--set", "old=area", "--set", "new=square", "--write", "--no-verify"),
        cwd=tmp_path,
    )
    assert forced.returncode == 0
    assert "square" in notebook.read_text()


def test_what_cannot_be_proved_is_not_written(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "import secrets\nprint(secrets.token_hex())", "import os")
    before = notebook.read_bytes()
    done = run_program("refactor", "hoist-imports", "a.ipynb", "--write", "--json", cwd=tmp_path)
    assert done.returncode == 1
    (line,) = lines_of(done.stdout)
    assert line["status"] == "unproven"
    assert line["written"] is False
    assert line["proof"]["status"] == "unproven"
    assert "not_deterministic" in {cell["verdict"] for cell in line["proof"]["cells"]}
    assert notebook.read_bytes() == before


def test_a_refusal_has_its_reason_and_exit_1(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1\nx", "y = 2")
    done = run_program("refactor", "merge-cells", "a.ipynb", "--set", "cells=c1,c2", "--write", cwd=tmp_path)
    assert done.returncode == 1
    assert "a.ipynb: refused: cell c1 was not run, and its last line may show a value" in done.stdout
    assert len(saved(notebook)) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "a.ipynb"], "The recipes are: split-cell"),
        (["rename", "a.ipynb", "--set", "old=x"], "rename needs new"),
        (["rename", "a.ipynb", "--set", "olt=x"], "has no parameter 'olt'"),
        (["hoist-imports", "a.ipynb", "--set", "x"], "--set KEY=VALUE"),
        (["hoist-imports", "missing.ipynb"], "missing.ipynb"),
        (["rename"], "Name at least one notebook"),
        (["merge-cells,merge-cells", "a.ipynb", "--set", "cells=c1"], "1.cells or 2.cells"),
        (["hoist-imports,rename", "a.ipynb", "--set", "3.old=x"], "the steps are 1 to 2"),
        (["hoist-imports", "a.ipynb", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "not allowed with"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    notebook_file(tmp_path / "a.ipynb", "x = 1")
    done = run_program("refactor", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_to_do_is_fine(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "import os\nprint(1)")
    before = notebook.read_bytes()
    done = run_program("refactor", "order-cells", "a.ipynb", "--write", cwd=tmp_path)
    assert done.returncode == 0
    assert "nothing to do" in done.stdout
    assert notebook.read_bytes() == before


@pytest.mark.parametrize(("shown", "code"), [("1\n", 0), ("7\n", 1)])
def test_cells_out_of_order_are_proved_by_the_stored_outputs(tmp_path: Path, shown: str, code: int) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": [shown]}
    cells = [code_cell("use", "print(x)", outputs=[output], execution_count=2), code_cell("make", "x = 1")]
    cells[1]["execution_count"] = 1
    notebook = notebook_file(tmp_path / "a.ipynb", cells=cells)
    done = run_program("refactor", "order-cells", "a.ipynb", "--write", cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    if code == 0:
        assert [cell["id"] for cell in saved(notebook)] == ["make", "use"]
        assert "stored outputs were compared" in done.stdout
    else:
        assert [cell["id"] for cell in saved(notebook)] == ["use", "make"]
        assert "could not be proved" in done.stdout


def test_outputs_are_stripped_without_running_anything(tmp_path: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    cell = code_cell("c1", "open('ran', 'w'); raise SystemExit", outputs=[output], execution_count=1)
    notebook = notebook_file(tmp_path / "a.ipynb", cells=[cell])
    done = run_program("refactor", "strip-outputs", "a.ipynb", "--write", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert saved(notebook)[0]["outputs"] == []
    assert not (tmp_path / "ran").exists()
    assert "nothing had to be run" in done.stdout


# ------------------------------------------------------------------------------------------------------- steps in a row

MESS = [
    markdown("title", "# Circles"),
    code_cell("c1", "import math"),
    code_cell("a1", "r = 2\narea = math.pi * r ** 2\nprint(f'{area:.2f}')"),
    code_cell("a2", "r = 3\narea = math.pi * r ** 2\nprint(f'{area:.2f}')"),
    code_cell("c2", "import json\nprint(json.dumps({'last': round(area)}))"),
    code_cell("dead", "unused = 4"),
]


def test_recipes_in_a_row_are_one_change_proved_as_a_whole(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", cells=MESS)
    before = notebook.read_bytes()
    steps = "hoist-imports,remove-dead,rename,to-script"
    arguments = ["--set", "old=area", "--set", "new=surface", "--set", "path=circles.py"]
    done = run_program("refactor", steps, "a.ipynb", *arguments, "--write", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = lines_of(done.stdout)
    assert (line["status"], line["written"], line["files"]) == ("proven", True, ["circles.py"])
    assert (line["cells_before"], line["cells_after"]) == (6, 5)
    assert "surface" in (tmp_path / "circles.py").read_text()
    assert "import json" in sources(notebook)[1]
    assert run_program("undo", cwd=tmp_path).returncode == 0
    assert notebook.read_bytes() == before
    assert not (tmp_path / "circles.py").exists()


def test_a_refused_step_refuses_all(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", cells=MESS)
    before = notebook.read_bytes()
    arguments = ["--set", "old=nowhere", "--set", "new=here", "--write"]
    done = run_program("refactor", "hoist-imports,rename", "a.ipynb", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "step 2, rename: no cell binds nowhere" in done.stdout
    assert notebook.read_bytes() == before


# ------------------------------------------------------------------------------------------------------ every recipe

RECIPES: list[tuple[str, list[str]]] = [
    ("split-cell", ["cell=c2", "at=2"]),
    ("merge-cells", ["cells=c1,c2"]),
    ("extract-function", ["cell=c4", "name=total"]),
    ("extract-module", ["cells=c3", "path=tools.py"]),
    ("rename", ["old=numbers", "new=values", "text=true"]),
    ("hoist-imports", []),
    ("order-cells", []),
    ("remove-dead", []),
    ("parameterize", ["name=start"]),
    ("to-script", ["path=whole.py"]),
    ("strip-outputs", []),
    ("fix-lint", []),
]
FORMS = {
    "nbformat 4.5": {},
    "tabs, CRLF, no ids": {"indent": "\t", "minor": 2, "crlf": True},
}


def everything() -> list[Json]:
    stored = [{"output_type": "stream", "name": "stdout", "text": ["6\n"]}]
    return [
        markdown("m", "About `numbers`"),
        code_cell("c1", "start = 1  # where we begin"),
        code_cell("c2", "numbers = [start, 2, 3]\nother = len(numbers)", metadata={"tags": ["keep"], "own": {"b": 1}}),
        code_cell("c3", "def double(x):\n    return 2 * x"),
        code_cell(
            "c4", "import math\ns = 0\nfor n in numbers:\n    s += n\nprint(s)", outputs=stored, execution_count=4
        ),
        code_cell("c5", "print(math.floor(double(s)), other)"),
        code_cell("c6", "unused = 1"),
        code_cell("c7", "print(f'{early}')", metadata={"tags": ["raises-exception"]}),
    ]


def body(form: Json) -> bytes:
    cells = everything()
    if form.get("minor", 5) < 5:
        cells = [{key: value for key, value in cell.items() if key != "id"} for cell in cells]
    whole = {
        "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "ü"}},
        "nbformat": 4,
        "cells": cells,
        "nbformat_minor": form.get("minor", 5),
    }
    text = json.dumps(whole, indent=form.get("indent", 1), ensure_ascii=form.get("crlf", False))
    return (text.replace("\n", "\r\n") if form.get("crlf") else text).encode()


@pytest.mark.parametrize("form", FORMS)
def test_undo_restores_the_bytes_of_every_recipe(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = body(FORMS[form])
    written = set()
    for recipe, settings in RECIPES:
        folder = tmp_path / recipe
        folder.mkdir()
        monkeypatch.chdir(folder)
        notebook = folder / "a.ipynb"
        notebook.write_bytes(before)
        ids = outline(notebook, capsys)
        chosen = [word for setting in settings for word in ("--set", _with_ids(setting, ids))]
        code = main(["refactor", recipe, "a.ipynb", *chosen, "--write", "--no-verify", "--json"])
        (line,) = lines_of(capsys.readouterr().out)
        assert code == 0, (recipe, line)
        if not line["written"]:
            assert line["status"] == "unchanged", (recipe, line)
            assert notebook.read_bytes() == before
            continue
        written.add(recipe)
        made = [path for path in folder.iterdir() if path != notebook]
        assert notebook.read_bytes() != before or made, recipe
        assert main(["undo"]) == 0, (recipe, capsys.readouterr().out)
        capsys.readouterr()
        assert notebook.read_bytes() == before, recipe
        assert [path.name for path in folder.iterdir()] == ["a.ipynb"], recipe
    assert written >= {recipe for recipe, _ in RECIPES} - {"order-cells", "fix-lint"}


def outline(notebook: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Our names of the cells to the ids they have in the file, or get when it is opened."""
    main(["tool", "read_cells", "{}", "--notebook", notebook.name, "--json"])
    found = [cell["id"] for cell in json.loads(capsys.readouterr().out)["details"]["cells"]]
    return dict(zip([cell["id"] for cell in everything()], found, strict=True))


def _with_ids(setting: str, ids: dict[str, str]) -> str:
    key, _, value = setting.partition("=")
    return (
        f"{key}={','.join(ids.get(part, part) for part in value.split(','))}" if key in ("cell", "cells") else setting
    )


# ----------------------------------------------------------------------------------------------------- many notebooks


def test_many_notebooks_with_table_junit_and_one_undo(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    good = notebook_file(folder / "good.ipynb", *IMPORTS)
    late = notebook_file(tmp_path / "late.ipynb", "print(1)", "import os")
    bad = notebook_file(tmp_path / "bad.ipynb", "print(1)", "import sys\nprint(sys.nothing)")
    (tmp_path / "broken.ipynb").write_text('{"cells": [')
    before = {path: path.read_bytes() for path in (good, late, bad)}
    names = ["inner/good.ipynb", "late.ipynb", "bad.ipynb", "broken.ipynb"]
    done = run_program(
        *("refactor", "hoist-imports", *names, "--write", "--jobs", "2", "--junit", "out/report.xml"), cwd=tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 notebooks: 2 proven, 1 unproven, 1 error" in done.stdout
    assert good.read_bytes() != before[good]
    assert late.read_bytes() != before[late]
    assert bad.read_bytes() == before[bad]
    import xml.etree.ElementTree as ElementTree

    suites = ElementTree.parse(tmp_path / "out" / "report.xml").getroot()
    assert {suite.get("name") for suite in suites} == set(names)
    assert suites.find("testsuite[@name='broken.ipynb']/testcase/error") is not None
    assert suites.find("testsuite[@name='bad.ipynb']/testcase/skipped") is not None
    assert run_program("undo", cwd=tmp_path).returncode == 0
    assert {path: path.read_bytes() for path in before} == before


def started(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "jupyter_agent", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(condition: Any, seconds: float = 6 * SLACK) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_kernels_are_ended_and_files_are_whole(tmp_path: Path, number: signal.Signals) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    quick = notebook_file(tmp_path / "quick.ipynb", "print(1)", "import os")
    tell = f"import os, pathlib, time\npathlib.Path({str(marks)!r}, str(os.getpid())).touch()\ntime.sleep(600)"
    slow = notebook_file(tmp_path / "slow.ipynb", tell, "import json")
    before = slow.read_bytes()
    process = started(
        *("refactor", "hoist-imports", "quick.ipynb", "slow.ipynb", "--write", "--junit", "report.xml"), cwd=tmp_path
    )
    try:
        until(lambda: any(marks.iterdir()))
        process.send_signal(number)
        output, errors = process.communicate(timeout=3 * SLACK)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "slow.ipynb   not done" in output
    assert slow.read_bytes() == before
    assert sources(quick)[0] == "import os"
    pids = [int(path.name) for path in marks.iterdir()]
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    assert "quick.ipynb" in (tmp_path / "report.xml").read_text()


def test_a_notebook_changed_while_it_is_proved_is_not_written(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    go = tmp_path / "go"
    code = (
        f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.02)"
    )
    notebook = notebook_file(tmp_path / "a.ipynb", code, "import json", "print(1)")
    process = started("refactor", "hoist-imports", "a.ipynb", "--write", cwd=tmp_path)
    try:
        until(mark.exists)
        theirs = notebook.read_text().replace("print(1)", "print('mine')")
        notebook.write_text(theirs)
        go.touch()
        output, errors = process.communicate(timeout=9 * SLACK)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1, output + errors
    assert "changed while it was refactored" in output
    assert notebook.read_text() == theirs
