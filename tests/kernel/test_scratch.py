"""Scratch runs: outputs come back from a copy of a live kernel, and the kernel itself is as it was before."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel import forked
from jupyter_agent.kernel.client import ClientKernel, start_kernel
from jupyter_agent.kernel.protocol import Snapshot
from jupyter_agent.kernel.scratch import request
from jupyter_agent.testing.kernels import SLACK, run, text_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies of kernels are made on Linux only")


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[ClientKernel]:
    made = await start_kernel("python3", cwd=tmp_path)
    yield made
    await made.shutdown()


async def scratch(kernel: ClientKernel, code: str, timeout: float = 6 * SLACK) -> Snapshot:
    execution = await kernel.scratch(code, timeout=timeout)
    snapshot = await execution.wait(timeout + 3 * SLACK)
    assert execution.done
    return snapshot


def value(snapshot: Snapshot) -> str:
    (output,) = (each for each in snapshot.outputs if each["output_type"] == "execute_result")
    return str(output["data"]["text/plain"])


def kinds(snapshot: Snapshot) -> list[str]:
    return [output["output_type"] for output in snapshot.outputs]


async def gone(pid: int, seconds: float = 2 * SLACK) -> None:
    deadline = time.monotonic() + seconds
    while Path(f"/proc/{pid}/status").exists() and "zombie" not in Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < deadline, f"{pid} is still there"
        await asyncio.sleep(0.02)


async def test_outputs_come_back(kernel: ClientKernel) -> None:
    await run(kernel, "x = 40")
    shown = await scratch(kernel, "import sys\nprint('out')\nprint('err', file=sys.stderr)\nx + 2")
    assert shown.status == "ok"
    assert (text_of(shown), text_of(shown, "stderr"), value(shown)) == ("out\n", "err\n", "42")
    programs = await scratch(kernel, "import subprocess\n_ = subprocess.run(['echo', 'raw'])\n!echo {x}\n_ = None")
    assert sorted(text_of(programs).split()) == ["40", "raw"]
    awaited = await scratch(kernel, "import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')")
    assert text_of(awaited) == "awaited\n"
    logged = await scratch(kernel, "import logging\nlogging.warning('careful')")
    assert "careful" in text_of(logged, "stderr")
    updated = await scratch(
        kernel, "from IPython.display import display\nh = display('a', display_id=True)\nh.update('b')"
    )
    assert [output["data"]["text/plain"] for output in updated.outputs] == ["'b'"]
    flood = await scratch(kernel, "for n in range(20_000):\n    print('line', n)")
    assert flood.status == "ok"
    assert text_of(flood).endswith("line 19999\n")


async def test_errors_come_back_as_errors(kernel: ClientKernel) -> None:
    snapshot = await scratch(kernel, "print('before')\n1/0")
    assert snapshot.status == "error"
    assert snapshot.error is not None
    assert snapshot.error[:2] == ("ZeroDivisionError", "division by zero")
    assert kinds(snapshot) == ["stream", "error"]
    number = snapshot.execution_count
    assert f"In[{number}]" in "".join(snapshot.outputs[-1]["traceback"]).replace("\x1b", "") or number == 1
    assert (await scratch(kernel, "if True print")).status == "error"
    asked = await scratch(kernel, "input('name? ')")
    assert "assign the value" in asked.advice


async def test_plots_come_back_as_images(kernel: ClientKernel) -> None:
    pytest.importorskip("matplotlib")
    snapshot = await scratch(kernel, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert kinds(snapshot) == ["display_data"], snapshot.error
    assert snapshot.outputs[0]["data"]["image/png"].startswith("iVBOR")
    assert value(await run(kernel, "import sys\n'matplotlib.pyplot' in sys.modules")) == "False"


SETUP = """
import os, random, numpy as np
random.seed(3); np.random.seed(3)
number, words = 1, ["a"]
source = open("read.txt"); source.readline()
raw = os.open("read.txt", os.O_RDONLY); os.read(raw, 3)
log = open("log.txt", "w"); _ = log.write("mine\\n")
shared = np.memmap("shared.bin", dtype="u1", mode="w+", shape=(4096,)); shared[:] = 7
"""
STATE = (
    "(random.getstate()[1][:3], np.random.get_state()[2], number, words, source.tell(), os.lseek(raw, 0, 1), "
    "int(shared.sum()), os.getcwd(), os.environ.get('CHANGED'), sorted(n for n in globals() if n[0] != '_'), "
    "sorted(os.listdir('.')))"
)
MEDDLE = """
import os
random.random(); np.random.rand(5); random.seed(99)
number = 2; words.append("b"); made = 1
print(source.read()); os.read(raw, 100)
log.write("theirs"); log.flush()
shared[:] = 9; shared.flush()
os.chdir("/"); os.environ["CHANGED"] = "yes"
del random
"""


async def test_the_kernel_stays_as_it_was(kernel: ClientKernel, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "read.txt").write_text("first\nsecond\nthird\n")
    await run(kernel, SETUP)
    before = await run(kernel, STATE)
    snapshot = await scratch(kernel, MEDDLE)
    assert snapshot.status == "ok", snapshot.error
    assert text_of(snapshot) == "second\nthird\n\n"
    after = await run(kernel, STATE)
    assert value(after) == value(before)
    assert before.execution_count is not None
    assert after.execution_count == before.execution_count + 1
    assert text_of(await run(kernel, "print(source.readline(), end='')\nlog.close()")) == "second\n"
    assert (tmp_path / "log.txt").read_text() == "mine\n"
    assert set((tmp_path / "shared.bin").read_bytes()) == {7}


async def test_random_numbers_go_on_where_the_kernel_is(kernel: ClientKernel) -> None:
    await run(kernel, "import random\nrandom.seed(5)")
    drawn = [value(await scratch(kernel, "random.random()")) for _ in range(2)]
    assert drawn == [value(await run(kernel, "random.random()"))] * 2


async def test_deadline_ends_it_and_all_it_started(kernel: ClientKernel, tmp_path: Path) -> None:
    code = (
        "import os, subprocess, time\n"
        "children = [subprocess.Popen(['sleep', '600'], start_new_session=new) for new in (True, False)]\n"
        "print(os.getpid(), *(child.pid for child in children), flush=True)\ntime.sleep(600)"
    )
    snapshot = await scratch(kernel, code, timeout=1.5)
    assert snapshot.status == "error"
    assert snapshot.error is not None
    assert snapshot.error[0] == "TimeoutError"
    pids = [int(pid) for pid in text_of(snapshot).split()]
    assert len(pids) == 3
    for pid in pids:
        await gone(pid)
    left = await scratch(
        kernel, "import subprocess\nprint(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"
    )
    await gone(int(text_of(left)))
    assert value(await run(kernel, "1 + 1")) == "2"


async def test_a_lock_of_a_parents_thread_ends_at_the_deadline(kernel: ClientKernel) -> None:
    code = (
        "import threading\nlock, held, free = threading.Lock(), threading.Event(), threading.Event()\n"
        "def hold():\n    with lock:\n        held.set(); free.wait()\n"
        "threading.Thread(target=hold, daemon=True).start(); held.wait()"
    )
    await run(kernel, code)
    assert (await scratch(kernel, "lock.acquire()", timeout=1)).error[0] == "TimeoutError"  # type: ignore[index]
    assert (await run(kernel, "free.set(); lock.acquire(); lock.release()")).status == "ok"


async def test_interrupt_ends_it_and_keeps_what_was_shown(kernel: ClientKernel) -> None:
    execution = await kernel.scratch("import time\nprint('begun', flush=True)\ntime.sleep(600)", timeout=600)
    deadline = time.monotonic() + 6 * SLACK
    while "begun" not in text_of(await execution.wait(0.1)):
        assert time.monotonic() < deadline
    snapshot = await execution.interrupt()
    assert snapshot.status == "interrupted"
    assert text_of(snapshot) == "begun\n"
    assert value(await run(kernel, "1 + 1")) == "2"


async def test_memory_is_capped_and_a_crash_is_told(kernel: ClientKernel) -> None:
    made = request("python", "much = bytearray(3 * 10**8)", 6 * SLACK, memory=2 * 10**8)
    capped = await (await kernel.run(made.code, silent=True, scratch=made)).wait(9 * SLACK)
    assert capped.error is not None
    assert capped.error[0] == "MemoryError"
    crashed = await scratch(
        kernel, "print('last words', flush=True)\nimport os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
    )
    assert crashed.status == "error"
    assert crashed.error is not None
    assert "SIGSEGV" in crashed.error[1]
    assert text_of(crashed) == "last words\n"
    left = await scratch(kernel, "import os\nos._exit(3)")
    assert left.status == "error"
    assert value(await run(kernel, "1 + 1")) == "2"


async def test_connections_of_the_kernel_are_refused_or_cut_off(kernel: ClientKernel) -> None:
    await run(
        kernel,
        "import socket, sqlite3\nours, theirs = socket.socketpair()\ndatabase = sqlite3.connect(':memory:')\n"
        "holder = [ours]\nimport multiprocessing as mp\nreading, writing = mp.Pipe()",
    )
    for code, name in (("ours.send(b'x')", "ours"), ("database.execute('select 1')", "database")):
        refused = await scratch(kernel, code)
        assert refused.status == "aborted"
        assert name in refused.advice
        assert "scratch=false" in refused.advice
    cut = await scratch(kernel, "holder[0].send(b'x')")
    assert cut.status == "error"
    quiet = await run(
        kernel, "theirs.setblocking(False)\ntry:\n    theirs.recv(1)\nexcept BlockingIOError:\n    print('quiet')"
    )
    assert text_of(quiet) == "quiet\n"
    own = await scratch(kernel, "import sqlite3\nsqlite3.connect(':memory:').execute('select 1').fetchone()")
    assert value(own) == "(1,)"


async def test_thread_pools_and_devices_are_refused(kernel: ClientKernel) -> None:
    await run(kernel, "import sys, types\nsys.modules['polars'] = types.ModuleType('polars')")
    refused = await scratch(kernel, "1")
    assert refused.status == "aborted"
    assert "polars is loaded" in refused.advice
    assert "GPU" in forked.objection("1", {}, {}, ["/dev/null", "/dev/nvidia0"])
    assert forked.objection("1", {}, {}, ["/dev/null"]) == ""


def test_other_languages_are_refused() -> None:
    with pytest.raises(KernelError, match="speaks r") as raised:
        request("r", "1", 10)
    assert raised.value.kind == "unsupported"


async def test_pools_of_openmp_do_not_hang(kernel: ClientKernel) -> None:
    pytest.importorskip("sklearn")
    fit = "KMeans(3, n_init=1, random_state=0).fit(points).inertia_ > 0"
    used = await run(
        kernel,
        "import os\nos.environ['OMP_NUM_THREADS'] = '2'\nimport numpy as np\nfrom sklearn.cluster import KMeans\n"
        f"points = np.random.rand(5000, 4)\n{fit}",
    )
    assert value(used) == "True"
    assert value(await scratch(kernel, fit)) == "True"


async def test_nothing_is_left_in_the_kernel(kernel: ClientKernel) -> None:
    await run(kernel, "import os, threading")
    await scratch(kernel, "1")
    count = "len(os.listdir('/proc/self/fd')), threading.active_count()"
    before = [int(word) for word in value(await run(kernel, count)).strip("()").split(",")]
    for _ in range(5):
        await scratch(kernel, "print(1)")
    deadline = time.monotonic() + 2 * SLACK
    children = "print(open('/proc/{0}/task/{0}/children'.format(os.getpid())).read())"
    while text_of(await run(kernel, children)).split():
        assert time.monotonic() < deadline
    after = [int(word) for word in value(await run(kernel, count)).strip("()").split(",")]
    assert after[0] <= before[0] + 1
    assert after[1] <= before[1]


async def test_figures_that_a_cell_left_open_are_not_shown(kernel: ClientKernel) -> None:
    pytest.importorskip("matplotlib")
    await run(kernel, "%config InlineBackend.close_figures = False\nimport matplotlib.pyplot as plt\nplt.plot([1])")
    assert kinds(await scratch(kernel, "6 * 7")) == ["execute_result"]


# ------------------------------------------------------------------------------------------------ in this very process

HERE = (
    "from jupyter_agent.kernel.inprocess import InProcessKernel\n_kernel = InProcessKernel(get_ipython())\n"
    "async def _scratch(code, timeout=60):\n"
    "    return await (await _kernel.scratch(code, timeout=timeout)).wait(timeout + 30)"
)


@pytest.fixture
async def magic() -> AsyncIterator[ClientKernel]:
    made = await start_kernel("python3", cwd=ROOT)
    assert (await run(made, HERE)).status == "ok"
    yield made
    await made.shutdown()


async def test_in_process_the_shell_stays_and_the_loop_runs_on(magic: ClientKernel) -> None:
    code = (
        "import asyncio\nx = 40\nticks = 0\n"
        "async def tick():\n    global ticks\n    while True:\n        ticks += 1\n        await asyncio.sleep(0.02)\n"
        "ticking = asyncio.ensure_future(tick())\n"
        "seen = await _scratch('import time\\nx += 2\\nprint(\"said\")\\ntime.sleep(0.5)\\nx')\n"
        "ticking.cancel()\n"
        "print(seen.status, seen.outputs[0]['text'].strip(), seen.outputs[1]['data']['text/plain'], x, ticks > 5)"
    )
    snapshot = await run(magic, code)
    assert text_of(snapshot) == "ok said 42 40 True\n", snapshot.error


async def test_in_process_errors_refusals_and_deadlines(magic: ClientKernel) -> None:
    failed = await run(magic, "_seen = await _scratch('1/0')\nprint(_seen.status, _seen.error[0])")
    assert text_of(failed) == "error ZeroDivisionError\n"
    late = await run(magic, "_seen = await _scratch('import time; time.sleep(600)', 1)\nprint(_seen.error[0])")
    assert text_of(late) == "TimeoutError\n"
    refused = await run(
        magic,
        "import socket\ns = socket.socket()\n_seen = await _scratch('s.close()')\nprint(_seen.status, _seen.advice)",
    )
    assert text_of(refused).startswith("aborted Not run in a scratch copy: s is a socket.socket")
    assert os.path.isdir("/proc/self")


async def test_in_process_an_interrupt_ends_it(magic: ClientKernel) -> None:
    execution = await magic.run(
        "_run = await _kernel.scratch('import time; time.sleep(600)', timeout=600)\nawait _run.wait(600)"
    )
    await execution.wait(1)
    snapshot = await execution.interrupt()
    assert snapshot.status == "interrupted"
    children = "print(open('/proc/{0}/task/{0}/children'.format(__import__('os').getpid())).read().split())"
    deadline = time.monotonic() + 2 * SLACK
    while text_of(await run(magic, children)) != "[]\n":
        assert time.monotonic() < deadline
