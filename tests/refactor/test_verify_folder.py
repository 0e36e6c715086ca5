"""Files of a run: the person's folder is read through a copy, and stays as it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from refactor.verify_helpers import PYTHON, code, notebook, nothing_left_behind, verdicts

from jupyter_agent.errors import UsageError
from jupyter_agent.refactor.verify import verify
from jupyter_agent.refactor.verify_config import project_patterns
from jupyter_agent.refactor.verify_copy import folder_copy, project_of
from jupyter_agent.refactor.verify_run import run_fresh

__all__ = ["nothing_left_behind"]


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
