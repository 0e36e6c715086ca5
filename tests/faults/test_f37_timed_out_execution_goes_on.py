"""f37: what outlives its call is known to run: the next run waits for it instead of running beside it."""

from __future__ import annotations

import threading
from pathlib import Path

from jupyter_agent.events import Note
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.testing.waiting import until
from jupyter_agent.tools import all_tools

SLOW = "import time\nsteps = ['slow begins']\ntime.sleep(2)\nsteps.append('slow ends')"


async def test_f37_the_next_run_waits(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", SLOW), code("b", "steps.append('next')\nprint(steps)")])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        await call(conversation, "control_kernel", action="start")
        before = threading.active_count()
        first = await call(conversation, "run_cells", cells=["a"], timeout=0.5)
        assert text_of(first).startswith("running cell a")
        assert threading.active_count() == before, "no thread waits on"
        second = await call(conversation, "run_cells", cells=["b"])
        assert text_of(second).startswith("ok")
        assert "['slow begins', 'slow ends', 'next']" in text_of(second)

        def told() -> bool:
            notes = [event.text for event in conversation.events if isinstance(event, Note)]
            return any(text.startswith("Cell a ended after") and text.endswith(": ok.") for text in notes)

        await until(told)
