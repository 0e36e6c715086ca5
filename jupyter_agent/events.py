"""The event stream of a conversation: every event a frozen dataclass, with to/from JSON.

This is the only interface between the core and what draws it (terminal, magic, browser), and the journal's schema.
`seq` counts journalled events of one conversation from 1; `time` is Unix seconds; `turn` counts user turns from 1
(0 before the first). A `Delta` is not journalled and repeats the last journalled `seq`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Json = dict[str, Any]
Decision = Literal["once", "always", "reject"]
StopReason = Literal["done", "limit", "stopped", "denied", "error"]
Verified = Literal["proven", "unproven", "failed", "none"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Fields every event has; the conversation stamps them when it publishes the event."""

    type: ClassVar[str] = ""
    seq: int = 0
    time: float = 0.0
    turn: int = 0

    def to_json(self) -> Json:
        return {"type": self.type, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}}


@dataclass(frozen=True, kw_only=True)
class User(Event):
    """`id` is the client's, so a message sent twice over a broken connection is taken once."""

    type: ClassVar[str] = "user"
    id: str
    text: str
    attachments: list[Json] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Delta(Event):
    type: ClassVar[str] = "delta"
    block: Literal["text", "thinking"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Assistant(Event):
    """`calls` is a list of {id, name, arguments}; `raw` the content blocks exactly as the API gave them; `seen` the
    last event the model knew of: what a person typed while it wrote comes after its reply."""

    type: ClassVar[str] = "assistant"
    text: str
    thinking: str = ""
    calls: list[Json] = field(default_factory=list)
    stop_reason: str = ""
    model: str = ""
    raw: list[Json] = field(default_factory=list)
    seen: int = 0


@dataclass(frozen=True, kw_only=True)
class ToolStart(Event):
    type: ClassVar[str] = "tool_start"
    call: str
    name: str
    arguments: Json


@dataclass(frozen=True, kw_only=True)
class Progress(Event):
    type: ClassVar[str] = "progress"
    call: str
    text: str
    fraction: float | None = None


@dataclass(frozen=True, kw_only=True)
class ToolFinished(Event):
    """`content` is a list of API content blocks for the model; `details` is for the screen only."""

    type: ClassVar[str] = "tool_result"
    call: str
    name: str
    content: list[Json]
    details: Json = field(default_factory=dict)
    is_error: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest(Event):
    """What would happen. Without `options` it is answered already: in advance (`flag`), or by nobody (`headless`)."""

    type: ClassVar[str] = "approval_request"
    id: str
    digest: str
    kind: str
    title: str
    preview: str
    options: list[str]


@dataclass(frozen=True, kw_only=True)
class Approval(Event):
    """The verdict on a request; `by` is `person`, `rule`, `mode`, `flag`, `headless` or `stop`."""

    type: ClassVar[str] = "approval"
    id: str
    digest: str
    decision: Decision
    reason: str = ""
    by: str = "person"


@dataclass(frozen=True, kw_only=True)
class ChangeMade(Event):
    """`before` and `after` are hashes (`""` where there was or is nothing); `checkpoint` names the pre-image."""

    type: ClassVar[str] = "change"
    target: str
    cell: str = ""
    before: str
    after: str
    diff: str
    checkpoint: str


@dataclass(frozen=True, kw_only=True)
class Note(Event):
    type: ClassVar[str] = "note"
    level: Level
    text: str


@dataclass(frozen=True, kw_only=True)
class Usage(Event):
    """Token counts of one model call; `cost` in USD is None where no price is known."""

    type: ClassVar[str] = "usage"
    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None
    context_used: int = 0
    context_limit: int = 0


@dataclass(frozen=True, kw_only=True)
class Compaction(Event):
    """From here on the model sees `summary` in place of everything up to and including event `through`."""

    type: ClassVar[str] = "compaction"
    summary: str
    through: int


@dataclass(frozen=True, kw_only=True)
class Stop(Event):
    """The end of a turn. `changes` is a list of {target, cell, status} of what the turn changed."""

    type: ClassVar[str] = "stop"
    reason: StopReason
    verified: Verified
    summary: str
    changes: list[Json] = field(default_factory=list)


TYPES: Mapping[str, type[Event]] = {
    cls.type: cls
    for cls in (
        User,
        Delta,
        Assistant,
        ToolStart,
        Progress,
        ToolFinished,
        ApprovalRequest,
        Approval,
        ChangeMade,
        Note,
        Usage,
        Compaction,
        Stop,
    )
}


def from_json(data: Mapping[str, Any]) -> Event:
    """The event that `to_json` wrote. Unknown fields are dropped, so a newer journal stays readable.

    Raises ValueError for an unknown type or a missing field.
    """
    cls = TYPES.get(data.get("type", ""))
    if cls is None:
        raise ValueError(f"unknown event type {data.get('type')!r}")
    names = {f.name for f in dataclasses.fields(cls)}
    try:
        return cls(**{key: value for key, value in data.items() if key in names})
    except TypeError as error:
        raise ValueError(f"event {data.get('type')!r} lacks a field: {error}") from None
