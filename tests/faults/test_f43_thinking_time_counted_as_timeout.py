"""f43: the time a person takes to approve a run is not taken off the run's timeout."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


async def slow_yes(request: ApprovalRequest) -> Approval:
    await asyncio.sleep(3)
    return Approval(id=request.id, digest=request.digest, decision="once")


async def test_f43_approving_slowly_works(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "import time\ntime.sleep(0.2)\nprint('whole')")])
    async with conversation_on(
        tmp_path, all_tools(), folder=tmp_path / "c", notebook=path, mode="review", asker=slow_yes
    ) as conversation:
        result = await call(conversation, "run_cells", cells=["a"], timeout=2.5, on_timeout="interrupt")
    assert text_of(result).startswith("ok")
    assert "whole" in text_of(result)
