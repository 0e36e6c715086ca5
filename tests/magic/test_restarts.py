"""The kernel is restarted between turns: its variables are gone, the conversation goes on."""

from __future__ import annotations

import json

from magic.drive import Front, call, model


def test_the_conversation_goes_on_after_a_restart(kernel: Front) -> None:
    script = [
        call("run_code", code="remembered = 1"),
        {"text": "It is 1."},
        {"expect": {"any_contains": ["It is 1.", "The kernel was restarted"]}, "text": "I remember."},
        {"expect": {"n_messages": 1}, "text": "A new one."},
    ]
    with model(kernel, script):
        kernel.run("%agent --new --mode accept-edits Set it.")
        id = kernel.value("_agent.conversation.id")
        kernel.restart()
        kernel.run("%load_ext jupyter_agent")
    with model(kernel, script[2:]) as server:
        ran = kernel.run("%agent What was it?")
        assert f"Going on with conversation {id} after the restart" in ran.text
        assert kernel.value("(_agent.text, _agent.conversation.id, _agent.conversation.turn)") == ("I remember.", id, 2)
        assert "remembered" not in kernel.value("dir()")
        kernel.run("%agent --new Start anew.")
        assert kernel.value("_agent.conversation.id") != id
        assert "What was it?" not in json.dumps(server.messages[-1])


def test_new_after_a_restart_does_not_go_on(kernel: Front) -> None:
    with model(kernel, [{"text": "One."}]):
        kernel.run("%agent --new One.")
    kernel.restart()
    kernel.run("%load_ext jupyter_agent")
    with model(kernel, [{"expect": {"n_messages": 1}, "text": "Two."}]):
        ran = kernel.run("%agent --new Two.")
    assert "Going on" not in ran.text


def test_an_earlier_conversation_is_resumed_by_name(kernel: Front) -> None:
    with model(kernel, [{"text": "The first."}, {"text": "Other."}]):
        kernel.run("%agent --new One.")
        id = kernel.value("_agent.conversation.id")
        kernel.run("%agent --new Two.")
    kernel.restart()
    kernel.run("%load_ext jupyter_agent")
    with model(kernel, [{"expect": {"any_contains": "The first."}, "text": "Again."}]):
        kernel.run(f"%agent resume {id}")
        kernel.run("%agent And now?")
    assert kernel.value("(_agent.text, _agent.conversation.id)") == ("Again.", id)


def test_undo_after_a_restart(kernel: Front) -> None:
    made = kernel.folder / "made.txt"
    with model(kernel, [call("write_file", path="made.txt", content="made\n"), {"text": "Made."}]):
        kernel.run("%agent --new --mode accept-edits Make it.")
    assert made.exists()
    kernel.restart()
    kernel.run("%load_ext jupyter_agent")
    ran = kernel.run("%agent undo")
    assert "Kernel state is not restored." in ran.text
    assert not made.exists()
