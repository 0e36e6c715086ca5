"""n15: the first line of a failed run says so, with the exception, the cell and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

FAILURES = {
    "raise ValueError('no\\nsuch luck')": "error: ValueError: no such luck in cell bad line 1",
    "def f():\n    return 1 / 0\n\nprint('x' * 100_000)\nf()": "error: ZeroDivisionError: division by zero in cell",
    "if True print(1)": "error: SyntaxError: ",
    "import sys\nsys.exit(3)": "error: SystemExit: 3",
    "import asyncio\nawait asyncio.wait_for(asyncio.sleep(9), 0.01)": "error: TimeoutError",
}


@pytest.mark.parametrize(
    ("source", "expected"), FAILURES.items(), ids=["raise", "after a flood", "syntax", "exit", "await"]
)
async def test_n15_the_first_line_names_the_failure(tmp_path: Path, source: str, expected: str) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("bad", source)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        result = await call(conversation, "run_cells", cells=["bad"])
    assert result.is_error
    assert text_of(result).startswith(expected)
    assert " in cell bad" in text_of(result).split("\n")[0]
    assert result.details["cells"][0]["status"] == "error"
