"""A turn of `%agent` in a real kernel, one run and the answer: the agent adds at most 50 ms to its requests.

A long turn of five runs is shown beside it, without a limit.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from _harness import Result, paired

from jupyter_agent.testing.scripted import ScriptedServer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SHORT, LONG = 1, 5
"""Runs of a turn; its replies are one more."""
ALLOWANCE = 0.050
"""Seconds that the agent may add to a turn."""


def script(runs: int) -> list[dict[str, Any]]:
    """Calls of `run_code` and an answer, for any number of turns."""
    lines: list[dict[str, Any]] = []
    for step in range(runs + 1):
        seen = "Bench" if step == 0 else f"step {step} done"
        call = {"name": "run_code", "arguments": {"code": f"print('step', {step + 1}, 'done')"}}
        reply = {"text": "Done."} if step == runs else {"text": "A step.", "calls": [call]}
        lines.append({"when": {"last_contains": seen}, "repeat": "forever", **reply})
    return lines


def measure() -> list[Result]:
    return [*turn(SHORT, limit=1.0), *turn(LONG)]


def turn(runs: int, *, limit: float | None = None) -> list[Result]:
    from magic.drive import front, pristine

    with tempfile.TemporaryDirectory() as folder, ScriptedServer(script(runs)) as server:
        known = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "scripted-1"}
        with front(Path(folder), **(os.environ | pristine(folder) | known)) as kernel:

            def ours() -> None:
                ran = kernel.run("%agent --new --mode accept-edits Bench")
                assert ran.status == "ok", ran.text

            ours()
            bodies = server.messages[-runs - 1 :]

            def model_alone() -> None:
                for body in bodies:
                    post(server.url, body)

            def allowed() -> None:
                model_alone()
                time.sleep(ALLOWANCE)

            name = f"%agent, {runs} run{'' if runs == 1 else 's'} and the answer"
            return [
                paired(name, "its requests alone + 50 ms", ours, allowed, limit=limit, rounds=21),
                paired(name, "its requests alone", ours, model_alone, rounds=21),
            ]


def post(url: str, body: dict[str, Any]) -> None:
    """Send a recorded request and read its stream to the end."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request(
        "POST",
        f"{place.path}/v1/messages",
        json.dumps(body),
        {"authorization": "Bearer k", "content-type": "text/json"},
    )
    response = connection.getresponse()
    assert response.status == 200, response.read()
    response.read()
    connection.close()
