"""Permission: rules, modes and the gate. May ask a person; changes nothing itself."""

from jupyter_agent.permission.gate import Asker, Gate, always_rule, only_tightening, suggested_rule
from jupyter_agent.permission.modes import MODES, Mode, group_of
from jupyter_agent.permission.rules import Rule, Verdict, parse_rule, strictest

__all__ = [
    "MODES",
    "Asker",
    "Gate",
    "Mode",
    "Rule",
    "Verdict",
    "always_rule",
    "group_of",
    "only_tightening",
    "parse_rule",
    "strictest",
    "suggested_rule",
]
