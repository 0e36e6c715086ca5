"""The conformance suite of kernel backends: plain async checks that take a kernel and the dialect it speaks.

A backend passes when every check in `checks(features)` does. `tests/conformance/test_kernels.py` shows the use. The
checks share one kernel: each leaves it usable, and those that restart or kill it say so by their feature.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_agent.kernel.outputs import weight
from jupyter_agent.kernel.protocol import Kernel, Snapshot

SLACK = 10.0
"""Factor on hang limits: the machine that runs the tests may be busy."""

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c636060f8"
        "0f00010401005fe5c34b0000000049454e44ae426082"
    )
).decode()
"""One transparent pixel."""

PADDING = "." * 100
"""What each line of a flood ends with."""


@dataclass(frozen=True)
class Dialect:
    """Snippets in the kernel's language; `features` says which checks it can be held to."""

    language: str
    say: Callable[[str], str]
    slow: Callable[[float, str, str], str]
    fail: str
    error: tuple[str, str]
    flood: Callable[[int], str]
    features: frozenset[str] = field(default_factory=frozenset)


PYTHON = Dialect(
    language="python",
    say=lambda text: f"print({text!r})",
    slow=lambda seconds, before, after: (
        f"import time\nprint({before!r}, flush=True)\ntime.sleep({seconds})\nprint({after!r})"
    ),
    fail="def broken():\n    raise ValueError('no such luck')\nbroken()",
    error=("ValueError", "no such luck"),
    flood=lambda lines: f"for number in range({lines}):\n    print('line', number, {PADDING!r})",
    features=frozenset({"python"}),
)
BASH = Dialect(
    language="bash",
    say=lambda text: f"echo '{text}'",
    slow=lambda seconds, before, after: f"echo '{before}'; sleep {seconds}; echo '{after}'",
    fail="(exit 3)",
    error=("", "3"),
    flood=lambda lines: f"seq -f 'line %.0f {PADDING}' 0 {lines - 1}",
)
R = Dialect(
    language="r",
    say=lambda text: f"cat({json.dumps(text)}, '\\n', sep = '')",
    slow=lambda seconds, before, after: (
        f"cat({json.dumps(before)}, '\\n', sep = ''); flush(stdout()); Sys.sleep({seconds})\n"
        f"cat({json.dumps(after)}, '\\n', sep = '')"
    ),
    fail="broken <- function() stop('no such luck')\nbroken()",
    error=("ERROR", "Error in broken(): no such luck\n"),
    flood=lambda lines: f"for (number in seq_len({lines}) - 1) cat('line', number, '{PADDING}\\n')",
)

Check = Callable[[Kernel, Dialect], Awaitable[None]]
_CHECKS: list[tuple[Check, frozenset[str]]] = []


def _check(*needs: str) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        _CHECKS.append((function, frozenset(needs)))
        return function

    return register


def checks(features: Iterable[str]) -> list[Check]:
    """The checks a backend with these features must pass.

    Features: `python` (the kernel speaks it), `counts` (own execution counts), `parallel` (the program goes on while
    a cell computes), `interrupt`, `subshell` (looking in while a cell runs), `restart`, `mortal` (its own process).
    """
    available = frozenset(features)
    return [function for function, needs in _CHECKS if needs <= available]


async def run(kernel: Kernel, code: str, timeout: float = 60.0, *, cell: str | None = None) -> Snapshot:
    execution = await kernel.run(code, cell=cell)
    snapshot = await execution.wait(timeout)
    assert execution.done, f"still {snapshot.status} after {timeout} s"
    return snapshot


def text_of(snapshot: Snapshot, name: str = "stdout") -> str:
    return "".join(output["text"] for output in snapshot.outputs if output.get("name") == name)


# --------------------------------------------------------------------------------------------- outputs


@_check()
async def check_text_arrives_as_one_stream(kernel: Kernel, dialect: Dialect) -> None:
    code = "\n".join(dialect.say(word) for word in ("alpha", "beta", "gamma"))
    snapshot = await run(kernel, code)
    assert snapshot.status == "ok"
    assert [output["output_type"] for output in snapshot.outputs] == ["stream"]
    assert text_of(snapshot).replace("\r\n", "\n") == "alpha\nbeta\ngamma\n"


@_check()
async def check_nothing_said_is_no_output(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, "")
    assert (snapshot.status, list(snapshot.outputs), snapshot.error) == ("ok", [], None)


@_check()
async def check_error_is_status_name_and_output(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, dialect.fail)
    assert snapshot.status == "error"
    assert snapshot.error is not None
    assert snapshot.error[:2] == dialect.error
    assert not any("\x1b" in line for line in snapshot.error[2])
    assert snapshot.outputs[-1]["output_type"] == "error"
    assert (await run(kernel, dialect.say("alive"))).status == "ok"


@_check()
async def check_times_are_recorded(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, dialect.slow(0.4, "a", "b"))
    # A busy machine hears of the beginning late.
    assert 0.1 <= snapshot.seconds < 0.4 + 3 * SLACK
    assert "1970" < snapshot.started < snapshot.ended
    assert snapshot.started.endswith("Z")


@_check()
async def check_flood_is_bounded_and_spilled_whole(kernel: Kernel, dialect: Dialect) -> None:
    lines = 10_000
    snapshot = await run(kernel, dialect.flood(lines), timeout=30 * SLACK)
    text = text_of(snapshot)
    assert snapshot.status == "ok"
    assert snapshot.truncated
    assert weight(text) <= 1_000_000
    assert text.startswith("line 0")
    assert text.rstrip().endswith(f"line {lines - 1} {PADDING}")
    assert "left out" in text
    assert snapshot.spill is not None
    whole = Path(snapshot.spill).read_text().replace("\r\n", "\n")
    assert whole == "".join(f"line {number} {PADDING}\n" for number in range(lines))


@_check("python")
async def check_stderr_is_kept_apart(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, "import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr)")
    assert text_of(snapshot) == "out\n"
    assert text_of(snapshot, "stderr") == "err\n"


@_check("python")
async def check_value_of_the_last_line(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, "20 + 3")
    (output,) = snapshot.outputs
    assert output["output_type"] == "execute_result"
    assert output["data"]["text/plain"] == "23"
    assert output["execution_count"] == snapshot.execution_count


@_check("python")
async def check_image_is_kept_whole(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, f"from IPython.display import display\ndisplay({{'image/png': {PNG!r}}}, raw=True)")
    (output,) = snapshot.outputs
    assert output["data"]["image/png"].strip() == PNG


@_check("python")
async def check_display_is_updated_in_place(kernel: Kernel, dialect: Dialect) -> None:
    code = (
        "from IPython.display import display\nhandle = display('first', display_id=True)\nprint('between')\n"
        "handle.update('second')"
    )
    snapshot = await run(kernel, code)
    kinds = [output["output_type"] for output in snapshot.outputs]
    assert kinds == ["display_data", "stream"]
    assert snapshot.outputs[0]["data"]["text/plain"] == "'second'"


@_check("python")
async def check_display_is_updated_by_a_later_cell(kernel: Kernel, dialect: Dialect) -> None:
    first = await kernel.run("handle = display('early', display_id=True)", cell="made")
    await first.wait(10 * SLACK)
    second = await run(kernel, "handle.update('late')", cell="updated")
    assert not second.outputs
    assert first.snapshot.outputs[0]["data"]["text/plain"] == "'late'"


@_check("python")
async def check_clear_output(kernel: Kernel, dialect: Dialect) -> None:
    head = "from IPython.display import clear_output\nprint('old', flush=True)\n"
    assert text_of(await run(kernel, head + "clear_output()\nprint('new')")) == "new\n"
    assert text_of(await run(kernel, head + "clear_output(wait=True)\nprint('new')")) == "new\n"
    assert text_of(await run(kernel, head + "clear_output(wait=True)")) == "old\n"


@_check("python")
async def check_syntax_error(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, "if True print(1)")
    assert snapshot.status == "error"
    assert snapshot.error is not None
    assert snapshot.error[0] == "SyntaxError"


# --------------------------------------------------------------------------------------------- running


@_check("counts")
async def check_counts_are_the_kernels(kernel: Kernel, dialect: Dialect) -> None:
    first = await run(kernel, dialect.say("1"))
    second = await run(kernel, dialect.say("2"))
    assert first.execution_count is not None
    assert second.execution_count == first.execution_count + 1


@_check("counts", "python")
async def check_silent_run_leaves_no_trace(kernel: Kernel, dialect: Dialect) -> None:
    before = await run(kernel, "1")
    execution = await kernel.run("silently = 1", silent=True)
    assert (await execution.wait(10 * SLACK)).status == "ok"
    after = await run(kernel, "silently")
    assert before.execution_count is not None
    assert after.execution_count == before.execution_count + 1
    assert "silently = 1" not in str((await run(kernel, "In")).outputs)


@_check("python")
async def check_awaits_run(kernel: Kernel, dialect: Dialect) -> None:
    snapshot = await run(kernel, "import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')")
    assert text_of(snapshot) == "awaited\n"


@_check()
async def check_runs_keep_their_order(kernel: Kernel, dialect: Dialect) -> None:
    executions = [await kernel.run(dialect.slow(0.05, str(number), "")) for number in range(4)]
    snapshots = [await execution.wait(20 * SLACK) for execution in executions]
    assert [snapshot.status for snapshot in snapshots] == ["ok"] * 4
    starts = [snapshot.started for snapshot in snapshots]
    assert starts == sorted(starts)


@_check("python")
async def check_failure_does_not_sweep_our_queue(kernel: Kernel, dialect: Dialect) -> None:
    executions = [await kernel.run(code) for code in ("1/0", "survived = 1", "survived")]
    snapshots = [await execution.wait(20 * SLACK) for execution in executions]
    assert [snapshot.status for snapshot in snapshots] == ["error", "ok", "ok"]


@_check("parallel")
async def check_timeout_keeps_the_cell_and_its_outputs(kernel: Kernel, dialect: Dialect) -> None:
    execution = await kernel.run(dialect.slow(3, "begun", "ended"), cell="long")
    deadline = time.monotonic() + 10 * SLACK
    while "begun" not in text_of(await execution.wait(0.3)):
        assert time.monotonic() < deadline
    assert execution.snapshot.status == "running"
    state = await kernel.state()
    assert state.status == "busy"
    assert state.busy is not None
    assert state.busy.ours
    assert "long" in state.busy.what
    snapshot = await execution.wait(10 * SLACK)
    assert snapshot.status == "ok"
    assert "ended" in text_of(snapshot)
    assert (await kernel.state()).status == "idle"


@_check("parallel")
async def check_sink_sees_outputs_while_they_come_and_the_end(kernel: Kernel, dialect: Dialect) -> None:
    seen: list[Snapshot] = []

    async def sink(snapshot: Snapshot) -> None:
        seen.append(snapshot)

    execution = await kernel.run(dialect.slow(1, "begun", "ended"), on_output=sink)
    await execution.wait(10 * SLACK)
    assert any(snapshot.status == "running" and "begun" in text_of(snapshot) for snapshot in seen)
    assert seen[-1].status == "ok"
    assert "ended" in text_of(seen[-1])


@_check("parallel")
async def check_cancelled_wait_leaves_it_running(kernel: Kernel, dialect: Dialect) -> None:
    execution = await kernel.run(dialect.slow(1, "begun", "ended"))
    waiter = asyncio.create_task(execution.wait(None))
    await asyncio.sleep(0.2)
    waiter.cancel()
    assert (await execution.wait(10 * SLACK)).status == "ok"


@_check("interrupt")
async def check_interrupt_keeps_partial_outputs(kernel: Kernel, dialect: Dialect) -> None:
    execution = await kernel.run(dialect.slow(60, "begun", "never"))
    deadline = time.monotonic() + 10 * SLACK
    while "begun" not in text_of(await execution.wait(0.2)):
        assert time.monotonic() < deadline
    await execution.interrupt()
    snapshot = await execution.wait(2 * SLACK)
    assert snapshot.status == "interrupted"
    assert "begun" in text_of(snapshot)
    assert "never" not in text_of(snapshot)
    assert (await run(kernel, dialect.say("alive"))).status == "ok"


@_check("interrupt", "python")
async def check_interrupt_reaches_a_sleeping_await(kernel: Kernel, dialect: Dialect) -> None:
    execution = await kernel.run("import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(60)")
    deadline = time.monotonic() + 10 * SLACK
    while "begun" not in text_of(await execution.wait(0.2)):
        assert time.monotonic() < deadline
    await execution.interrupt()
    assert (await execution.wait(2 * SLACK)).status != "running"
    assert (await run(kernel, "print('alive')")).status == "ok"


@_check("interrupt")
async def check_queued_run_is_withdrawn_by_its_interrupt(kernel: Kernel, dialect: Dialect) -> None:
    """Its cell keeps the outputs it has from before: the sink is told nothing."""
    told: list[Snapshot] = []

    async def sink(snapshot: Snapshot) -> None:
        told.append(snapshot)

    first = await kernel.run(dialect.slow(2, "begun", "ended"))
    second = await kernel.run(dialect.say("must not run"), cell="queued", on_output=sink)
    assert (await second.interrupt()).status == "aborted"
    snapshot = await first.wait(10 * SLACK)
    assert snapshot.status == "ok"
    assert second.snapshot.status == "aborted"
    assert not second.snapshot.outputs
    assert told == []


@_check("python")
async def check_input_is_refused_with_advice(kernel: Kernel, dialect: Dialect) -> None:
    for code in ("input('name? ')", "import getpass\ngetpass.getpass()"):
        snapshot = await run(kernel, code, timeout=5 * SLACK)
        assert snapshot.status == "error"
        assert "assign the value" in snapshot.advice


# --------------------------------------------------------------------------------------------- variables


@_check("python")
async def check_variables_are_described_and_nothing_is_left_behind(kernel: Kernel, dialect: Dialect) -> None:
    await run(kernel, "number, words = 42, ['a', 'b']\nbefore_names = None\nbefore_names = sorted(dir())")
    found = {variable.name: variable for variable in await kernel.variables()}
    assert found["number"].type == "int"
    assert found["number"].preview == "42"
    assert found["words"].shape == "2 items"
    assert not any(name.startswith("_") for name in found)
    chosen = await kernel.variables(["number", "missing"], detail=True)
    assert [(variable.name, variable.type) for variable in chosen] == [("number", "int"), ("missing", "undefined")]
    snapshot = await run(kernel, "sorted(set(dir()) ^ set(before_names))")
    left = snapshot.outputs[0]["data"]["text/plain"]
    # IPython itself adds `_`, `_1`, `_i1` and so on with each cell.
    assert "jupyter_agent" not in left
    assert not [name for name in eval(left) if not name.startswith("_")]


@_check("python", "subshell")
async def check_variables_while_a_cell_runs(kernel: Kernel, dialect: Dialect) -> None:
    execution = await kernel.run("import time\nprogress = 7\nprint('begun', flush=True)\ntime.sleep(2)")
    deadline = time.monotonic() + 10 * SLACK
    while "begun" not in text_of(await execution.wait(0.1)):
        assert time.monotonic() < deadline
    (progress,) = await kernel.variables(["progress"])
    assert progress.preview == "7"
    assert execution.snapshot.status == "running"
    assert (await execution.wait(10 * SLACK)).status == "ok"


# --------------------------------------------------------------------------------------------- life and death


@_check("restart")
async def check_restart_begins_anew(kernel: Kernel, dialect: Dialect) -> None:
    await run(kernel, dialect.say("before"))
    await kernel.restart()
    snapshot = await run(kernel, dialect.say("after"))
    assert snapshot.status == "ok"
    if "counts" in dialect.features or dialect.language == "python":
        assert snapshot.execution_count == 1
    assert (await kernel.state()).restarts >= 1


@_check("restart", "mortal", "python")
async def check_death_is_noticed_and_names_what_was_lost(kernel: Kernel, dialect: Dialect) -> None:
    await run(kernel, "precious = 1")
    execution = await kernel.run(
        "import os, time\nprint('last words', flush=True)\ntime.sleep(0.3)\nos.kill(os.getpid(), 9)"
    )
    snapshot = await execution.wait(2 * SLACK)
    assert snapshot.status == "dead"
    assert "last words" in text_of(snapshot)
    assert "precious" in snapshot.lost_names
    assert "precious" in snapshot.advice
    assert (await kernel.state()).status == "dead"
    await kernel.restart()
    assert (await run(kernel, "1")).status == "ok"
