"""n29: state, variables, interrupt, wait and restart are there for the model, each as an action of its own."""

from __future__ import annotations

from pathlib import Path

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


async def test_n29_a_life_of_a_kernel(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []

    async def yes(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval(id=request.id, digest=request.digest, decision="once")

    slow = "import time\nvalue = 41\nprint('begun', flush=True)\ntime.sleep(60)"
    path = write_notebook(tmp_path / "a.ipynb", [code("a", slow)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path, asker=yes) as conversation:
        assert "none" in text_of(await call(conversation, "control_kernel", action="status"))
        assert "idle" in text_of(await call(conversation, "control_kernel", action="start"))
        await call(conversation, "run_cells", cells=["a"], timeout=1)
        assert "running cell a" in text_of(await call(conversation, "control_kernel", action="status"))
        assert "value: int = 41" in text_of(await call(conversation, "inspect_variables", names=["value"]))
        waited = await call(conversation, "control_kernel", action="wait", timeout=0.2)
        assert text_of(waited).startswith("running")
        assert "begun" in text_of(waited)
        interrupted = await call(conversation, "control_kernel", action="interrupt")
        assert text_of(interrupted).startswith("ok interrupted")
        assert not asked
        restarted = await call(conversation, "control_kernel", action="restart")
        assert text_of(restarted).startswith("ok restarted")
        assert "value" in asked[0].preview
        assert "not defined: value" in text_of(await call(conversation, "inspect_variables", names=["value"]))
