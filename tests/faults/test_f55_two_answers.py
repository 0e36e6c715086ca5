"""Two clients answer one approval: the first answer wins, both see it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from lab.client import Client, create
from lab.harness import LabServer
from lab.serving import model_port, script, server

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
__all__ = ["model_port", "script", "server"]


async def test_f55_the_first_answer_wins(server: LabServer, script: Script) -> None:
    commands = [{"command": f"echo {n} > race.txt"} for n in range(10)]
    lines: list[Any] = [{"calls": [{"name": "run_bash", "arguments": command}]} for command in commands]
    script(*lines, {"text": "Done."})
    conversation = create(server)
    one, two = await Client.connect(server, conversation), await Client.connect(server, conversation)
    one.ask("race")
    for n in range(10):
        request = await one.until("approval_request", count=n + 1)
        await two.until("approval_request", count=n + 1)
        answers = [(one, "once"), (two, "reject")]
        random.shuffle(answers)
        for client, decision in answers:
            client.answer(request, decision)
    await one.until("stop", timeout=60)
    await two.until("stop")
    await one.close()
    await two.close()
    verdicts = [event for event in one.journalled if event["type"] == "approval"]
    assert len({event["id"] for event in verdicts}) == len(verdicts) == 10
    assert two.journalled == one.journalled
