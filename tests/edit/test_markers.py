"""The marker text form: longer fences, variants, and everything cut off or doubled refused."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import EditRefused, edit_bytes, parse_blocks


def fenced(search: str, replace: str, length: int = 7) -> str:
    return f"{'<' * length} SEARCH\n{search}\n{'=' * length}\n{replace}\n{'>' * length} REPLACE"


def test_longer_markers_hold_shorter_ones() -> None:
    conflict = "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> feature"
    inner = fenced("a", "b")
    text = fenced(conflict, inner, 9)
    assert parse_blocks(text) == [(conflict, inner)]
    assert edit_bytes((conflict + "\n").encode(), parse_blocks(text)).decode() == inner + "\n"


def test_a_heading_of_another_length_is_content() -> None:
    assert parse_blocks(fenced("Title\n=====", "Name\n====")) == [("Title\n=====", "Name\n====")]


def test_blank_and_indented_lines_of_content_stay() -> None:
    assert parse_blocks(fenced("\n  a  \n   ", "\n")) == [("\n  a  \n   ", "\n")]


def test_deletion() -> None:
    assert parse_blocks("<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE") == [("a", "")]


def test_code_fence_around_a_block_is_ignored_and_inside_kept() -> None:
    text = "a.md\n```diff\n" + fenced("```sh\nls\n```", "```sh\nls -l\n```") + "\n```\n"
    assert parse_blocks(text) == [("```sh\nls\n```", "```sh\nls -l\n```")]


def test_dash_and_plus_markers() -> None:
    assert parse_blocks("------- SEARCH\na\n=======\nb\n+++++++ REPLACE") == [("a", "b")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "only prose",
        "<<<<<<< SEARCH\na\n=======\nb",
        "<<<<<<< SEARCH\na",
        "<<<<<<< SEARCH\na\n>>>>>>> REPLACE",
        "a\n=======\nb\n>>>>>>> REPLACE",
        fenced("a", "b") + "\n=======",
        fenced("a", "b") + "\n>>>>>>> REPLACE",
        fenced("a", "b\n=======\nc"),
        "<<<<<<< SEARCH\na\n=======\n" + fenced("b", "c"),
        "<<<<<<< SEARCH\na\n" + fenced("b", "c"),
        "<<<<<<< SEARCH\nTitle\n=========\ntext\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE",
        "  <<<<<<< SEARCH\na\n  =======\n  b\n  >>>>>>> REPLACE",
        fenced("a", "b") + "\n<<<<<<< SEARCH\nc\n=======\nd",
    ],
)
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(EditRefused) as caught:
        parse_blocks(text)
    assert caught.value.kind == "syntax"
