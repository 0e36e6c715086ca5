"""What a rule's glob is held against: the files an effect changes, the simple commands of a shell text. Pure."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from jupyter_agent.effect import Effect
from jupyter_agent.permission.rules import Rule, literal

_SEPARATORS = re.compile(r"[;&|\n()`{}]+|\$\(")


@dataclass(frozen=True)
class Targets:
    """`parts` are the things touched, each by the names it goes by; `whole` is the target as it stands.

    `opaque`: shell text whose parts are not known for certain, so that no pattern can speak for all of them.
    """

    parts: tuple[tuple[str, ...], ...]
    whole: str
    opaque: bool = False

    def singly(self) -> list[Targets]:
        """Each part as a target of its own."""
        return [Targets((part,), part[0]) for part in self.parts]

    def touched_by(self, rule: Rule, tool: str) -> bool:
        """Whether a rule that tightens speaks of any part."""
        return rule.matches(tool, [self.whole, *(name for part in self.parts for name in part)])

    def covered_by(self, rule: Rule, tool: str) -> bool:
        """Whether a rule that loosens speaks of every part (faults f60, f67)."""
        if not fnmatch.fnmatchcase(tool, rule.tool):
            return False
        if rule.glob in (None, "*", self.whole, literal(self.whole)):
            return True
        return not self.opaque and all(rule.matches(tool, part) for part in self.parts)


def targets_of(effect: Effect[Any], root: str) -> Targets:
    """Files by their absolute and, inside the root, relative names; a command by its simple commands."""
    if effect.kind == "execute" and effect.details.get("where") == "shell":
        commands = effect.details.get("argv")
        if commands is None:
            parts = tuple((part.strip(),) for part in _SEPARATORS.split(effect.target) if part.strip())
            return Targets(parts, effect.target, opaque=True)
        return Targets(tuple((" ".join(words),) for words in commands), effect.target)
    places = dict.fromkeys([effect.target, *(change.target for change in effect.changes)])
    return Targets(tuple(_names(place, root) for place in places), effect.target)


def _names(target: str, root: str) -> tuple[str, ...]:
    path = PurePath(target)
    if path.is_absolute() and path.is_relative_to(root):
        return target, str(path.relative_to(root))
    return (target,)
