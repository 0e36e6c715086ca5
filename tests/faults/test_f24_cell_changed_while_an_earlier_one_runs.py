"""f24: what a person types into a later cell while an earlier one runs was not granted, and is not run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools


async def test_f24_a_later_cell_changed_meanwhile_is_not_run(tmp_path: Path) -> None:
    flag = tmp_path / "running"
    slow = (
        f"import pathlib, time\nflag = pathlib.Path({str(flag)!r})\nflag.touch()\n"
        "while flag.exists():\n    time.sleep(0.01)"
    )
    path = write_notebook(tmp_path / "a.ipynb", [code("a", slow), code("b", "x = 1")])
    canary = tmp_path / "ran"
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        running = asyncio.create_task(call(conversation, "run_cells", cells="all"))
        while not flag.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        write_notebook(path, [code("a", slow), code("b", f"open({str(canary)!r}, 'w')")])
        flag.unlink()
        result = await running
    assert result.details["refused"]["kind"] == "stale"
    assert result.details["not_run"] == ["b"]
    assert [cell["status"] for cell in result.details["cells"]] == ["ok"]
    assert str(canary) in text_of(result)
    assert not canary.exists()
