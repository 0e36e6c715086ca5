"""Loop detection: cycles of 1 to 5 calls, a note at 3, a stop at 5, and no alarm for legitimate work."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_agent.errors import BudgetExceeded
from jupyter_agent.repetition import Repetition

Step = tuple[str, dict[str, Any]]


def levels(steps: list[Step], results: list[str] | None = None) -> list[str]:
    watch = Repetition()
    found = []
    for number, (name, arguments) in enumerate(steps):
        try:
            note = watch.observe(name, arguments, results[number] if results else "")
        except BudgetExceeded:
            return [*found, "stop"]
        found.append("note" if note else "ok")
    return found


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_cycles_are_noted_at_three_and_stopped_at_five(length: int) -> None:
    cycle: list[Step] = [("search_code", {"pattern": f"p{number}"}) for number in range(length)]
    found = levels([("read_cells", {}), *cycle * 5])[1:]
    assert found.index("note") == 3 * length - 1
    assert found.index("stop") == 5 * length - 1


def test_a_cycle_of_six_is_no_loop() -> None:
    cycle: list[Step] = [("read_file", {"path": f"{number}.py"}) for number in range(6)]
    assert set(levels(cycle * 6)) == {"ok"}


def test_cosmetic_arguments_do_not_hide_a_loop() -> None:
    steps: list[Step] = [
        ("search_code", {"pattern": "x ", "limit": number, "timeout": number, "context": number}) for number in range(5)
    ]
    steps[2] = ("search_code", {"timeout": 2, "pattern": "x"})
    assert levels(steps)[-1] == "stop"


def test_the_note_names_the_call_and_the_stop_says_what_to_do() -> None:
    watch = Repetition()
    notes = [watch.observe("read_cells", {}) for _ in range(4)]
    assert notes[2]
    assert "read_cells came 3 times" in notes[2]
    with pytest.raises(BudgetExceeded, match="Say what should be tried instead") as caught:
        watch.observe("read_cells", {})
    assert caught.value.kind == "repetition"


def test_polling_counts_only_when_nothing_changes() -> None:
    poll: list[Step] = [("call_tool", {"name": "check_command", "arguments": {"id": "1"}})] * 8
    assert set(levels(poll, [f"running for {number} s" for number in range(8)])) == {"ok"}
    assert levels(poll, ["exit 0"] * 8) == ["ok", "ok", "note", "note", "stop"]
    wait: list[Step] = [("control_kernel", {"action": "wait", "timeout": 60})] * 8
    assert set(levels(wait, [f"epoch {number}" for number in range(8)])) == {"ok"}
    restart: list[Step] = [("control_kernel", {"action": "restart"})] * 5
    assert levels(restart, [f"kernel {number}" for number in range(5)])[-1] == "stop"


def edit(number: int, cell: str = "a") -> Step:
    return ("edit_cells", {"ops": [{"op": "edit", "cell": cell, "blocks": [{"search": "x", "replace": str(number)}]}]})


def run(cell: str = "a") -> Step:
    return ("run_cells", {"cells": [cell]})


READ: Step = ("read_cells", {})
TEST: Step = ("run_bash", {"command": "pytest -q"})
LEGITIMATE: list[list[Step]] = [
    [step for number in range(8) for step in (edit(number), run())],
    [step for number in range(8) for step in (edit(number), TEST)],
    [step for number in range(8) for step in (READ, edit(number), run())],
    [step for number in range(8) for step in (edit(number), run(), READ, TEST)],
    [("read_file", {"path": "a.py", "start_line": 200 * n, "end_line": 200 * n + 199}) for n in range(12)],
    [("read_output", {"handle": "h1", "offset": 16000 * n}) for n in range(12)],
    [("read_cells", {"cells": [str(n)], "outputs": "full"}) for n in range(12)],
    [("search_code", {"pattern": f"def {n}"}) for n in range(12)],
    [("write_file", {"path": f"{n}.py", "content": ""}) for n in range(12)],
    [("run_code", {"code": f"df.iloc[{n}]"}) for n in range(12)],
    [("inspect_variables", {"names": [f"x{n}"]}) for n in range(12)],
    [("todo", {"items": [{"text": "a", "status": f"{n}"}]}) for n in range(12)],
    [edit(n, f"cell{n}") for n in range(12)],
    [run(f"cell{n}") for n in range(12)],
    [step for n in range(6) for step in (run(f"cell{n}"), ("read_output", {"cell": f"cell{n}"}))],
    [TEST, TEST, edit(1), TEST, TEST, edit(2), TEST, TEST],
    [READ, run("a"), READ, run("b"), READ, run("c"), READ, run("a")],
    [("find_files", {"query": q}) for q in ("a", "b", "a", "b", "c", "a", "b")],
    [("run_bash", {"command": f"git log -n {n}"}) for n in range(12)],
    [("ask_user", {"question": f"{n}?"}) for n in range(12)],
]


@pytest.mark.parametrize("steps", LEGITIMATE, ids=range(len(LEGITIMATE)))
def test_legitimate_work_is_not_flagged(steps: list[Step]) -> None:
    assert set(levels(steps)) == {"ok"}


def test_twenty_legitimate_batches_exist() -> None:
    assert len(LEGITIMATE) == 20
