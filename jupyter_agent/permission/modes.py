"""The four modes as verdicts by kind of effect (the table of DESIGN section 11), and what asks in every mode."""

from __future__ import annotations

from typing import Any, Literal, get_args

from jupyter_agent.effect import Effect
from jupyter_agent.permission.rules import Verdict

Mode = Literal["plan", "review", "accept-edits", "auto"]
MODES: tuple[Mode, ...] = get_args(Mode)
Group = Literal["read", "edit", "kernel", "outward"]

_TABLE: dict[Mode, dict[Group, Verdict]] = {
    "plan": {"read": "allow", "edit": "deny", "kernel": "deny", "outward": "deny"},
    "review": {"read": "allow", "edit": "ask", "kernel": "ask", "outward": "ask"},
    "accept-edits": {"read": "allow", "edit": "allow", "kernel": "allow", "outward": "ask"},
    "auto": {"read": "allow", "edit": "allow", "kernel": "allow", "outward": "ask"},
}

PLAN_ADVICE = "Plan mode changes nothing. Present the plan with present_plan; once accepted, the work can start."
NO_SANDBOX = "auto runs commands unasked only inside an enforced sandbox, and there is none here"


def group_of(effect: Effect[Any]) -> Group:
    """The column an effect falls into. Code is `kernel` only where it is marked to run in one; else it is shell."""
    if effect.kind in ("read", "edit"):
        return "read" if effect.kind == "read" else "edit"
    if effect.kind == "kernel" or (effect.kind == "execute" and effect.details.get("where") == "kernel"):
        return "kernel"
    return "outward"


def verdict_of_mode(mode: Mode, effect: Effect[Any], *, sandboxed: bool) -> tuple[Verdict, str]:
    """What the mode says of an effect, and why.

    `details["read_only"]` marks a command that the analysis knows to be read-only; `details["sandboxed"]` one that will
    run inside the enforced sandbox without network.
    """
    group = group_of(effect)
    verdict = _TABLE[mode][group]
    if group == "outward":
        if effect.kind == "execute" and effect.details.get("read_only"):
            return "allow", "a known read-only command"
        if mode == "auto":
            if sandboxed and effect.details.get("sandboxed"):
                return "allow", "inside the sandbox"
            return "ask", NO_SANDBOX
    return verdict, PLAN_ADVICE if mode == "plan" and verdict == "deny" else f"mode {mode}"


def verdict_in_every_mode(effect: Effect[Any], *, untrusted_read: bool) -> tuple[Verdict, str] | None:
    """Asks that no mode takes away: protected targets, destroyers, loss of variables, outward after untrusted text."""
    details = effect.details
    if details.get("protected"):
        return "ask", str(details["protected"])
    if details.get("destroyer"):
        return "ask", f"it can destroy work: {details['destroyer']}"
    if details.get("loses_variables"):
        return "ask", "the kernel holds variables that a restart loses"
    if details.get("never_rerun"):
        return "ask", f"tagged agent:never-rerun: {details['never_rerun']}"
    outward = group_of(effect) == "outward" and not effect.details.get("read_only")
    if untrusted_read and outward and not details.get("sandboxed"):
        return "ask", "text of unknown origin was read in this conversation, and this reaches outside"
    return None
