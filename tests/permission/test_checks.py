"""Test cheating: an assertion of the person's is changed or removed only with an approval of its own, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conversations import call, conversation, notebook_file

from jupyter_agent.events import ApprovalRequest, ToolFinished
from jupyter_agent.notebook.assertions import assertions
from jupyter_agent.permission import Mode


def edit(cell: str, search: str, replace: str) -> dict[str, Any]:
    return {"op": "edit", "cell": cell, "blocks": [{"search": search, "replace": replace}]}


@pytest.mark.parametrize("mode", ["review", "accept-edits", "auto"])
@pytest.mark.parametrize(
    "op",
    [
        edit("c1", "assert x == 1", "assert True"),
        edit("c1", "assert x == 1", "assert x == 1 or True"),
        edit("c1", "assert x == 1", "# assert x == 1"),
        edit("c2", "np.testing.assert_allclose(x, 1)", "pass"),
        {"op": "delete", "cells": [{"id": "c1", "expected_hash": "{{regex:id=c1 hash=(\\S+)}}"}]},
        {"op": "set_type", "cell": "c1", "type": "markdown", "expected_hash": "{{regex:id=c1 hash=(\\S+)}}"},
    ],
)
async def test_a_check_is_not_changed_unasked(tmp_path: Path, mode: Mode, op: dict[str, Any]) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "assert x == 1", "np.testing.assert_allclose(x, 1)")
    before = notebook.read_bytes()
    script = [call("read_cells"), call("edit_cells", ops=[op]), {"text": "Done."}]
    async with conversation(tmp_path, script, notebook=notebook, mode=mode) as (made, seen, server):
        await made.send("Go")
        assert server.failures == []
        results = [event for event in seen if isinstance(event, ToolFinished)]
        assert results[-1].details["refused"]["kind"] == "denied"
        assert "loses a check" in results[-1].details["refused"]["reason"]
    assert notebook.read_bytes() == before


async def test_what_leaves_the_checks_alone_is_an_edit_like_any_other(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "x = 1\nassert x == 1", "y = 2")
    script = [
        call("edit_cells", ops=[edit("c1", "x = 1", "x = int('1')")]),
        # Moved to a cell of its own, with a message: still the same check.
        call(
            "edit_cells",
            ops=[
                edit("c1", "assert x == 1", "print(x)"),
                {"op": "insert", "type": "code", "source": "assert x == 1, 'x must be one'"},
            ],
        ),
        # Checks that the agent wrote itself are its own to mend.
        call("edit_cells", ops=[{"op": "insert", "after": "c2", "type": "code", "source": "assert y == 3"}]),
        call("read_cells"),
        call(
            "edit_cells",
            ops=[edit("{{regex:id=(\\S+) hash=\\S+ code.*\\n  assert y}}", "assert y == 3", "assert y == 2")],
        ),
        {"text": "Done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook, verify=False) as (made, seen, server):
        await made.send("Go")
        assert server.failures == []
        assert [event.is_error for event in seen if isinstance(event, ToolFinished)] == [False] * 5
        assert not [event for event in seen if isinstance(event, ApprovalRequest)]


async def test_an_approved_change_of_a_check_is_in_the_summary(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", "assert 1 == 2")
    script = [call("edit_cells", ops=[edit("c1", "assert 1 == 2", "assert 1 == 1")]), {"text": "Done."}]
    async with conversation(tmp_path, script, notebook=notebook, allow=["edit_cells"], verify=False) as (
        made,
        _,
        _server,
    ):
        stop = await made.send("Go")
        assert stop is not None
        assert "loses a check (assert 1 == 2)" in stop.summary


async def test_a_notebook_among_the_tests_is_protected(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    notebook = notebook_file(tmp_path / "tests" / "a.ipynb", "x = 1")
    script = [
        call("edit_cells", ops=[edit("c1", "x = 1", "x = 2")]),
        {
            "calls": [
                {"name": "call_tool", "arguments": {"name": "create_notebook", "arguments": {"path": "tests/b.ipynb"}}}
            ]
        },
        {"text": "Done."},
    ]
    async with conversation(tmp_path, script, notebook=notebook) as (made, seen, _):
        await made.send("Go")
        refused = [event.details["refused"]["kind"] for event in seen if isinstance(event, ToolFinished)]
        assert set(refused) == {"denied"}
    assert not (tmp_path / "tests" / "b.ipynb").exists()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1", []),
        ("assert  x==1, 'why'", ["assert x == 1"]),
        ("%time y = 2\nassert y", ["assert y"]),
        ("def f():\n    assert a\n    self.assertEqual(a, b)", ["assert a", "self.assertEqual(a, b)"]),
        ("if x\n  assert y", ["assert y"]),
        ("text = 'assert nothing'", []),
        ("%%bash\nassert x", []),
    ],
)
def test_what_counts_as_a_check(source: str, expected: list[str]) -> None:
    assert sorted(assertions(source)) == sorted(expected)
