"""f44: no pattern and no folder makes a search run on: linear time, or a deadline, and bounded results."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tools import all_tools, ripgrep

LIMIT = 100.0
"""Ten seconds, with the slack of a machine that runs other tests beside."""
EVIL = ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"]


@pytest.fixture(params=["ripgrep", "worker"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "worker":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
        # The worker's patterns are not linear: its deadline is what ends them, here a shorter one.
        monkeypatch.setattr(ripgrep, "SECONDS", 2.0)
    return str(request.param)


@pytest.mark.parametrize("pattern", EVIL)
async def test_f44_a_pattern_that_backtracks_for_ever(tmp_path: Path, engine: str, pattern: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("a" * 1_000_000 + "!\n")
    started = time.monotonic()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        result = await call(conversation, "search_code", pattern=pattern)
    assert time.monotonic() - started < LIMIT
    assert not result.is_error
    assert len(text_of(result).encode()) <= 16_000
    assert engine == "ripgrep" or "stopped after 2 s" in text_of(result)


@pytest.mark.parametrize("pattern", EVIL[:1])
async def test_f44_the_same_in_names_and_notebooks(tmp_path: Path, engine: str, pattern: str) -> None:
    from conversations import notebook_file

    root = tmp_path / "root"
    root.mkdir()
    notebook_file(root / "n.ipynb", "a" * 100_000 + "!")
    (root / "a.py").write_text(f"def {'a' * 5_000}_(): pass\n")
    started = time.monotonic()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        assert not (await call(conversation, "search_code", pattern=pattern)).is_error
        assert not (await call(conversation, "search_code", pattern=pattern, kind="symbol")).is_error
        assert not (await call(conversation, "find_files", query="a" * 200 + "!")).is_error
    assert time.monotonic() - started < LIMIT


async def test_f44_bulky_folders_are_not_walked_and_results_are_bounded(tmp_path: Path, engine: str) -> None:
    root = tmp_path / "root"
    for folder in ("node_modules/x", ".git/objects", "__pycache__", "src"):
        (root / folder).mkdir(parents=True)
        for number in range(200):
            (root / folder / f"{number}.js").write_text("needle\n" * 20)
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        result = await call(conversation, "search_code", pattern="needle", limit=100_000)
        assert result.details["total"] == 4_000
        assert {hit["path"].split("/")[0] for hit in result.details["hits"]} == {"src"}
        assert len(result.details["hits"]) <= 500
        assert len(text_of(result).encode()) <= 16_000
        found = await call(conversation, "find_files", query="js", limit=100_000)
        assert found.details["total"] == 200


async def test_f44_counting_stops_at_a_bound(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "COUNTED", 1_000)
    monkeypatch.setattr(ripgrep, "FILES", 50)
    root = tmp_path / "root"
    root.mkdir()
    for number in range(100):
        (root / f"{number}.txt").write_text("needle\n" * 1_000)
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        result = await call(conversation, "search_code", pattern="needle")
        assert text_of(result).startswith("ok more than 1,000 matches, the first 50 shown")
        assert not result.details["complete"]
        found = await call(conversation, "find_files", query="")
        assert found.details["total"] == 50
        assert not found.details["complete"]
