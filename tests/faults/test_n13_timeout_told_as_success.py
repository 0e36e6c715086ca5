"""n13: a run that did not end is never told as a success."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

SLOW = "import time\nprint('so far', flush=True)\ntime.sleep(30)"


@pytest.mark.parametrize(
    ("on_timeout", "begins", "is_error"),
    [("keep", "running cell a for ", False), ("interrupt", "error: TimeoutError: interrupted after ", True)],
)
async def test_n13_a_timeout_is_not_ok(tmp_path: Path, on_timeout: str, begins: str, is_error: bool) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", SLOW), code("b", "1")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        result = await call(conversation, "run_cells", cells="all", timeout=1, on_timeout=on_timeout)
        assert text_of(result).startswith(begins)
        assert result.is_error is is_error
        assert result.details["cells"][0]["status"] != "ok"
        assert result.details["not_run"] == ["b"]
        log = conversation.cell_log()
        assert "a" not in log.ran
