"""n24: whatever ends a run early, the outputs so far are in the result and in the document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

BEGIN = "import os, time\nfor step in range(3):\n    print('step', step, flush=True)\n"
ENDS = {
    "kept": (BEGIN + "time.sleep(60)", "keep"),
    "interrupted": (BEGIN + "time.sleep(60)", "interrupt"),
    "failed": (BEGIN + "1/0", "keep"),
    "died": (BEGIN + "time.sleep(0.3)\nos.kill(os.getpid(), 9)", "keep"),
}


@pytest.mark.parametrize("end", ENDS)
async def test_n24_outputs_so_far_are_kept(tmp_path: Path, end: str) -> None:
    source, on_timeout = ENDS[end]
    path = write_notebook(tmp_path / "a.ipynb", [code("a", source)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        timeout = 2 if end in ("kept", "interrupted") else 60
        result = await call(conversation, "run_cells", cells=["a"], timeout=timeout, on_timeout=on_timeout)
        assert not text_of(result).startswith("ok")
        assert "step 2" in text_of(result)
        await (await conversation.notebook()).save()
        assert "step 2" in json.dumps(json.loads(path.read_text())["cells"][0]["outputs"])
