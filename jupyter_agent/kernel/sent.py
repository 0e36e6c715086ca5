"""A request of ours in the kernel, sent by ourselves or by another client on our behalf."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_agent.kernel.channels import Message
from jupyter_agent.kernel.execution import LiveExecution

REPLY_GRACE = 3.0
"""Seconds by which a reply and its `idle` may come apart before one of them counts as lost."""

SEEN_WITHIN = 1.0
"""Seconds in which a request shows up in an idle kernel, if it was sent at all."""

Sender = Callable[[LiveExecution], Awaitable[str | None]]
"""Has another client of the same kernel send the code: the id of its request, None where that client did not.

Raises AgentError when the code must not run as it is, `Unsure` when it is not known whether it was sent.
"""


class Unsure(Exception):
    """The other client vanished while it was asked to send our code."""


class Sent:
    """One request. `message_id` is None until it is known.

    `echoed`: its `execute_input` was seen, so the code itself has begun. `lent`: another client sent it and gets the
    reply, so that what we know of its end is what iopub says.
    """

    def __init__(self, execution: LiveExecution) -> None:
        self.execution = execution
        self.message_id: str | None = None
        self.echoed = False
        self.lent = False
        self.reply: dict[str, Any] | None = None
        self.reply_at: float | None = None
        self.idle_at: float | None = None
        self.early: list[Message] = []
        self._news = asyncio.Event()

    @property
    def answered(self) -> bool:
        return self.reply is not None or self.idle_at is not None

    def idle(self) -> None:
        self.idle_at = time.monotonic()
        if self.lent:
            # Without an `execute_input` the request was swept from the queue by somebody else's failing cell.
            self.reply = {} if self.echoed else {"status": "aborted"}

    def overdue(self, last_iopub: float) -> bool:
        """Only one of reply and idle came, and nothing else (a backlog of output) has come for a while."""
        first = self.reply_at if self.idle_at is None else self.idle_at if self.reply_at is None else None
        return first is not None and time.monotonic() - max(first, last_iopub) > REPLY_GRACE

    def keep_early(self, message: Message) -> None:
        """A message that may be about this request, whose id is not known yet."""
        self.early.append(message)
        self._news.set()

    async def find(self) -> str | None:
        """The id under which the kernel took in this very code from somebody; None when it does not show up."""
        deadline = time.monotonic() + SEEN_WITHIN
        while (left := deadline - time.monotonic()) > 0:
            for message in self.early:
                is_input = message["header"]["msg_type"] == "execute_input"
                if is_input and message["content"].get("code") == self.execution.code:
                    return str(message["parent_header"].get("msg_id"))
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                break
        return None
