"""n37: looking at variables leaves no name, no result, no history, no closed figure behind, also while a cell runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_agent.kernel.client import ClientKernel, start_kernel
from jupyter_agent.testing.kernels import SLACK, run, text_of

STATE = "print(sorted(dir()) == names, list(Out), len(In), get_ipython().execution_count)"


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[ClientKernel]:
    made = await start_kernel("python3", cwd=tmp_path)
    yield made
    await made.shutdown()


async def test_n37_dir_is_the_same_before_and_after(kernel: ClientKernel) -> None:
    # All in one cell's view: IPython itself adds _i1, _i2 … from cell to cell.
    code = (
        "import time\nx, names = 1, None\nnames = sorted(dir())\nprint('ready', flush=True)\ntime.sleep(3)\n"
        "print(sorted(set(dir()) ^ set(names)), list(Out), len(In))"
    )
    execution = await kernel.run(code)
    while "ready" not in text_of(await execution.wait(0.1)):
        assert not execution.done
    found = await kernel.variables()
    await kernel.variables(["x"], detail=True)
    assert {"x", "names"} <= {variable.name for variable in found}
    assert text_of(await execution.wait(10 * SLACK)).endswith("[] [] 2\n")
    await kernel.variables()
    after = await run(kernel, "print([name for name in dir() if not name.startswith('_')], len(In), list(Out))")
    assert text_of(after) == "['In', 'Out', 'exit', 'get_ipython', 'names', 'open', 'quit', 'time', 'x'] 3 []\n"


async def test_n37_a_figure_in_the_making_stays_open(kernel: ClientKernel) -> None:
    """matplotlib's inline back end shows and closes figures after every execution, so also after a silent one."""
    code = (
        "import matplotlib.pyplot as plt, time\nplt.plot([1, 2])\nprint('ready', flush=True)\ntime.sleep(3)\n"
        "print(plt.get_fignums())"
    )
    execution = await kernel.run(code)
    while "ready" not in text_of(await execution.wait(0.1)):
        assert not execution.done
    await kernel.variables()
    snapshot = await execution.wait(10 * SLACK)
    assert text_of(snapshot).endswith("[1]\n")
    assert snapshot.outputs[-1]["output_type"] == "display_data"


async def test_n37_hostile_objects_are_not_called(kernel: ClientKernel) -> None:
    code = (
        "calls = []\n"
        "class Meta(type):\n    def __instancecheck__(cls, x): calls.append('meta')\n"
        "class Hostile(metaclass=Meta):\n"
        "    def __init__(self): self.real = 1\n"
        "    def __repr__(self): calls.append('repr'); raise SystemExit\n"
        "    def __len__(self): calls.append('len'); return -1\n"
        "    def __iter__(self): calls.append('iter'); return iter(int, 1)\n"
        "    def __getattribute__(self, name): calls.append(name); raise KeyboardInterrupt\n"
        "    def __eq__(self, other): calls.append('eq'); return True\n"
        "    __hash__ = None\n"
        "    __class__ = property(lambda self: calls.append('class'))\n"
        "class Lazy(dict):\n    def __getitem__(self, key): calls.append('item')\n"
        "    def items(self): calls.append('items')\n"
        "hostile, nested, lazy, huge = Hostile(), [Hostile()], Lazy(a=1), 10 ** 1_000_000\n"
        "endless = []\nendless.append(endless)\nprint(calls)"
    )
    await run(kernel, code)
    await run(kernel, "calls.clear()")
    found = {variable.name: variable for variable in await kernel.variables(None, detail=True)}
    assert found["hostile"].type == "Hostile"
    assert found["huge"].preview == "int of 3321929 bits"
    assert all(len(variable.preview) <= 200 for variable in found.values())
    assert text_of(await run(kernel, "print(calls)")) == "[]\n"
