"""n11: reading a notebook never asks a kernel: not one that is busy, not one that cannot even be started."""

from __future__ import annotations

import time
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


async def test_n11_reading_without_a_kernel_starts_none(tmp_path: Path) -> None:
    nowhere = {"kernelspec": {"name": "nowhere", "display_name": "Nowhere", "language": "python"}}
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "x = 1")], metadata=nowhere)
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        result = await call(conversation, "read_cells", cells=["a"])
        assert text_of(result).startswith("ok")
        assert (await (await conversation.kernel()).state()).status == "none"


async def test_n11_reading_beside_a_busy_kernel_is_quick(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "import time\nprint('begun', flush=True)\ntime.sleep(60)")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        await call(conversation, "run_cells", cells=["a"], timeout=1)
        started = time.monotonic()
        assert text_of(await call(conversation, "read_cells")).startswith("ok")
        assert text_of(await call(conversation, "read_output", cell="a")).startswith("ok")
        assert time.monotonic() - started < 10
