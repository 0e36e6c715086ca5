"""The in-process backend as the magic uses it: inside a cell of a real ipykernel, seen from the outside."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_agent.kernel.client import ClientKernel, start_kernel
from jupyter_agent.testing.kernels import SLACK, run, text_of

ROOT = Path(__file__).parents[2]
SETUP = "from jupyter_agent.kernel.inprocess import InProcessKernel\n_kernel = InProcessKernel(get_ipython())"


@pytest.fixture
async def kernel() -> AsyncIterator[ClientKernel]:
    made = await start_kernel("python3", cwd=ROOT)
    assert (await run(made, SETUP)).status == "ok"
    yield made
    await made.shutdown()


async def test_counts_history_and_results_are_those_of_cells(kernel: ClientKernel) -> None:
    magic = await run(
        kernel,
        "for _code in ('first = 6 * 7\\nfirst', '1/0', 'first + 1'):\n"
        "    _last = await (await _kernel.run(_code)).wait(9)",
    )
    assert magic.status == "ok"
    assert magic.execution_count == 2
    following = await run(kernel, "(In[3:6], Out[3], Out[5], _last.execution_count)")
    assert following.execution_count == 6
    assert following.outputs[0]["data"]["text/plain"] == "(['first = 6 * 7\\nfirst', '1/0', 'first + 1'], 42, 43, 5)"


async def test_outputs_show_in_the_cell_that_asked(kernel: ClientKernel) -> None:
    code = (
        "from IPython.display import display\nprint('said')\ndisplay({'text/plain': 'shown'}, raw=True)\n"
        "print('x' * 3)\n41 + 1"
    )
    snapshot = await run(kernel, f"_seen = await (await _kernel.run({code!r})).wait(9)")
    kinds = [output["output_type"] for output in snapshot.outputs]
    # Shown without a number: nbclient would give the cell that asked the number of this other input.
    assert kinds == ["stream", "display_data", "stream", "display_data"]
    assert snapshot.outputs[3]["data"]["text/plain"] == "42"
    captured = await run(kernel, "[output['output_type'] for output in _seen.outputs]")
    assert captured.outputs[0]["data"]["text/plain"] == str([*kinds[:3], "execute_result"])


async def test_a_failing_run_does_not_fail_the_cell_that_asked(kernel: ClientKernel) -> None:
    snapshot = await run(
        kernel, "_seen = await (await _kernel.run('1/0')).wait(9)\nprint(_seen.status, _seen.error[0])"
    )
    assert snapshot.status == "ok"
    assert not any(output["output_type"] == "error" for output in snapshot.outputs)
    assert "ZeroDivisionError" in text_of(snapshot, "stderr")
    assert "error ZeroDivisionError" in text_of(snapshot)


async def test_plots_are_shown_and_captured(kernel: ClientKernel) -> None:
    code = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])"
    snapshot = await run(kernel, f"_seen = await (await _kernel.run({code!r})).wait(60)")
    assert [output["output_type"] for output in snapshot.outputs] == ["display_data"]
    assert "image/png" in snapshot.outputs[0]["data"]
    check = await run(kernel, "print(_seen.outputs[0]['data']['image/png'][:8], len(_seen.outputs))")
    assert text_of(check) == "iVBORw0K 1\n"


async def test_a_thread_of_the_person_prints_meanwhile(kernel: ClientKernel) -> None:
    code = (
        "import threading, time\ndef talk():\n    print('from the thread')\n"
        "thread = threading.Thread(target=talk)\nthread.start()\nthread.join()"
    )
    snapshot = await run(kernel, f"_seen = await (await _kernel.run({code!r})).wait(9)\nprint(len(_seen.outputs))")
    assert "from the thread\n" in text_of(snapshot)
    assert text_of(snapshot).endswith("1\n")


async def test_what_the_agent_prints_meanwhile_is_not_taken_for_the_codes_output(kernel: ClientKernel) -> None:
    code = (
        "import asyncio\n_run = await _kernel.run('import asyncio\\nawait asyncio.sleep(0.3)\\nprint(\"code\")')\n"
        "await asyncio.sleep(0.1)\nprint('agent')\n_seen = await _run.wait(9)\nprint(_seen.outputs)"
    )
    snapshot = await run(kernel, code)
    assert "[{'output_type': 'stream', 'name': 'stdout', 'text': 'code\\n'}]" in text_of(snapshot)


@pytest.mark.parametrize(
    "code",
    [
        "import time\nprint('begun', flush=True)\ntime.sleep(60)",
        "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(60)",
    ],
    ids=["blocking", "awaiting"],
)
async def test_interrupt_ends_the_code_and_the_kernel_lives(kernel: ClientKernel, code: str) -> None:
    outer = (
        f"import asyncio\n_run = await _kernel.run({code!r})\n"
        "try:\n    _seen = await _run.wait(99)\nexcept asyncio.CancelledError:\n    _seen = 'cancelled'\n    raise"
    )
    execution = await kernel.run(outer)
    deadline = time.monotonic() + 10 * SLACK
    while "begun" not in text_of(await execution.wait(0.1)):
        assert time.monotonic() < deadline
    pressed = time.monotonic()
    await kernel.interrupt()
    snapshot = await execution.wait(2 * SLACK)
    assert execution.done, "the cell did not end"
    assert snapshot.status in ("error", "interrupted")
    assert time.monotonic() - pressed < 1 * SLACK
    after = await run(kernel, "print((await _run.wait(9)).status)")
    assert text_of(after) == "interrupted\n"
    again = await run(kernel, "print((await (await _kernel.run('alive = 1')).wait(9)).status, alive)")
    assert text_of(again) == "ok 1\n"


async def test_deadline_interrupts_code_that_blocks(kernel: ClientKernel) -> None:
    code = "import time\nprint('begun')\ntime.sleep(60)"
    started = time.monotonic()
    snapshot = await run(
        kernel, f"_seen = await (await _kernel.run({code!r})).wait(0.5, interrupt=True)\nprint(_seen.status)", 5 * SLACK
    )
    assert snapshot.status == "ok", "the deadline is for the code alone, not for the cell that asked"
    assert "interrupted" in text_of(snapshot)
    assert time.monotonic() - started < 3 * SLACK


async def test_fresh_parent_routes_outputs_to_another_cell(kernel: ClientKernel) -> None:
    code = (
        "_session = get_ipython().kernel.session\n"
        "_parent = _session.msg('execute_request', {'code': ''}, metadata={'cellId': 'other'})\n"
        "_seen = await (await _kernel.run(\"print('elsewhere')\", cell='other', parent=_parent)).wait(9)\nprint('here')"
    )
    snapshot = await run(kernel, code)
    assert text_of(snapshot) == "here\n"
    check = await run(kernel, "print(_seen.outputs)")
    assert "elsewhere" in text_of(check)


async def test_state_says_what_runs_and_restart_is_refused(kernel: ClientKernel) -> None:
    code = (
        "import asyncio\n_run = await _kernel.run('import asyncio\\nawait asyncio.sleep(0.3)', cell='c9')\n"
        "await asyncio.sleep(0.1)\nprint((await _kernel.state()).busy.what)\nawait _run.wait(9)\n"
        "print((await _kernel.state()).status)\n"
        "try:\n    await _kernel.restart()\nexcept Exception as error:\n    print(error.kind)"
    )
    snapshot = await run(kernel, code)
    assert text_of(snapshot) == "cell c9\nidle\nunsupported\n"
