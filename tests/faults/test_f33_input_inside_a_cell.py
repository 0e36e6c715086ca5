"""f33: a cell that asks for input fails at once with advice, and the kernel stays usable."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


@pytest.mark.parametrize(
    "source",
    [
        "name = input('Name? ')",
        "import getpass\ngetpass.getpass()",
        "import pdb\npdb.set_trace()\nx = 1",
    ],
    ids=["input", "getpass", "pdb"],
)
async def test_f33_a_cell_that_asks_is_refused_with_advice(tmp_path: Path, source: str) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", source), code("b", "print('alive')")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        started = time.monotonic()
        result = await call(conversation, "run_cells", cells=["a"], timeout=60)
        assert time.monotonic() - started < 20
        assert result.is_error
        assert "assign the value in the code" in text_of(result)
        after = await call(conversation, "run_cells", cells=["b"], timeout=60)
        assert text_of(after).startswith("ok")


async def test_f33_a_cell_that_can_do_without_input_does(tmp_path: Path) -> None:
    """The kernel itself says no to the code, which may go on then; an interrupt would end it."""
    source = "try:\n    name = input('Name? ')\nexcept Exception:\n    name = 'nobody'\nprint(name)"
    path = write_notebook(tmp_path / "a.ipynb", [code("a", source)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        result = await call(conversation, "run_cells", cells=["a"], timeout=60)
        assert text_of(result).startswith("ok")
        assert "nobody" in text_of(result)
