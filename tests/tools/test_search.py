"""search_code and find_files, with ripgrep and without, in files and in notebooks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conversations import code_cell, notebook_file

from jupyter_agent.conversation import Conversation
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tools import all_tools, ripgrep
from jupyter_agent.tools.search import rank_files
from jupyter_agent.tools.symbols import symbols


@pytest.fixture(params=["ripgrep", "worker"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs on both engines and must give the same."""
    if request.param == "worker":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
    else:
        assert ripgrep.program() is not None
    return str(request.param)


@asynccontextmanager
async def desk(tmp_path: Path, **files: str) -> AsyncIterator[Conversation]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    async with conversation_on(root, all_tools(), folder=tmp_path / "conversation") as conversation:
        yield conversation


async def lines(made: Conversation, pattern: str, **arguments: Any) -> list[str]:
    result = await call(made, "search_code", pattern=pattern, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result).split("\n")


pytestmark = pytest.mark.usefixtures("engine")


async def test_every_hit_is_path_and_line(tmp_path: Path) -> None:
    files = {"b.py": "x = 1\nneedle = 2\n", "src__a.py": "needle()\n\nneedle\n", "other.txt": "no\n"}
    async with desk(tmp_path, **files) as made:
        assert await lines(made, "needle") == [
            "ok 3 matches",
            "b.py:2: needle = 2",
            "src/a.py:1: needle()",
            "src/a.py:3: needle",
        ]
        assert await lines(made, r"^needle\(", path="src") == ["ok 1 match", "src/a.py:1: needle()"]
        assert await lines(made, "needle", path="b.py") == ["ok 1 match", "b.py:2: needle = 2"]
        assert await lines(made, "needle", glob="src/**") == ["ok 2 matches", *(await lines(made, "needle"))[2:]]
        assert await lines(made, "needle", glob="!*.py") == ["ok no matches"]
        assert await lines(made, "NEEDLE") == ["ok no matches"]
        assert await lines(made, "(?i)NEEDLE", path="b.py") == ["ok 1 match", "b.py:2: needle = 2"]


async def test_the_total_is_stated_when_it_is_cut(tmp_path: Path) -> None:
    async with desk(tmp_path, **{f"f{n}.txt": "needle\n" * 10 for n in range(20)}) as made:
        found = await lines(made, "needle")
        assert found[0] == "ok 200 matches, the first 50 shown; narrow the search, or raise limit"
        assert len(found) == 51
        assert len(await lines(made, "needle", limit=120)) == 121


async def test_context_lines_are_marked_and_groups_parted(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 21)).replace("line 5\n", "needle\n").replace("line 15\n", "needle\n")
    async with desk(tmp_path, **{"a.txt": text}) as made:
        assert (await lines(made, "needle", context=1))[1:] == [
            "a.txt-4- line 4",
            "a.txt:5: needle",
            "a.txt-6- line 6",
            "--",
            "a.txt-14- line 14",
            "a.txt:15: needle",
            "a.txt-16- line 16",
        ]


async def test_what_is_no_regular_expression_is_searched_literally(tmp_path: Path) -> None:
    async with desk(tmp_path, **{"a.py": "foo(bar\n"}) as made:
        found = await lines(made, "foo(bar")
        assert "searched literally" in found[1]
        assert found[2] == "a.py:1: foo(bar"


async def test_cells_of_notebooks_are_searched_by_id_and_outputs_only_when_asked(tmp_path: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["needle printed\n"]}
    async with desk(tmp_path, **{"a.py": "needle\n"}) as made:
        notebook_file(
            tmp_path / "root" / "n.ipynb",
            "x = 1\nprint('needle \"quoted\"')",
            cells=[
                code_cell("more", "y", outputs=[output]),
                {"cell_type": "markdown", "id": "md", "metadata": {}, "source": "# The needle"},
            ],
        )
        assert await lines(made, "needle") == [
            "ok 3 matches",
            "a.py:1: needle",
            "n.ipynb#c1:2: print('needle \"quoted\"')",
            "n.ipynb#md:1: # The needle",
        ]
        assert "n.ipynb#more/outputs:1: needle printed" in await lines(made, "needle", outputs=True)
        assert await lines(made, '"quoted"', path="n.ipynb", context=1) == [
            "ok 1 match",
            "n.ipynb#c1-1- x = 1",
            "n.ipynb#c1:2: print('needle \"quoted\"')",
        ]
        assert await lines(made, "needle", glob="*.py") == ["ok 1 match", "a.py:1: needle"]
        assert len(await lines(made, "needle", glob="*.ipynb")) == 3


async def test_ids_of_old_notebooks_are_those_that_read_cells_shows(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        cells = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "needle"}]
        notebook_file(tmp_path / "root" / "old.ipynb", cells=cells, minor=4)
        read = await call(made, "read_cells", path="old.ipynb")
        assert await lines(made, "needle") == ["ok 1 match", f"old.ipynb#{read.details['cells'][0]['id']}:1: needle"]


async def test_a_broken_notebook_is_named_and_the_rest_is_searched(tmp_path: Path) -> None:
    async with desk(tmp_path, **{"broken.ipynb": "{needle", "a.py": "needle\n"}) as made:
        found = await lines(made, "needle")
        assert found[0] == "ok 1 match"
        assert "could not be read: broken.ipynb" in found[1]


async def test_definitions_by_name_in_files_and_cells(tmp_path: Path) -> None:
    files = {
        "a.py": "LIMIT = 3\n\nclass Needle:\n    def thread(self):\n        needle = 1\n\nasync def needle(): ...\n",
        "b.ts": "export interface NeedleShape { a: number }\nconst needleCount = 1\n",
        "c.go": "package x\n\nfunc Needle() {}\n",
        "d.txt": "def needle(): pass\n",
    }
    async with desk(tmp_path, **files) as made:
        notebook_file(tmp_path / "root" / "n.ipynb", "%matplotlib inline\ndef needle_plot():\n    pass")
        found = await lines(made, "(?i)needle", kind="symbol")
        assert found[0] == "ok 6 matches"
        assert "a.py:3: class Needle: class Needle:" in found
        assert "a.py:7: function needle: async def needle(): ..." in found
        assert "b.ts:1: interface NeedleShape: export interface NeedleShape { a: number }" in found
        assert "b.ts:2: variable needleCount: const needleCount = 1" in found
        assert "c.go:3: function Needle: func Needle() {}" in found
        assert "n.ipynb#c1:2: function needle_plot: def needle_plot():" in found
        exact = await lines(made, "needle", kind="symbol")
        assert exact[1] == "a.py:7: function needle: async def needle(): ..."
        assert (await lines(made, "^LIMIT$", kind="symbol"))[1] == "a.py:1: variable LIMIT: LIMIT = 3"


async def test_ignored_hidden_and_bulky_places_are_left_out(tmp_path: Path) -> None:
    files = {
        ".gitignore": "build/\n",
        ".agentignore": "private/\n*.secret\n",
        "build__x.py": "needle\n",
        "node_modules__x.js": "needle\n",
        ".git__config": "needle\n",
        ".hidden__x": "needle\n",
        "private__x.py": "needle\n",
        "deep__a.secret": "needle\n",
        "deep__b.py": "needle\n",
    }
    async with desk(tmp_path, **files) as made:
        (tmp_path / "root" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        assert await lines(made, "needle") == ["ok 1 match", "deep/b.py:1: needle"]
        found = await call(made, "find_files", query="")
        assert found.details["files"] == ["deep/b.py"]
        assert found.content[0]["text"] == "ok 1 file\ndeep/b.py"
        assert (await call(made, "find_files", query="secret")).details["total"] == 0
        for path in ("private", "private/x.py", "deep/a.secret"):
            result = await call(made, "search_code", pattern="needle", path=path)
            assert result.details["refused"]["kind"] == "ignored"


async def test_long_lines_are_shown_around_the_match(tmp_path: Path) -> None:
    async with desk(tmp_path, **{"a.js": "é" * 5000 + "needle" + "y" * 5000 + "\n"}) as made:
        (hit,) = (await lines(made, "needle"))[1:]
        assert "needle" in hit
        assert len(hit) < 330


async def test_files_that_are_no_text_and_odd_names(tmp_path: Path) -> None:
    async with desk(tmp_path, **{"-rf": "needle\n", "with space.txt": "needle\n"}) as made:
        (tmp_path / "root" / "x.bin").write_bytes(b"\0needle\n")
        (tmp_path / "root" / "latin.txt").write_bytes(b"caf\xe9 needle\n")
        assert await lines(made, "needle") == [
            "ok 3 matches",
            "-rf:1: needle",
            "latin.txt:1: caf\ufffd needle",
            "with space.txt:1: needle",
        ]
        assert await lines(made, "-rf|needle", path="-rf") == ["ok 1 match", "-rf:1: needle"]


async def test_a_pattern_that_starts_with_a_dash_is_a_pattern(tmp_path: Path) -> None:
    async with desk(tmp_path, **{"a.txt": "--files\n"}) as made:
        assert await lines(made, "--files") == ["ok 1 match", "a.txt:1: --files"]


async def test_finding_files_by_glob_and_by_rough_name(tmp_path: Path) -> None:
    files = {"src__models__user_account.py": "", "src__user.py": "", "tests__test_user.py": "", "data__a.csv": ""}
    async with desk(tmp_path, **files) as made:

        async def find(query: str, **more: Any) -> list[str]:
            result = await call(made, "find_files", query=query, **more)
            found: list[str] = result.details["files"]
            return found

        assert await find("user.py") == ["src/user.py", "tests/test_user.py"]
        assert await find("usracc") == ["src/models/user_account.py"]
        assert await find("*.csv") == ["data/a.csv"]
        assert await find("src/**/*.py") == ["src/models/user_account.py", "src/user.py"]
        assert await find("user", path="src") == ["src/user.py", "src/models/user_account.py"]
        assert await find("nothing like it") == []
        assert len(await find("", limit=2)) == 2
        assert (await call(made, "find_files", query="", limit=2)).details["total"] == 4
        assert (await call(made, "find_files", query="x", path="data/a.csv")).is_error


def test_ranking_prefers_whole_names() -> None:
    names = ["a/config.py", "config/readme.md", "reconfigure.py", "config.py", "c_o_n_f_i_g.txt", "z/config.yaml"]
    assert rank_files("config", names)[:3] == ["config.py", "a/config.py", "z/config.yaml"]
    assert rank_files("config.py", names)[0] == "config.py"
    assert rank_files("cnfg", names)


def test_definitions_nest_and_survive_broken_sources() -> None:
    deep = b"(" * 20_000
    assert symbols(deep, "python") == []
    found = symbols(b"class A:\n  x = 1\n  def f(self):\n    y = 2\n    def g(): pass\nbroken (\n", "python")
    assert [(symbol.kind, symbol.name, symbol.line) for symbol in found] == [
        ("class", "A", 1),
        ("variable", "x", 2),
        ("function", "f", 3),
        ("function", "g", 5),
    ]
    assert symbols(b"int add(int a, int b) { return a + b; }\n", "c")[0].name == "add"
    assert symbols(b"x", "no such language") == []
