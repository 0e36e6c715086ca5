"""f40: after a restart the kernel's own number is what the result and the document show."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


async def yes(request: ApprovalRequest) -> Approval:
    return Approval(id=request.id, digest=request.digest, decision="once")


async def test_f40_the_first_run_after_a_restart_is_number_one(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "x = 1"), code("b", "x")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path, asker=yes) as conversation:
        first = await call(conversation, "run_cells", cells="all")
        assert [cell["execution_count"] for cell in first.details["cells"]] == [1, 2]
        await call(conversation, "control_kernel", action="restart")
        again = await call(conversation, "run_cells", cells=["a"])
        assert again.details["cells"][0]["execution_count"] == 1
        await (await conversation.notebook()).save()
        stored = {cell["id"]: cell["execution_count"] for cell in json.loads(path.read_text())["cells"]}
        assert stored["a"] == 1
