"""f43 in the magic: the time a person takes at the prompt is taken off neither the run's timeout nor the budget."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


def test_f43_answering_slowly_works(kernel: Front) -> None:
    code = "import time\ntime.sleep(0.2)\nwhole = 1"
    limited = "from jupyter_agent.budget import Limits\nlimits = Limits\nagent = get_ipython().jupyter_agent.agent"
    kernel.run(limited)
    kernel.run("%agent --new --mode review")
    # The magic has no time limit of its own; the budget behind it counts none of the waiting.
    script = [call("run_code", code=code, timeout=1.5), {"text": "Done."}]
    with model(kernel, script):
        ran = kernel.run("%agent Run it.", answers=["o"], thinking=3)
    assert ran.status == "ok"
    assert kernel.value("whole") == 1
    assert kernel.value("agent.conversation.budget.spent.seconds") < ran.seconds - 2.5
