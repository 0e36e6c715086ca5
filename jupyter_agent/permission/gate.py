"""The gate: every effect passes here, is decided by rules, mode and person, and leaves granted by digest or denied."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from jupyter_agent.effect import Effect, Grant
from jupyter_agent.errors import Denied
from jupyter_agent.events import Approval, ApprovalRequest, Decision, Event
from jupyter_agent.permission.modes import Mode, group_of, verdict_in_every_mode, verdict_of_mode
from jupyter_agent.permission.rules import Rule, Verdict, literal, strictest
from jupyter_agent.permission.targets import Targets, targets_of
from jupyter_agent.text import visible

Asker = Callable[[ApprovalRequest], Awaitable[Approval]]
"""Shows a request to a person and returns the answer, which carries the digest of what was shown."""

OPTIONS = ["once", "always", "reject"]


@dataclass
class Gate:
    """Decides effects of one conversation.

    `rules` come from the user's settings (and only tighten when they come from a project). `answers` are given in
    advance (`--allow`), `remembered` with "always": they settle asks, and only a deny beats them. `publish` journals an
    event before anyone sees it. `asker` is None where nobody can answer: then ask means no. `pause` stops the budget's
    clock while a person thinks (fault f43).
    """

    mode: Mode
    root: str
    publish: Callable[[Event], Any]
    before_commit: Callable[[Effect[Any]], Awaitable[None]]
    after_commit: Callable[[Effect[Any]], Awaitable[None]]
    pause: Callable[[], AbstractContextManager[None]]
    asker: Asker | None = None
    rules: Sequence[Rule] = ()
    answers: Sequence[Rule] = ()
    remembered: list[Rule] = field(default_factory=list)
    sandboxed: bool = False
    untrusted_read: bool = False

    def verdict(self, tool: str, effect: Effect[Any]) -> tuple[Verdict, str, str]:
        """(verdict, reason, by), without asking anyone. Pure in the gate's state."""
        targets = targets_of(effect, self.root)
        by_mode, reason = verdict_of_mode(self.mode, effect, sandboxed=self.sandboxed)
        forced = verdict_in_every_mode(effect, untrusted_read=self.untrusted_read)
        matching = [
            rule
            for rule in self.rules
            if (targets.covered_by if rule.verdict == "allow" else targets.touched_by)(rule, tool)
        ]
        of_rules = [rule.verdict for rule in matching]
        if "deny" in of_rules:
            denied = next(rule for rule in matching if rule.verdict == "deny")
            return "deny", f"the rule {denied} forbids it", "rule"
        if by_mode == "deny":
            return "deny", reason, "mode"
        # An allow rule is an answer too: it settles the mode's ask, never a deny, an ask rule or what always asks.
        loosened: Verdict = "allow" if "allow" in of_rules else by_mode
        decided = strictest([loosened, *(v for v in of_rules if v == "ask"), *([forced[0]] if forced else [])])
        if decided == "ask" and (answer := self._answer(tool, targets, forced=forced is not None)):
            return (
                ("allow", f"--allow {answer}", "flag")
                if answer in self.answers
                else ("allow", f"always {answer}", "rule")
            )
        return decided, forced[1] if forced and decided == "ask" else reason, "rule" if of_rules else "mode"

    def _answer(self, tool: str, targets: Targets, *, forced: bool) -> Rule | None:
        """The answer that settles an ask. What asks in every mode is not covered by a broad "always"."""
        remembered = [rule for rule in self.remembered if rule.glob is not None or not forced]
        given = (*self.answers, *remembered)
        one = next((rule for rule in given if targets.covered_by(rule, tool)), None)
        if one is not None or targets.opaque:
            return one
        # Several answers may cover the parts between them: `cd x && pytest` by one for each command.
        each = [next((rule for rule in given if part.covered_by(rule, tool)), None) for part in targets.singly()]
        return each[0] if None not in each else None

    async def allow(self, tool: str, effect: Effect[Any]) -> None:
        """Grant the effect or raise Denied. What was asked, and what was answered, is in the journal."""
        decided, reason, by = self.verdict(tool, effect)
        if decided == "deny":
            raise Denied(f"{effect.title} is not allowed: {reason}")
        if decided == "ask":
            await self._ask(tool, effect, reason)
        elif by == "flag":
            forced = verdict_in_every_mode(effect, untrusted_read=self.untrusted_read)
            self._answered(self._request(effect, forced[1] if forced else ""), "once", reason, by)
        self.grant(effect)

    def grant(self, effect: Effect[Any]) -> None:
        """Grant without asking: for what the person ordered directly (undo, `refactor --write`)."""
        effect.granted(Grant(effect.digest, self.before_commit, self.after_commit))

    def _request(self, effect: Effect[Any], reason: str, options: Sequence[str] = ()) -> ApprovalRequest:
        """Publish what would happen; without options nobody is asked."""
        request = ApprovalRequest(
            id=uuid.uuid4().hex,
            digest=effect.digest,
            kind=effect.kind,
            title=f"{visible(effect.title)} ({reason})" if reason else visible(effect.title),
            preview=visible(effect.preview),
            options=list(options),
        )
        self.publish(request)
        return request

    def _answered(self, request: ApprovalRequest, decision: Decision, reason: str, by: str) -> None:
        self.publish(Approval(id=request.id, digest=request.digest, decision=decision, reason=reason, by=by))

    async def _ask(self, tool: str, effect: Effect[Any], reason: str) -> None:
        if self.asker is None:
            self._answered(self._request(effect, reason), "reject", "nobody can answer here", "headless")
            flag = f"--allow {suggested_rule(tool, effect, self.root)}"
            every_mode = verdict_in_every_mode(effect, untrusted_read=self.untrusted_read) is not None
            raise Denied(
                f"{effect.title} needs approval ({reason}) and nobody can answer here. "
                f"To allow it in advance: {flag}{'' if every_mode else ', or another --mode'}.",
                asked=True,
            )
        request = self._request(effect, reason, OPTIONS)
        with self.pause():
            answer = await self.asker(request)
        if answer.id != request.id or answer.digest != effect.digest:
            # An answer to something else than what would happen (fault f21) is a no.
            answer = Approval(
                id=request.id, digest=request.digest, decision="reject", reason="answered another request"
            )
        self.publish(answer)
        if answer.decision == "reject":
            because = f" Reason: {answer.reason}" if answer.reason else ""
            raise Denied(f"{effect.title} was rejected.{because}", asked=True)
        if answer.decision == "always":
            self.remembered.append(always_rule(tool, effect, self.root))


def always_rule(tool: str, effect: Effect[Any], root: str) -> Rule:
    """What "always" means for this effect, for the rest of the conversation.

    For edits and kernel code: the tool, on ordinary targets. For commands, pages and everything protected: exactly
    this target, so that a broad yes never covers another command (fault f67).
    """
    narrow = group_of(effect) == "outward" or verdict_in_every_mode(effect, untrusted_read=False) is not None
    if narrow:
        return Rule("allow", tool, literal(effect.target))
    return Rule("allow", tool)


def suggested_rule(tool: str, effect: Effect[Any], root: str) -> str:
    """The `--allow` value that would settle this ask, quoted for a shell where needed."""
    if group_of(effect) != "outward":
        return tool
    return f"'{tool}({literal(effect.target)})'" if "'" not in effect.target else tool


def only_tightening(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """A project's rules with every loosening removed: folders may only tighten (DESIGN section 11)."""
    return tuple(rule for rule in rules if rule.verdict != "allow")
