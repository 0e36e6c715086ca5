"""f24: a run that was asked for another source than the cell has by now is refused, and nothing runs."""

from __future__ import annotations

from pathlib import Path

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.cells import read_cells
from jupyter_agent.tools.running import run_cells

TOOLS = {tool.name: tool for tool in (read_cells, run_cells)}


async def test_f24_a_cell_changed_between_reading_and_running_is_refused(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "x = 1")])
    canary = tmp_path / "ran"
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c", notebook=path, mode="auto") as conversation:
        (cell,) = (await call(conversation, "read_cells")).details["cells"]
        write_notebook(path, [code("a", f"open({str(canary)!r}, 'w')")])
        result = await call(conversation, "run_cells", cells=["a"], expected_hashes={"a": cell["hash"]})
    assert result.details["refused"]["kind"] == "stale"
    assert str(canary) in text_of(result)
    assert not canary.exists()


async def test_f24_a_cell_changed_during_the_approval_is_refused(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", "x = 1")])
    canary = tmp_path / "ran"

    async def user_edits_then_says_yes(request: ApprovalRequest) -> Approval:
        write_notebook(path, [code("a", f"open({str(canary)!r}, 'w')")])
        return Approval(id=request.id, digest=request.digest, decision="once")

    async with conversation_on(
        tmp_path, TOOLS, folder=tmp_path / "c", notebook=path, mode="review", asker=user_edits_then_says_yes
    ) as conversation:
        result = await call(conversation, "run_cells", cells=["a"])
    assert result.details["refused"]["kind"] == "stale"
    assert not canary.exists()
