"""f60, f61, f62: what runs unasked is plain and known to read; every trick asks; benign commands mostly do not."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from jupyter_agent.permission.command import parse_command
from jupyter_agent.permission.read_only import is_read_only

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[str]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


TRICKS = lines("shell_tricks.jsonl")
BENIGN = lines("shell_benign.jsonl")


def inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def unasked(command: str) -> bool:
    return is_read_only(parse_command(command), inside=inside, trusted=True)


def test_there_are_enough_cases() -> None:
    assert len(set(TRICKS)) >= 200
    assert len(set(BENIGN)) >= 200


@pytest.mark.parametrize("command", TRICKS)
def test_f60_f61_no_trick_runs_unasked(command: str) -> None:
    assert not unasked(command)


def test_benign_commands_are_rarely_asked_about() -> None:
    asked = [command for command in BENIGN if not unasked(command)]
    assert len(asked) <= len(BENIGN) * 0.05, asked


def test_a_trick_behind_any_benign_command_asks() -> None:
    hidden = ["rm x", "find . -delete", "$(id)", "tee out", "bash"]
    for command, trick, joiner in itertools.product(BENIGN[:60], hidden, (" && ", "; ", " | ", "\n")):
        assert not unasked(command.split(" #")[0] + joiner + trick)


def test_f62_beyond_any_number_of_parts_it_asks() -> None:
    assert not unasked("true && " * 10_000 + "rm x")
    assert not unasked("true && " * 1_000 + "rm x")
    assert unasked("true && " * 100 + "ls")


def test_f64_git_asks_in_a_folder_that_is_not_trusted() -> None:
    assert not is_read_only(parse_command("git status"), inside=inside, trusted=False)


def test_after_cd_no_path_is_taken_for_granted() -> None:
    assert unasked("cd src && ls")
    assert not unasked("cd src && cat link")


def test_contents_ask_where_some_files_must_not_be_read() -> None:
    for command in ("cat x", "grep -r x .", "rg x", "sort x", "sed -n 1p x"):
        assert not is_read_only(parse_command(command), inside=inside, trusted=True, private=True)
    assert is_read_only(parse_command("ls -la"), inside=inside, trusted=True, private=True)
