"""Rules: `TOOL` or `TOOL(GLOB)` with a verdict. Order never matters: the strictest match wins."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jupyter_agent.errors import UsageError

Verdict = Literal["allow", "ask", "deny"]
STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}
_FORM = re.compile(r"(?P<tool>[A-Za-z_*][\w*]*)(?:\((?P<glob>.*)\))?", re.DOTALL)


@dataclass(frozen=True)
class Rule:
    """`tool` is a tool's name (`*` for any, globs allowed); `glob` matches the effect's target, None any target."""

    verdict: Verdict
    tool: str
    glob: str | None = None

    def matches(self, tool: str, targets: Iterable[str]) -> bool:
        """Whether the rule speaks of this tool and any of the names its target goes by."""
        if not fnmatch.fnmatchcase(tool, self.tool):
            return False
        return self.glob is None or any(fnmatch.fnmatchcase(target, self.glob) for target in targets)

    def __str__(self) -> str:
        return self.tool if self.glob is None else f"{self.tool}({self.glob})"


def parse_rule(text: str, verdict: Verdict = "allow") -> Rule:
    """The rule written as `TOOL` or `TOOL(GLOB)`. Raises UsageError for anything else."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a rule. Write TOOL or TOOL(GLOB), for example edit_file(src/*.py).")
    return Rule(verdict, match["tool"], match["glob"])


def literal(text: str) -> str:
    """A glob that matches exactly this text."""
    return re.sub(r"([*?\[])", r"[\1]", text)


def strictest(verdicts: Iterable[Verdict], default: Verdict = "ask") -> Verdict:
    """The strictest of the verdicts, or `default` where there is none."""
    return max(verdicts, key=STRICTNESS.__getitem__, default=default)
