"""f34: a cell that ignores its interrupt ends the call in time, is said to run on, nothing is restarted silently."""

from __future__ import annotations

import time
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

STUBBORN = """
import time
end = time.monotonic() + 90
while time.monotonic() < end:
    try:
        time.sleep(1)
    except KeyboardInterrupt:
        print('not me', flush=True)
"""


async def test_f34_the_call_ends_and_asks_before_a_restart(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", STUBBORN)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        started = time.monotonic()
        result = await call(conversation, "run_cells", cells=["a"], timeout=1, on_timeout="interrupt")
        assert time.monotonic() - started < 30
        assert result.is_error
        assert text_of(result).startswith("running cell a")
        assert "ask the person before restarting" in text_of(result)
        assert "not me" in text_of(result)
        state = await (await conversation.kernel()).state()
        assert (state.status, state.restarts) == ("busy", 0)
        refused = await call(conversation, "control_kernel", action="restart")
        assert refused.details["refused"]["kind"] == "denied"
