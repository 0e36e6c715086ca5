"""What follows `%agent`: subcommands, options, requests."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_agent.errors import UsageError
from jupyter_agent.magic.options import Request, parse


@pytest.mark.parametrize(
    ("line", "body", "expected"),
    [
        ("status", "", Request("status")),
        ("undo 3", "", Request("undo", ("3",))),
        ("mode plan", "", Request("mode", ("plan",))),
        ("", "", Request("help")),
        ("undo the last edit", "", Request(text="undo the last edit")),
        ("help me with this plot", "", Request(text="help me with this plot")),
        ("status", "of the data?", Request(text="status\nof the data?")),
        ("connect http://x/ secret", "", Request("connect", ("http://x/", "secret"))),
    ],
)
def test_subcommand_or_request(line: str, body: str, expected: Request) -> None:
    assert parse(line, body) == expected


@pytest.mark.parametrize(
    ("line", "options", "text"),
    [
        ("--mode plan Look", {"mode": "plan"}, "Look"),
        ("--mode=auto --new Look --not-an-option", {"mode": "auto", "new": True}, "Look --not-an-option"),
        ("--max-turns 3 --budget 0.5", {"max_turns": 3, "budget": 0.5}, ""),
        ('--notebook "my file.ipynb" Go', {"notebook": "my file.ipynb"}, "Go"),
        ("--allow run_bash --allow 'edit_file(src/*)' Go", {"allow": ["run_bash", "edit_file(src/*)"]}, "Go"),
        ("-- --mode is a word here", {}, "--mode is a word here"),
    ],
)
def test_options(line: str, options: dict[str, Any], text: str) -> None:
    assert parse(line, "") == Request(text=text, options=options)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--colour red Go", "no option --colour"),
        ("--mode sideways Go", "is no mode"),
        ("--max-turns many Go", "greater than 0"),
        ("--budget 0 Go", "greater than 0"),
        ("--model", "value"),
        ('--notebook "unclosed Go', "quotation mark"),
    ],
)
def test_wrong_options_are_told(line: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse(line, "")
