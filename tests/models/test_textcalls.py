"""Tool calls written as text: every form seen from small models, and what must stay text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_agent.models.holdback import Holdback
from jupyter_agent.models.protocol import Reply, TokenCount
from jupyter_agent.models.textcalls import parse, with_text_calls

NAMES = ["read_cells", "run_cells", "edit_cells", "edit_file", "run_code", "run_bash"]
CALL = '{"name": "run_cells", "arguments": {"cells": ["a"]}}'
RUN: tuple[str, Any] = ("run_cells", {"cells": ["a"]})

FORMS: dict[str, str] = {
    "fence": f"I run it.\n```json\n{CALL}\n```",
    "fence without language": f"I run it.\n\n```\n{CALL}\n```\n",
    "fence that is not closed": f"I run it.\n```json\n{CALL}",
    "longer fence": f"I run it.\n````json\n{CALL}\n````",
    "indented fence": f"I run it.\n  ```json\n  {CALL}\n  ```",
    "bare": f"I run it.\n{CALL}",
    "bare over lines": "I run it.\n" + json.dumps(json.loads(CALL), indent=2),
    "tool_call tag": f"I run it.\n<tool_call>\n{CALL}\n</tool_call>",
    "tag that is not closed": f"I run it.\n<tool_call>\n{CALL}",
    "tools tag": f"I run it.\n<tools>{CALL}</tools>",
    "function tag": 'I run it.\n<function=run_cells>{"cells": ["a"]}</function>',
    "mistral": f"I run it.\n[TOOL_CALLS] [{CALL}]",
    "list": f"I run it.\n```json\n[{CALL}]\n```",
    "parameters": 'I run it.\n```json\n{"name": "run_cells", "parameters": {"cells": ["a"]}}\n```',
    "input": 'I run it.\n```json\n{"type": "tool_use", "id": "1", "name": "run_cells", "input": {"cells": ["a"]}}\n```',
    "action": 'I run it.\n```json\n{"action": "run_cells", "action_input": {"cells": ["a"]}}\n```',
    "spread": 'I run it.\n```json\n{"name": "run_cells", "cells": ["a"]}\n```',
    "prefixed name": 'I run it.\n```json\n{"name": "functions.run_cells", "arguments": {"cells": ["a"]}}\n```',
    "function object": f'I run it.\n{{"type": "function", "function": {CALL}}}',
    "arguments as string": 'I run it.\n{"name": "run_cells", "arguments": "{\\"cells\\": [\\"a\\"]}"}',
    "tool_calls": f'I run it.\n{{"tool_calls": [{CALL}]}}',
    "a list where an object is meant": 'I run it.\n{"name": "run_cells", "arguments": [{"cells": ["a"]}]}',
    "single quotes": "I run it.\n```json\n{'name': 'run_cells', 'arguments': {'cells': ['a']}}\n```",
    "python call": 'I run it.\n```tool_code\nrun_cells(cells=["a"])\n```',
}


@pytest.mark.parametrize("form", FORMS)
def test_form(form: str) -> None:
    found = parse(FORMS[form], NAMES)
    assert list(found.calls) == [RUN]
    assert found.text == "I run it."


def test_several_calls_keep_their_order_and_the_prose_around() -> None:
    text = (
        f'First.\n```json\n{CALL}\n```\nThen.\n<tool_call>{{"name": "read_cells", "arguments": {{}}}}</tool_call>\nEnd.'
    )
    found = parse(text, NAMES)
    assert list(found.calls) == [RUN, ("read_cells", {})]
    assert found.text == "First.\n\nThen.\n\nEnd."


def test_several_objects_in_one_fence() -> None:
    assert list(parse(f"```json\n{CALL}\n{CALL}\n```", NAMES).calls) == [RUN, RUN]


def test_code_in_arguments_survives() -> None:
    code = 'for i in range(3):\n    print("```", {"name": i})\n'
    text = json.dumps({"name": "run_code", "arguments": {"code": code}})
    for form in (f"<tool_call>{text}</tool_call>", text, f"```json\n{text}\n```"):
        assert list(parse(form, NAMES).calls) == [("run_code", {"code": code})]


def test_wrong_escapes_and_raw_newlines_are_read() -> None:
    fence = '```json\n{"name": "run_bash", "arguments": {"command": "grep \\d+ x"}}\n```'
    assert list(parse(fence, NAMES).calls) == [("run_bash", {"command": "grep \\d+ x"})]
    raw = '{"name": "run_code", "arguments": {"code": "a\nb"}}'
    assert list(parse(raw, NAMES).calls) == [("run_code", {"code": "a\nb"})]
    python = "```python\n{'name': 'run_code', 'arguments': {'code': '''x = \"1\"\ny'''}}\n```"
    assert list(parse(python, NAMES).calls) == [("run_code", {"code": 'x = "1"\ny'})]


@pytest.mark.parametrize(
    "text",
    [
        "Just prose about run_cells.",
        '```json\n{"name": "Ada", "age": 36}\n```',
        '{"name": "delete_everything", "arguments": {}}',
        "```python\ndf = run_cells\nprint(df)\n```",
        "```python\nrun_cells(x, y)\n```",
        '```json\n{"rows": [1, 2]}\n```',
        f"```json\n{CALL[:-1]}\n```",
        f"The call `{CALL}` inside a line.",
        "[1, 2, 3]",
        "",
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    found = parse(text, NAMES)
    assert list(found.calls) == []
    assert found.text == text


def marker(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replacement}>>>>>>> REPLACE"


@pytest.mark.parametrize("header", ["src/a.py", "**src/a.py**", "# file: src/a.py", "`src/a.py`:", "File: src/a.py"])
@pytest.mark.parametrize("fence", [False, True])
def test_marker_blocks_under_a_path(header: str, fence: bool) -> None:
    blocks = marker("x = 1\n", "x = 2\n") + "\n\n" + marker("y\n", "")
    body = f"```python\n{blocks}\n```" if fence else blocks
    found = parse(f"I change it.\n\n{header}\n{body}\nDone.", NAMES)
    wanted = {"path": "src/a.py", "blocks": [{"search": "x = 1", "replace": "x = 2"}, {"search": "y", "replace": ""}]}
    assert list(found.calls) == [("edit_file", wanted)]
    assert found.text == "I change it.\n\nDone."


def test_marker_blocks_of_two_targets() -> None:
    text = "a.py\n" + marker("x\n", "y\n") + "\ncell abc-1\n" + marker("u\n", "v\n")
    found = parse(text, NAMES)
    edit = {"op": "edit", "cell": "abc-1", "blocks": [{"search": "u", "replace": "v"}]}
    assert list(found.calls) == [
        ("edit_file", {"path": "a.py", "blocks": [{"search": "x", "replace": "y"}]}),
        ("edit_cells", {"ops": [edit]}),
    ]


def test_marker_block_without_a_target_or_end_stays_text() -> None:
    for text in (
        marker("x\n", "y\n"),
        "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n",
        "It is so, see:\n" + marker("x\n", "y\n"),
    ):
        assert list(parse(text, NAMES).calls) == []


def reply(text: str, stop_reason: str = "end_turn") -> Reply:
    return Reply(text, "", [], stop_reason, "m", [{"type": "text", "text": text}], TokenCount(1, 1))


def test_reply_carries_calls_and_keeps_what_the_model_wrote() -> None:
    before = reply(FORMS["fence"])
    after = with_text_calls(before, NAMES, 7)
    assert after.text_calls
    assert [(call.id, call.name, call.arguments) for call in after.calls] == [("text_7_0", *RUN)]
    assert after.raw == before.raw
    assert with_text_calls(reply("Nothing."), NAMES, 7) == reply("Nothing.")


def test_a_call_cut_by_the_output_limit_is_named_and_not_made() -> None:
    cut = '```json\n{"name": "run_code", "arguments": {"code": "shutil.rmtree('
    after = with_text_calls(reply(cut, "max_tokens"), NAMES, 1)
    assert (list(after.calls), after.cut) == ([], "run_code")
    assert with_text_calls(reply(cut), NAMES, 1).cut is None


def streamed(text: str, size: int, calls: bool) -> str:
    shown: list[str] = []
    hold = Holdback(lambda block, piece: shown.append(piece))
    for start in range(0, len(text), size):
        hold.feed("text", text[start : start + size])
    hold.finish(withheld_were_calls=calls)
    return "".join(shown)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_stream_shows_prose_and_code_but_no_calls(size: int) -> None:
    prose = "I look.\n\n```python\nx = {1: 2}\n{}\n```\n\nThen <b> and [1] and `x`.\n"
    assert streamed(prose + "```json\n" + CALL + "\n```\n", size, True) == prose
    assert streamed(prose + CALL, size, True) == prose
    assert streamed(prose + "<tool_call>" + CALL, size, True) == prose
    assert streamed(prose + '```json\n{"a": 1}\n```\n', size, False) == prose + '```json\n{"a": 1}\n```\n'
    assert streamed(prose, size, False) == prose
    assert streamed("{", size, False) == "{"


def test_prose_is_shown_while_it_comes() -> None:
    shown: list[str] = []
    hold = Holdback(lambda block, piece: shown.append(piece))
    hold.feed("text", "Hello")
    assert shown == ["Hello"]
    hold.feed("text", " there\n{")
    assert shown == ["Hello", " there\n"]
