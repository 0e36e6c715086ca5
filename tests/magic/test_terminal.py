"""Terminal IPython in a pseudo-terminal: the same turns, plain text, questions and Ctrl-C at the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversations import notebook_file
from magic.drive import call, pristine
from magic.terminal import Terminal, terminal

from jupyter_agent.testing.kernels import SLACK
from jupyter_agent.testing.scripted import ScriptedServer

QUESTION = r"with a reason\? "
GO_ON = {"when": {"last_contains": "Go on."}, "text": "Here I am."}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = str(tmp_path_factory.mktemp("home"))
    with terminal(tmp_path_factory.mktemp("work"), **pristine(home)) as made:
        yield made


def use(shell: Terminal, server: ScriptedServer) -> None:
    shell.run(f"%config JupyterAgent.base_url = {server.url!r}")
    shell.run("%config JupyterAgent.model = 'scripted-1'")


def test_a_turn_reads_well_and_leaves_its_variables(shell: Terminal) -> None:
    code = "import asyncio\nawait asyncio.sleep(0.01)\nmade = 6 * 7\nprint('said', made)\nmade"
    script = [
        {"text": "# Plan\n\nI **compute** it.", "calls": [{"name": "run_code", "arguments": {"code": code}}]},
        call("run_code", code="1/0"),
        {"text": "It is `42`."},
    ]
    with ScriptedServer(script) as server:
        use(shell, server)
        shown = shell.run("%%agent --new --mode accept-edits", "What is six times seven?", "Don't guess.")
    lines = [line.strip() for line in shown.splitlines()]
    for expected in ("Plan", "I compute it.", "said 42", "It is 42.", "Nothing was changed."):
        assert expected in lines, shown
    assert any(line.startswith("● run_code") for line in lines)
    assert any(line.endswith("]: 42") for line in lines), "the result shows as of a cell"
    assert any("ZeroDivisionError: division by zero in run_code line 1" in line for line in lines)
    assert "Traceback" not in shown
    assert "tokens in" in shown
    assert "42" in shell.run("made")


def test_history_counts_go_on(shell: Terminal) -> None:
    with ScriptedServer([call("run_code", code="'first'"), call("run_code", code="'second'"), {"text": "."}]) as server:
        use(shell, server)
        shell.run("%agent --new --mode accept-edits Count.")
        assert "['first', 'second', 'own'] 1" in shell.run("'own'") + shell.run(
            "numbers = sorted(Out)[-3:]; print([Out[n] for n in numbers], numbers[1] - numbers[0])"
        )


def test_approvals_are_asked_at_the_terminal(shell: Terminal) -> None:
    script = [call("run_code", code="approved_here = 1"), call("run_code", code="rejected_here = 1"), {"text": "Done."}]
    with ScriptedServer(script) as server:
        use(shell, server)
        shell.type("%agent --new --mode review Do it.")
        assert "approved_here = 1" in shell.expect(QUESTION)
        shell.child.sendline("once")
        assert "rejected_here = 1" in shell.expect(QUESTION)
        shell.child.sendline("r never")
        assert "rejected: never" in shell.wait()
    assert "True False" in shell.run("print('approved_here' in dir(), 'rejected_here' in dir())")


@pytest.mark.parametrize(
    "wait", ["import time; time.sleep(60)", "import asyncio; await asyncio.sleep(60)", "while True: pass"]
)
def test_ctrl_c_stops_what_runs_and_the_next_request_goes_on(shell: Terminal, wait: str) -> None:
    with ScriptedServer([call("run_code", code=f"print('be' + 'gun', flush=True)\n{wait}"), GO_ON]) as server:
        use(shell, server)
        shell.type("%agent --new --mode accept-edits Wait.")
        shell.expect("begun")
        check_stops(shell)


def test_ctrl_c_stops_a_stream(shell: Terminal) -> None:
    script = [{"text": "One.\n\nTwo.", "pause_until": "never", "pause_at": "stop"}, GO_ON]
    with ScriptedServer(script) as server:
        use(shell, server)
        shell.type("%agent --new Tell.")
        shell.expect("One.")
        check_stops(shell)
        server.gate("never").open()


def test_ctrl_c_at_a_question_stops(shell: Terminal) -> None:
    with ScriptedServer([call("run_code", code="never_here = 1"), GO_ON]) as server:
        use(shell, server)
        shell.type("%agent --new --mode review Ask.")
        shell.expect(QUESTION)
        check_stops(shell)
    assert "False" in shell.run("'never_here' in dir()")


def check_stops(shell: Terminal) -> None:
    pressed = time.monotonic()
    shell.interrupt()
    shown = shell.wait()
    assert time.monotonic() - pressed < 1 * SLACK
    assert "stopped" in shown
    assert "Traceback" not in shown
    assert "Here I am." in shell.run("%agent Go on.")


def test_history_stands_in_for_a_notebook(shell: Terminal) -> None:
    shell.run("entered_by_hand = 17")
    script = [
        call("read_cells"),
        {"expect": {"tool_result_contains": ["entered_by_hand = 17", "id=in-"]}}
        | call("edit_cells", ops=[{"op": "insert", "type": "code", "source": "x"}]),
        {"expect": {"tool_result_error": True, "tool_result_contains": "history"}, "text": "Read only."},
    ]
    with ScriptedServer(script) as server:
        use(shell, server)
        assert "Read only." in shell.run("%agent --new --mode accept-edits Look.")


def test_undo_at_the_terminal(shell: Terminal) -> None:
    folder = shell.folder
    notebook = notebook_file(folder / "undo.ipynb", "a = 1")
    before = notebook.read_bytes()
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "a = 1", "replace": "a = 2"}]}])
    with ScriptedServer([call("read_cells"), edit, {"text": "Two."}]) as server:
        use(shell, server)
        shown = shell.run("%agent --new --mode accept-edits --notebook undo.ipynb Two.")
        assert "-a = 1" in shown
        assert "+a = 2" in shown
        assert "verified: proven" in shown
    assert "Kernel state is not restored." in shell.run("_agent.undo()")
    assert notebook.read_bytes() == before


def test_with_line_editing(tmp_path: Path) -> None:
    """The prompt as people have it: a pasted cell, a question, Ctrl-C, completion."""
    script = [call("run_code", code="print('be' + 'gun', flush=True)\nimport time; time.sleep(60)"), GO_ON]
    with ScriptedServer(script) as server, terminal(tmp_path, editing=True, **pristine(str(tmp_path))) as shell:
        use(shell, server)
        shell.paste("%%agent --mode review", "Wait for it.")
        shell.expect(QUESTION)
        shell.child.sendline("o")
        shell.expect("begun")
        pressed = time.monotonic()
        shell.interrupt()
        shell.expect("stopped")
        assert time.monotonic() - pressed < 1 * SLACK
        shell.settle()
        shell.type("%agent Go on.")
        shell.expect("Here I am.")
        shell.settle()
        shell.child.send("%agent sta\t")
        shell.expect("tus")  # what Tab adds to it
        shell.child.send("\r")
        shell.expect(r"\(2 turns\)")
