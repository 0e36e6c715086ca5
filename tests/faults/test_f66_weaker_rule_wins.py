"""f66: the strictest matching verdict wins, in any order; adding a tightening rule never loosens."""

from __future__ import annotations

import itertools
from dataclasses import replace

from gates import effect, gate
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.effect import Kind
from jupyter_agent.permission import MODES, Mode, Rule
from jupyter_agent.permission.rules import STRICTNESS

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
