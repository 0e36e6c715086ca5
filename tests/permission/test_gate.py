"""Modes and rules: the strictest verdict wins, in any order; an answer is bound to what was shown."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.effect import Effect, Kind
from jupyter_agent.errors import Denied, NotGranted, UsageError
from jupyter_agent.events import Approval, ApprovalRequest, Decision, Event
from jupyter_agent.permission import MODES, Asker, Gate, Mode, Rule, parse_rule
from jupyter_agent.permission.rules import STRICTNESS


@contextlib.contextmanager
def no_clock() -> Iterator[None]:
    yield


async def nothing(effect: Effect[Any]) -> None:
    return None


def gate(mode: Mode = "review", *, asker: Asker | None = None, **more: Any) -> tuple[Gate, list[Event]]:
    events: list[Event] = []
    made = Gate(mode, "/root", events.append, nothing, nothing, no_clock, asker, **more)
    return made, events


def effect(kind: Kind = "edit", target: str = "/root/a.py", preview: str = "+x", **details: Any) -> Effect[str]:
    async def apply() -> str:
        return "done"

    return Effect(kind, target, f"{kind} {target}", preview, apply, details=details)


def answering(decision: Decision, *, digest: str | None = None) -> Asker:
    async def ask(request: ApprovalRequest) -> Approval:
        return Approval(id=request.id, digest=digest or request.digest, decision=decision, reason="said so")

    return ask


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


rules = st.builds(
    Rule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["edit_file", "run_bash", "*"]),
    st.sampled_from([None, "*", "*.py", "b*", "src/*"]),
)


@given(st.lists(rules, max_size=5), st.sampled_from(MODES), st.sampled_from(["edit", "execute", "read"]))
def test_f66_order_of_rules_never_matters(some: list[Rule], mode: Mode, kind: Kind) -> None:
    verdicts = {
        gate(mode, rules=order)[0].verdict("edit_file", effect(kind))[0] for order in itertools.permutations(some)
    }
    assert len(verdicts) == 1


@given(st.lists(rules, max_size=6), rules, st.sampled_from(MODES))
def test_f66_adding_a_rule_that_asks_or_denies_never_loosens(some: list[Rule], more: Rule, mode: Mode) -> None:
    tightening = replace(more, verdict="ask" if more.verdict == "allow" else more.verdict)
    before = gate(mode, rules=some)[0].verdict("edit_file", effect())[0]
    after = gate(mode, rules=[*some, tightening])[0].verdict("edit_file", effect())[0]
    assert STRICTNESS[after] >= STRICTNESS[before]


@given(st.lists(rules, max_size=6), rules)
def test_f66_an_allow_rule_never_beats_a_deny(some: list[Rule], more: Rule) -> None:
    denied = [*some, Rule("deny", "*"), replace(more, verdict="allow")]
    assert gate("accept-edits", rules=denied)[0].verdict("edit_file", effect())[0] == "deny"


async def test_without_a_person_ask_means_no_and_names_the_flag() -> None:
    made, events = gate()
    with pytest.raises(Denied, match="--allow edit_file") as caught:
        await made.allow("edit_file", effect())
    assert caught.value.asked
    assert events == []


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


async def test_f21_an_answer_with_another_digest_is_a_no() -> None:
    made, events = gate(asker=answering("once", digest="0" * 64))
    wanted = effect()
    with pytest.raises(Denied):
        await made.allow("edit_file", wanted)
    with pytest.raises(NotGranted):
        await wanted.commit()
    assert isinstance(events[-1], Approval)
    assert events[-1].decision == "reject"


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
