"""Approvals and questions at the prompt of the front end: what will happen is shown; once, always, or no."""

from __future__ import annotations

from conversations import notebook_file
from magic.drive import Front, call, model

CODE = "import os\nshown = os.getpid()\nprint('ran')"


def test_once_runs_what_was_shown_and_asks_again_the_next_time(kernel: Front) -> None:
    script = [call("run_code", code=CODE), call("run_code", code="again = 1"), {"text": "Done."}]
    with model(kernel, script):
        requests: list[str] = []

        def look(message: dict) -> None:
            text = str(message["content"].get("data", {}).get("text/plain", ""))
            requests.extend([text] if text.startswith("? Run code") and "approved" not in text else [])

        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=["o", "yes"], on_message=look)
    assert ran.status == "ok"
    assert len(ran.prompts) == 2
    assert all("[o]nce, [a]lways, or [r]eject" in prompt for prompt in ran.prompts)
    assert all(f"│ {line}" in requests[0] for line in CODE.splitlines())
    assert kernel.value("again") == 1
    assert "approved" in ran.text


def test_always_is_asked_once(kernel: Front) -> None:
    script = [call("run_code", code="a = 1"), call("run_code", code="a = 2"), {"text": "Done."}]
    with model(kernel, script):
        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=["a"])
    assert len(ran.prompts) == 1
    assert kernel.value("a") == 2


def test_a_rejection_reaches_the_model_with_its_reason_and_nothing_runs(kernel: Front) -> None:
    script = [
        call("run_code", code="rejected = 1"),
        {"expect": {"tool_result_error": True, "tool_result_contains": "not on a Friday"}, "text": "Then not."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=["r not on a Friday"])
    assert ran.status == "ok"
    assert "rejected" not in kernel.value("dir()")
    assert "rejected: not on a Friday" in ran.text
    assert kernel.value("_agent.reason") == "denied"


def test_an_edit_is_shown_as_its_diff(kernel: Front) -> None:
    notebook = notebook_file(kernel.folder / "asked.ipynb", "mean = 1")
    blocks = [{"search": "mean = 1", "replace": "mean = 2"}]
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": blocks}])
    requests: list[str] = []

    def look(message: dict) -> None:
        text = str(message["content"].get("data", {}).get("text/plain", ""))
        requests.extend([text] if text.startswith("? ") else [])

    with model(kernel, [call("read_cells"), edit, {"text": "No."}]):
        ran = kernel.run("%%agent --new --notebook asked.ipynb\nDo it.", answers=["no"], on_message=look)
    assert "│ -mean = 1\n  │ +mean = 2" in requests[0]
    assert "mean = 1" in notebook.read_text()
    assert "-mean = 1" in ran.text, "what was rejected is still to be seen"


def test_an_answer_that_is_none_is_asked_for_again(kernel: Front) -> None:
    with model(kernel, [call("run_code", code="b = 1"), {"text": "Done."}]):
        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=["", "perhaps", "o"])
    assert len(ran.prompts) == 3
    assert kernel.value("b") == 1


def test_code_that_the_agent_runs_cannot_take_the_persons_answers(kernel: Front) -> None:
    script = [call("run_code", code="typed = input('password? ')"), call("run_code", code="c = 1"), {"text": "Done."}]
    with model(kernel, script):
        ran = kernel.run("%%agent --mode review --new\nDo it.", answers=["o", "o"])
    assert len(ran.prompts) == 2
    assert not any("password" in prompt for prompt in ran.prompts)
    assert "typed" not in kernel.value("dir()")
    assert kernel.value("c") == 1


def test_a_question_of_the_model_is_answered_by_number_or_words(kernel: Front) -> None:
    script = [
        call("ask_user", question="Which column?", choices=["price", "volume"]),
        {"expect": {"tool_result_contains": "volume"}} | call("ask_user", question="And the unit?"),
        {"expect": {"tool_result_contains": "tonnes"}, "text": "Thanks."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new\nAsk me.", answers=["2", "tonnes"])
    assert ran.status == "ok"
    assert "Which column?" in ran.text
    assert "2. volume" in ran.text


def test_without_stdin_ask_means_no_and_says_how_to_allow_it(kernel: Front) -> None:
    script = [
        call("run_code", code="unasked = 1"),
        {"expect": {"tool_result_error": True, "tool_result_contains": "nobody can answer"}, "text": "I may not."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --mode review --new\nDo it.")
    assert ran.status == "ok"
    assert "unasked" not in kernel.value("dir()")
    assert "--allow run_code" in ran.text
    assert "refused" in ran.text
    with model(kernel, [call("run_code", code="allowed = 1"), {"text": "Done."}]):
        kernel.run("%%agent --mode review --new --allow run_code\nDo it.")
    assert kernel.value("allowed") == 1
