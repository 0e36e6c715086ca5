"""Modes and rules: the strictest verdict wins, in any order; an answer is bound to what was shown."""

from __future__ import annotations

from typing import Any

import pytest
from gates import answering, effect, gate

from jupyter_agent.effect import Change, Effect
from jupyter_agent.errors import Denied, NotGranted, UsageError
from jupyter_agent.events import Approval, ApprovalRequest, Decision
from jupyter_agent.permission import MODES, Mode, Rule, parse_rule
from jupyter_agent.permission.command import parse_command

KERNEL = {"where": "kernel"}


@pytest.mark.parametrize(
    ("mode", "read", "edit", "kernel", "shell", "network"),
    [
        ("plan", "allow", "deny", "deny", "deny", "deny"),
        ("review", "allow", "ask", "ask", "ask", "ask"),
        ("accept-edits", "allow", "allow", "allow", "ask", "ask"),
        ("auto", "allow", "allow", "allow", "ask", "ask"),
    ],
)
def test_modes(mode: Mode, read: str, edit: str, kernel: str, shell: str, network: str) -> None:
    made, _ = gate(mode)
    assert made.verdict("t", effect("read"))[0] == read
    assert made.verdict("t", effect("edit"))[0] == edit
    assert made.verdict("t", effect("execute", **KERNEL))[0] == kernel
    assert made.verdict("t", effect("kernel"))[0] == kernel
    assert made.verdict("t", effect("execute"))[0] == shell
    assert made.verdict("t", effect("network"))[0] == network


def test_auto_runs_a_command_unasked_only_in_an_enforced_sandbox() -> None:
    sandboxed, _ = gate("auto", sandboxed=True)
    assert sandboxed.verdict("run_bash", effect("execute", sandboxed=True))[0] == "allow"
    assert sandboxed.verdict("run_bash", effect("execute"))[0] == "ask"
    without, _ = gate("auto")
    verdict, reason, _ = without.verdict("run_bash", effect("execute", sandboxed=True))
    assert verdict == "ask"
    assert "sandbox" in reason


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "plan"])
@pytest.mark.parametrize("detail", ["protected", "destroyer", "loses_variables", "never_rerun"])
def test_some_things_ask_in_every_mode(mode: Mode, detail: str) -> None:
    made, _ = gate(mode, sandboxed=True)
    assert made.verdict("t", effect("edit", **{detail: "why"}))[0] == "ask"


def test_f75_outward_effects_ask_after_untrusted_text() -> None:
    made, _ = gate("auto", sandboxed=True, untrusted_read=True)
    assert made.verdict("run_bash", effect("execute", sandboxed=True))[0] == "allow"
    assert made.verdict("fetch_page", effect("network"))[0] == "ask"


def test_answers_settle_asks_and_only_a_deny_beats_them() -> None:
    answers = [parse_rule("edit_file(*.py)")]
    made, _ = gate(answers=answers)
    assert made.verdict("edit_file", effect())[0] == "allow"
    assert made.verdict("write_file", effect())[0] == "ask"
    assert made.verdict("edit_file", effect(target="/root/a.md"))[0] == "ask"
    denying, _ = gate(answers=answers, rules=[Rule("deny", "*", "a.py")])
    assert denying.verdict("edit_file", effect())[0] == "deny"
    planning, _ = gate("plan", answers=answers)
    assert planning.verdict("edit_file", effect())[0] == "deny"


async def test_without_a_person_ask_means_no_and_names_the_flag() -> None:
    made, events = gate()
    with pytest.raises(Denied, match="--allow edit_file") as caught:
        await made.allow("edit_file", effect())
    assert caught.value.asked
    request, answer = events
    assert (request.type, request.options) == ("approval_request", [])  # type: ignore[attr-defined]
    assert isinstance(answer, Approval)
    assert (answer.decision, answer.by) == ("reject", "headless")


async def test_an_answer_given_in_advance_is_in_the_journal() -> None:
    made, events = gate(answers=[parse_rule("edit_file(*.py)")])
    wanted = effect()
    await made.allow("edit_file", wanted)
    assert await wanted.commit() == "done"
    request, answer = events
    assert isinstance(request, ApprovalRequest)
    assert isinstance(answer, Approval)
    assert request.digest == answer.digest == wanted.digest
    assert (answer.id, answer.decision, answer.by) == (request.id, "once", "flag")
    assert answer.reason == "--allow edit_file(*.py)"


async def test_what_a_mode_allows_is_no_question() -> None:
    made, events = gate("accept-edits")
    await made.allow("edit_file", effect())
    assert events == []


async def test_another_mode_is_advised_only_where_it_helps() -> None:
    made, _ = gate()
    with pytest.raises(Denied, match="another --mode"):
        await made.allow("edit_file", effect())
    with pytest.raises(Denied) as caught:
        await made.allow("edit_file", effect("edit", protected="why"))
    assert "--allow" in str(caught.value)
    assert "another --mode" not in str(caught.value)


@pytest.mark.parametrize("decision", ["once", "always"])
async def test_an_approved_effect_commits(decision: Decision) -> None:
    made, events = gate(asker=answering(decision))
    wanted = effect()
    await made.allow("edit_file", wanted)
    assert await wanted.commit() == "done"
    assert [event.type for event in events] == ["approval_request", "approval"]


async def test_rejection_carries_the_reason() -> None:
    made, _ = gate(asker=answering("reject"))
    wanted = effect()
    with pytest.raises(Denied, match="said so"):
        await made.allow("edit_file", wanted)
    with pytest.raises(NotGranted):
        await wanted.commit()


async def test_f67_always_for_a_command_is_that_command() -> None:
    made, _ = gate(asker=answering("always"))
    await made.allow("run_bash", effect("execute", "npm test"))
    assert made.verdict("run_bash", effect("execute", "npm test"))[0] == "allow"
    assert made.verdict("run_bash", effect("execute", "npm run evil"))[0] == "ask"
    assert made.verdict("run_bash", effect("execute", "npm test; rm -rf ."))[0] == "ask"


async def test_always_for_an_edit_does_not_cover_protected_files() -> None:
    made, _ = gate(asker=answering("always"))
    await made.allow("edit_file", effect())
    assert made.verdict("edit_file", effect(target="/root/b.py"))[0] == "allow"
    assert made.verdict("edit_file", effect(target="/root/.bashrc", protected="shell start-up"))[0] == "ask"


@pytest.mark.parametrize("text", ["", "edit file", "(x)", "a(b", "rm -rf"])
def test_malformed_rules_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="is not a rule"):
        parse_rule(text)


def shell(command: str) -> Effect[str]:
    """As `run_bash` describes a command to the gate."""
    parsed = parse_command(command)
    details: dict[str, Any] = {"where": "shell"}
    if parsed.plain:
        details["argv"] = [[word.text for word in one] for one in parsed.commands]
    return effect("execute", command, **details)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("touch a", "allow"),
        ("touch a && touch b", "allow"),
        ("touch a; rm -rf b", "ask"),
        ("touch a && curl example.org", "ask"),
        ("touch a | sh", "ask"),
        ("touch a\nrm b", "ask"),
        ("touch $(rm b)", "ask"),
        ("touch a > b", "ask"),
        ("rm b # touch a", "ask"),
        ("cd sub && touch a", "ask"),
    ],
)
def test_f67_a_pattern_speaks_for_simple_commands(command: str, expected: str) -> None:
    made, _ = gate(answers=[parse_rule("run_bash(touch *)")])
    assert made.verdict("run_bash", shell(command))[0] == expected
    by_rule, _ = gate(rules=[parse_rule("run_bash(touch *)")])
    assert by_rule.verdict("run_bash", shell(command))[0] == expected


def test_answers_may_cover_a_command_between_them() -> None:
    made, _ = gate(answers=[parse_rule("run_bash(cd *)"), parse_rule("run_bash(touch *)")])
    assert made.verdict("run_bash", shell("cd sub && touch a"))[0] == "allow"
    assert made.verdict("run_bash", shell("cd sub && rm a"))[0] == "ask"


@pytest.mark.parametrize("command", ["rm a", "true; rm a", "echo $(rm a)", "touch a > b; rm c"])
def test_f62_a_deny_rule_is_tried_on_every_part(command: str) -> None:
    made, _ = gate(rules=[Rule("deny", "run_bash", "rm *")], answers=[parse_rule("run_bash")])
    assert made.verdict("run_bash", shell(command))[0] == "deny"


def test_the_whole_text_and_everything_are_answers_too() -> None:
    command = "touch $(date +%s)*"
    for rule in (f"run_bash({command})", "run_bash(*)", "run_bash"):
        made, _ = gate(answers=[parse_rule(rule)])
        assert made.verdict("run_bash", shell(command))[0] == "allow"


def test_a_pattern_must_speak_for_every_file_an_effect_changes() -> None:
    moving = effect(target="/root/src/a.py")
    moving.changes = (Change("/root/src/a.py", "", "h", "", "", None), Change("/root/.bashrc", "", "", "h", "", None))
    made, _ = gate(answers=[parse_rule("move_file(src/*)")])
    assert made.verdict("move_file", moving)[0] == "ask"
    both, _ = gate(answers=[parse_rule("move_file(src/*)"), parse_rule("move_file(.bashrc)")])
    assert both.verdict("move_file", moving)[0] == "allow"
