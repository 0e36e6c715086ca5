"""A notebook against an earlier version of itself: what changed, what chance did, what the original could not do."""

from __future__ import annotations

from dataclasses import replace

from refactor.verify_helpers import PYTHON, code, notebook, nothing_left_behind, reasons, verdicts

from jupyter_agent.refactor.verify import Original, verify

__all__ = ["nothing_left_behind"]


async def test_split_merged_and_moved_cells_with_the_same_outputs_are_proven() -> None:
    old = notebook(
        code("imports", "import math"),
        code("both", "print('one')\nprint(math.pi)"),
        code("x", "x = 2"),
        code("y", "print(x)"),
        code("apart", "print('apart')"),
    )
    new = notebook(
        code("imports", "import math"),
        code("apart", "print('apart')"),
        code("both", "print('one')"),
        code("both2", "print(math.pi)"),
        code("x", "x = 2\n\nprint(x)"),
    )
    groups = [(["imports"], ["imports"]), (["both"], ["both", "both2"]), (["x", "y"], ["x"]), (["apart"], ["apart"])]
    report = await verify(new, PYTHON, original=Original(old, execute=True, groups=groups))
    assert report.status == "proven"
    assert report.runs == 2


async def test_cells_without_a_partner_join_the_one_before() -> None:
    old = notebook(code("a", "print(1)\nprint(2)"), code("b", "print(3)"), code("gone", "print(4)"))
    split = notebook(code("a", "print(1)"), code("new", "print(2)"), code("b", "print(3)\nprint(4)"))
    report = await verify(split, PYTHON, original=Original(old, execute=True))
    assert report.status == "proven"
    assert [item.cells for item in report.verdicts] == [("a", "new"), ("b",)]
    lost = notebook(code("a", "print(1)\nprint(2)"), code("b", "print(3)"))
    report = await verify(lost, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "changed"}
    assert "-4\n" in report.verdicts[1].difference


async def test_a_refactoring_that_changes_an_output_is_caught_and_chance_is_not_blamed() -> None:
    old = notebook(code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(10)))"))
    new = notebook(code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(11)))"))
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "not_deterministic", "b": "changed"}
    assert report.status == "failed"
    assert report.runs == 3


async def test_chance_before_the_change_neither_blames_nor_hinders_it() -> None:
    old = notebook(
        code("a", "import time\nprint(time.time_ns())"), code("b", "print(sum(range(10)))"), code("c", "print(3)")
    )
    new = [*old[:1], replace(old[1], source="print(5 * 9)"), old[2]]
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "not_deterministic", "b": "same", "c": "same"}
    assert report.status == "proven"
    assert "chance" in reasons(report)["a"]
    assert report.runs == 2
    late = notebook(*old[1:], old[0])
    changed = [replace(late[0], source="print(5 * 9)"), *late[1:]]
    assert (await verify(changed, PYTHON, original=Original(late, execute=True))).status == "unproven"
    # A new file may be seen from anywhere.
    listing = notebook(code("l", "import os\nprint(sorted(os.listdir()))"), code("b", "x = 1"))
    moved = [listing[0], replace(listing[1], source="from made import x")]
    report = await verify(moved, PYTHON, original=Original(listing, execute=True), files={"made.py": b"x = 1\n"})
    assert verdicts(report)["l"] == "changed"


async def test_chance_is_the_same_before_and_after_and_leaves_no_trace() -> None:
    draws = "import random\nimport numpy as np\nprint(random.random(), np.random.rand(), {str(i) for i in range(9)})"
    old = notebook(
        code("a", f"x = 1\n{draws}"),
        code("b", "print(np.random.rand(), sorted(n for n in globals() if n[0] != '_'))"),
        code("c", "print(len(In), 'numpy' in globals())"),
    )
    new = [replace(old[0], source=f"x = 2 - 1\n{draws}"), *old[1:]]
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert (report.status, report.runs) == ("proven", 2), report.verdicts
    other = [replace(old[0], source=f"x = 1\n{draws}\nx = np.random.rand()"), *old[1:]]
    report = await verify(other, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "same", "b": "not_deterministic", "c": "same"}


async def test_the_code_that_a_warning_repeats_is_no_output() -> None:
    source = (
        "import warnings\nx = 1\nif x:\n    warnings.warn(f'odd: {x}\\n  in {x} lines')\n"
        "warnings.warn(str(x), FutureWarning)"
    )
    old = notebook(code("a", source))
    renamed = [replace(old[0], source=source.replace("x", "y"))]
    report = await verify(renamed, PYTHON, original=Original(old, execute=True))
    assert report.status == "proven", report.verdicts
    for other in (source.replace("odd", "even"), source.replace("lines", "rows"), source.replace("Future", "User")):
        report = await verify([replace(old[0], source=other)], PYTHON, original=Original(old, execute=True))
        assert verdicts(report) == {"a": "changed"}, other


async def test_an_original_that_fails_by_itself_proves_nothing() -> None:
    old = notebook(code("a", "print(undefined)"), code("b", "print(1)"))
    new = notebook(code("a", "print('mended')"), code("b", "print(1)"))
    report = await verify(new, PYTHON, original=Original(old, execute=True))
    assert verdicts(report) == {"a": "unproven", "b": "unproven"}


async def test_against_stored_outputs_of_another_notebook() -> None:
    before = notebook(code("a", "print(1)", "1\n"), code("b", "print(2)", "2\n"))
    now = notebook(code("a", "print(1)", "stale\n"), code("b", "print(3)", "3\n"))
    report = await verify(now, PYTHON, original=Original(before))
    assert verdicts(report) == {"a": "same", "b": "changed"}
