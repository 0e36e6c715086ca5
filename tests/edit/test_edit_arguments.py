"""Argument names of other agents' edit tools, where their meaning is clear."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_agent.edit.arguments import EditArguments, read_arguments
from jupyter_agent.errors import BadArguments

PAIR = (("a", "b"),)

UNDERSTOOD: list[tuple[dict[str, Any], EditArguments]] = [
    ({"path": "x", "blocks": [{"search": "a", "replace": "b"}]}, EditArguments(PAIR, "x")),
    ({"blocks": {"search": "a", "replace": "b"}}, EditArguments(PAIR)),
    ({"blocks": json.dumps([{"search": "a", "replace": "b"}])}, EditArguments(PAIR)),
    ({"blocks": [["a", "b"]], "start_line": "3", "end_line": 4}, EditArguments(PAIR, None, 3, 4)),
    ({"file_path": "x", "old_string": "a", "new_string": "b"}, EditArguments(PAIR, "x")),
    ({"old_string": "a", "new_string": "b", "replace_all": True}, EditArguments(PAIR, replace_all=True)),
    ({"old_string": "a\n", "new_string": ""}, EditArguments((("a", ""),))),
    ({"old_string": "a\n", "new_string": "b\nc\n"}, EditArguments((("a", "b\nc"),))),
    ({"old_string": "a\n", "new_string": "b"}, EditArguments((("a\n", "b"),))),
    ({"edits": [{"old_string": "a", "new_string": "b"}, {"oldText": "c", "newText": "d"}]},
     EditArguments((("a", "b"), ("c", "d")))),
    ({"edits": [{"old_string": "a", "new_string": "b", "replace_all": True}]}, EditArguments(PAIR, replace_all=True)),
    ({"old_string": "a", "new_string": "b", "expected_replacements": 2}, EditArguments(PAIR, expected_count=2)),
    ({"diff": "------- SEARCH\na\n=======\nb\n+++++++ REPLACE"}, EditArguments(PAIR)),
    ({"text": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"}, EditArguments(PAIR)),
    ({"blocks": [{"search": "a", "replace": "b", "start_line": 3, "end_line": 5}]}, EditArguments(PAIR, None, 3, 5)),
    ({"search": "a", "replace": "b", "expected_count": 2.0}, EditArguments(PAIR, expected_count=2)),
    ({"blocks": []}, EditArguments(())),
    ({"path": "x", "file_path": "x", "old_str": "a", "new_str": "b"}, EditArguments(PAIR, "x")),
]  # fmt: skip

REFUSED: list[dict[str, Any]] = [
    {},
    {"path": "x"},
    {"old_string": "a"},
    {"blocks": [{"search": "a"}]},
    {"blocks": ["a"]},
    {"blocks": "not json"},
    {"blocks": [{"search": "a", "replace": "b"}], "old_string": "c", "new_string": "d"},
    {"old_string": "a", "search": "c", "new_string": "b"},
    {"path": "x", "file_path": "y", "old_string": "a", "new_string": "b"},
    {"old_string": 3, "new_string": "b"},
    {"old_string": "a", "new_string": "b", "replace_all": "perhaps"},
    {"old_string": "a", "new_string": "b", "expected_replacements": True},
    {"edits": [{"search": "a", "replace": "b", "replace_all": True}, {"search": "c", "replace": "d"}]},
    {"blocks": [{"search": "a", "replace": "b", "start_line": 3}, {"search": "c", "replace": "d", "start_line": 9}]},
    {"old_string": "a", "new_string": "b", "expected_count": 1.5},
]


@pytest.mark.parametrize(("arguments", "meant"), UNDERSTOOD)
def test_understood(arguments: dict[str, Any], meant: EditArguments) -> None:
    assert read_arguments(arguments) == meant


@pytest.mark.parametrize("arguments", REFUSED)
def test_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(BadArguments):
        read_arguments(arguments)
