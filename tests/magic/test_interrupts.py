"""The interrupt button at every moment of a turn: it ends within a second, and everything goes on afterwards."""

from __future__ import annotations

import time

import pytest
from magic.drive import INTERRUPT, Front, Message, Ran, call, model

from jupyter_agent.testing.kernels import SLACK

SECOND = 1 * SLACK
GO_ON = {"when": {"last_contains": "Go on."}, "text": "Here I am."}


def interrupt_when(kernel: Front, code: str, seen: str, **options) -> Ran:
    """Run a cell and press the button once, as soon as `seen` shows in what it publishes."""
    pressed: list[float] = []

    def look(message: Message) -> None:
        content = message["content"]
        text = content.get("text", "") + str(content.get("data", {}).get("text/plain", ""))
        if seen in text and not pressed:
            pressed.append(time.monotonic())
            kernel.interrupt()

    ran = kernel.run(code, on_message=look, **options)
    assert pressed, f"{seen!r} never showed: {ran.text}"
    ran.interrupted_after = time.monotonic() - pressed[0]
    return ran


def check_stopped_and_usable(kernel: Front, ran: Ran) -> None:
    assert ran.status == "error"
    assert ran.error is not None
    assert ran.error[0] == "AgentStopped"
    assert "Traceback" not in ran.text
    assert ran.interrupted_after < SECOND
    turn = kernel.value("get_ipython().jupyter_agent.agent.conversation.turn")
    following = kernel.run("%agent Go on.")
    assert following.status == "ok", following.text
    assert kernel.value("(_agent.text, _agent.conversation.turn)") == ("Here I am.", turn + 1)
    assert kernel.run("alive = 1\nalive").text.strip() == "1"


@pytest.mark.parametrize(
    "code",
    [
        "import time\nprint('begun', flush=True)\ntime.sleep(60)\nreached = 1",
        "import asyncio\nprint('begun', flush=True)\nawait asyncio.sleep(60)\nreached = 1",
        "print('begun', flush=True)\nwhile True: pass",
        "print('begun', flush=True)\nimport threading\nthreading.Event().wait(60)\nreached = 1",
        "import subprocess\nprint('begun', flush=True)\nsubprocess.run(['sleep', '60'])\nreached = 1",
    ],
    ids=["sleeping", "awaiting", "computing", "waiting", "child"],
)
def test_in_the_middle_of_a_computation(kernel: Front, code: str) -> None:
    with model(kernel, [call("run_code", code=code), GO_ON]):
        ran = interrupt_when(kernel, "%%agent --mode accept-edits --new\nCompute.", "begun\n")
        check_stopped_and_usable(kernel, ran)
    assert "reached" not in kernel.value("dir()")


def test_in_the_middle_of_a_stream(kernel: Front) -> None:
    script = [{"text": "A long story that begins here and goes on.", "pause_until": "never"}, GO_ON]
    with model(kernel, script) as server:
        gate = server.gate("never")
        ran = interrupt_when(kernel, "%%agent --new\nTell me.", "A")
        check_stopped_and_usable(kernel, ran)
        gate.open()
    assert ran.text.count("Stopped by the person") == 1


def test_while_the_model_is_silent(kernel: Front) -> None:
    script = [{"text": "Never said.", "pause_until": "never", "pause_at": "headers"}, GO_ON]
    with model(kernel, script) as server:
        gate = server.gate("never")
        kernel.run("%agent --new")

        def press(message: Message) -> None:
            if message["content"].get("execution_state") == "busy":
                assert gate.reached.wait(30)
                pressed.append(time.monotonic())
                kernel.interrupt()

        pressed: list[float] = []
        ran = kernel.run("%agent Tell me.", on_message=press)
        ran.interrupted_after = time.monotonic() - pressed[0]
        check_stopped_and_usable(kernel, ran)
        gate.open()


def test_in_the_middle_of_a_shell_command(kernel: Front) -> None:
    command = "echo $$ > pid; touch begun; sleep 60; touch reached"
    with model(kernel, [call("run_bash", command=command), GO_ON]):
        begun = kernel.folder / "begun"

        def press(message: Message) -> None:
            if "run_bash" in str(message["content"].get("data", "")) and not pressed:
                deadline = time.monotonic() + 30
                while not begun.exists():
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                pressed.append(time.monotonic())
                kernel.interrupt()

        pressed: list[float] = []
        ran = kernel.run("%%agent --mode accept-edits --new --allow run_bash\nWait.", on_message=press)
        ran.interrupted_after = time.monotonic() - pressed[0]
        check_stopped_and_usable(kernel, ran)
    assert not (kernel.folder / "reached").exists()


def test_at_an_approval(kernel: Front) -> None:
    with model(kernel, [call("run_code", code="never_run = 1"), GO_ON]):
        started = time.monotonic()
        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=[INTERRUPT])
        ran.interrupted_after = 0 if time.monotonic() - started < 3 * SECOND else SECOND
        check_stopped_and_usable(kernel, ran)
    assert "never_run" not in kernel.value("dir()")


def test_interrupting_twice_is_interrupting_once(kernel: Front) -> None:
    code = "print('begun', flush=True)\nimport time\nwhile True:\n    time.sleep(0.1)"
    with model(kernel, [call("run_code", code=code), GO_ON]):
        seen: list[float] = []

        def press(message: Message) -> None:
            if message["content"].get("text") == "begun\n":
                seen.append(time.monotonic())
                kernel.interrupt()
                kernel.interrupt()

        ran = kernel.run("%%agent --mode accept-edits --new\nLoop.", on_message=press)
        ran.interrupted_after = time.monotonic() - seen[0]
        check_stopped_and_usable(kernel, ran)


STRIKE = """
import os, signal, time
struck = []
def strike(event, seen=[]):
    seen += [event.type] * (event.type != "delta")
    if len(seen) == {place} and event.type != "delta":
        struck.append((event.type, time.time()))
        os.kill(os.getpid(), signal.SIGINT)
_unsubscribe = get_ipython().jupyter_agent.agent.conversation.subscribe(strike)
"""
TURN = [
    {
        "thinking": "First I think.",
        "text": "I make it.",
        "calls": [{"name": "run_code", "arguments": {"code": "u = 1"}}],
    },
    call("write_file", path="made.txt", content="made\n"),
    call("run_bash", command="touch bashed"),
    {"text": "All done."},
]
OPTIONS = "--mode accept-edits --allow run_bash"


def clean(kernel: Front) -> None:
    for name in ("made.txt", "bashed"):
        (kernel.folder / name).unlink(missing_ok=True)


def event_types(kernel: Front) -> list[str]:
    return list(kernel.value("[e.type for e in get_ipython().jupyter_agent.agent.conversation.turn_events()]"))


@pytest.mark.timeout(300)
def test_at_every_event_of_a_turn(kernel: Front) -> None:
    """The signal arrives while the event is being told; nothing that was not begun by then happens."""
    clean(kernel)
    with model(kernel, TURN):
        kernel.run(f"%agent --new {OPTIONS}")
        whole = kernel.run("%agent Make it.")
        assert whole.status == "ok", whole.text
        events = event_types(kernel)
    assert {"user", "assistant", "tool_start", "change", "tool_result", "usage", "stop"} <= set(events)
    ended = []
    for place in range(1, len(events)):
        clean(kernel)
        with model(kernel, [*TURN, GO_ON]):
            kernel.run(f"%agent --new {OPTIONS}")
            kernel.run(STRIKE.format(place=place))
            ran = kernel.run("%agent Make it.")
            ran.interrupted_after = time.time() - kernel.value("struck[-1][1]")
            kernel.run("_unsubscribe()")
            seen = event_types(kernel)
            ended.append((place, kernel.value("struck[-1][0]"), seen[-1], round(ran.interrupted_after, 2)))
            begun = seen[: seen.index("stop")].count("tool_start")
            assert begun == events[:place].count("tool_start"), (place, seen)
            check_stopped_and_usable(kernel, ran)
    assert all(last == "stop" for _, _, last, _ in ended), ended
    print(f"seconds from each event to the end of the cell: {ended}")
