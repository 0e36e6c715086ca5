"""Every error this package raises on purpose; each message is a sentence that says what to do next.

AgentError                      kind      meaning
├── UsageError                  usage     the command line or an option was used wrongly (exit 2)
├── Refused                     refused   an operation was declined and nothing changed
│   ├── NotGranted              not_granted    an effect was committed without its digest being granted
│   ├── Denied                  denied         a rule, a mode or a person said no
│   ├── Stale                   stale          the target changed since the effect was described
│   ├── EditRefused             edit           an edit block could not be placed safely (carries places, closest)
│   ├── BadArguments            arguments      a tool was called with arguments that do not fit its schema
│   ├── WorkspaceRefused        workspace      a path is outside the root, ignored, not a regular file, too large …
│   └── NotebookRefused         notebook       unknown cell, stale hash, corrupt or unsupported file, open elsewhere …
├── KernelError                 kernel         kernelspec missing, kernel dead, busy, interrupted …
├── ShellError                  shell          a command could not be started
├── ModelError                  model          no model answers, or its answer cannot be used
├── BudgetExceeded              budget         a limit of turns, tokens, money or time was reached
├── JournalError                journal        a conversation cannot be opened or written
└── Stopped                     stopped        the person pressed Stop: no further effect may start

`kind` is stable and machine-readable: a refused tool call carries it as `details.refused.kind`. Raisers narrow
it per instance (`NotebookRefused("unknown_cell", "…")`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class AgentError(Exception):
    """Base of every deliberate error. `str(error)` is the sentence for a person or the model."""

    default_kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind or self.default_kind

    @property
    def message(self) -> str:
        return str(self)


class UsageError(AgentError):
    default_kind = "usage"


class Refused(AgentError):
    """Something was declined and nothing was changed."""

    default_kind = "refused"


class NotGranted(Refused):
    default_kind = "not_granted"


class Denied(Refused):
    """`asked` is true when no rule decided and nobody was there (or willing) to say yes: exit code 3."""

    default_kind = "denied"

    def __init__(self, message: str, *, kind: str | None = None, asked: bool = False) -> None:
        super().__init__(message, kind=kind)
        self.asked = asked


class Stale(Refused):
    default_kind = "stale"


@dataclass(frozen=True)
class Place:
    """A candidate location of an edit block: 1-based inclusive lines of the text as it is now."""

    start: int
    end: int


class EditRefused(Refused):
    """An edit block was not applied; the text is unchanged.

    `places` lists every ambiguous candidate, `closest` is the most similar region of the current text with
    1-based line numbers (empty when nothing is similar).
    """

    default_kind = "edit"

    def __init__(self, kind: str, message: str, places: Sequence[Place] = (), closest: str = "") -> None:
        super().__init__(message, kind=kind)
        self.places = tuple(places)
        self.closest = closest


class BadArguments(Refused):
    default_kind = "arguments"


class WorkspaceRefused(Refused):
    """Kinds: outside, missing, not_regular, protected, ignored, binary, unread, changed, exists, no_space,
    not_writable, busy."""

    default_kind = "workspace"

    def __init__(self, kind: str, message: str, *, content: str = "") -> None:
        super().__init__(message, kind=kind)
        self.content = content


class NotebookRefused(Refused):
    """Kinds: missing, not_regular, exists, corrupt, version, unknown_cell, stale, duplicate_ids, empty, open_elsewhere,
    read_only, not_saved, unconfirmed, op."""

    default_kind = "notebook"

    def __init__(self, kind: str, message: str, *, content: str = "") -> None:
        super().__init__(message, kind=kind)
        self.content = content


class KernelError(AgentError):
    """Kinds: none (not started), no_kernelspec, start_failed, dead, busy, timeout, unsupported."""

    default_kind = "kernel"


class ShellError(AgentError):
    default_kind = "shell"


class ModelError(AgentError):
    """Kinds: none, unreachable, auth, permission, quota, not_found, overflow, invalid, overloaded, refusal, cut.

    `retryable` says whether the retry layer may try the same request again.
    """

    default_kind = "model"

    def __init__(self, kind: str, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, kind=kind)
        self.retryable = retryable
        self.retry_after = retry_after


class BudgetExceeded(AgentError):
    default_kind = "budget"


class JournalError(AgentError):
    """Kinds: missing, locked, damaged, no_space."""

    default_kind = "journal"


class Stopped(AgentError):
    default_kind = "stopped"
