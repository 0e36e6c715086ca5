"""What other clients' executions keep a kernel busy, as far as iopub and an unanswered probe tell. Pure bookkeeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from jupyter_agent.kernel.channels import Channels, Message
from jupyter_agent.kernel.protocol import Busy

ANSWERS_AT_ONCE = 0.25
"""Seconds within which an idle kernel answers a kernel_info request."""


class Others:
    """Executions of others: since when, which cell or first line of code.

    A lost `idle` must not block us for ever: a probe answered by the main shell proves that everything that began
    before the probe is over.
    """

    def __init__(self) -> None:
        self.probe_needed = False
        self._running: dict[str, tuple[float, str, str]] = {}
        self._probe: asyncio.Future[Any] | None = None
        self._probed_at = 0.0
        self._unknown_since: float | None = None

    def busy(self) -> Busy | None:
        now = time.monotonic()
        if self._running:
            since, what, code = min(self._running.values())
            return Busy(now - since, what, code)
        return None if self._unknown_since is None else Busy(now - self._unknown_since)

    def observe(self, kind: str, content: Mapping[str, Any], message: Message) -> None:
        """A `status` or `execute_input` whose parent is another client's request."""
        parent = message["parent_header"]
        if parent.get("msg_type") != "execute_request" or parent.get("subshell_id"):
            return
        key = str(parent.get("msg_id", ""))
        if kind == "execute_input":
            since = self._running.get(key, (time.monotonic(), "", ""))[0]
            code = str(content.get("code", ""))
            self._running[key] = (since, _name(message, code), code)
        elif content.get("execution_state") == "busy":
            self._running[key] = (time.monotonic(), "", "")
        elif content.get("execution_state") == "idle":
            self._running.pop(key, None)
            self._unknown_since = None

    def forget(self, message_id: str) -> None:
        """The execution is ours after all: another client sent it for us."""
        self._running.pop(message_id, None)

    def start_probe(self, channels: Channels) -> asyncio.Future[Any] | None:
        """One at a time; None when one is still unanswered."""
        if self._probe is not None and not self._probe.done():
            return self._probe
        self._probed_at = time.monotonic()
        self._probe = channels.ask("kernel_info_request", {})
        self._probe.add_done_callback(self._answered)
        return self._probe

    def judge_probe(self) -> None:
        """Without an answer in time, and with nothing seen running, something unknown runs."""
        waiting = self._probe is not None and not self._probe.done()
        if waiting and not self._running and time.monotonic() - self._probed_at >= ANSWERS_AT_ONCE:
            self._unknown_since = self._unknown_since or self._probed_at

    def _answered(self, probe: asyncio.Future[Any]) -> None:
        if probe.cancelled():
            return
        self._unknown_since = None
        self._running = {key: entry for key, entry in self._running.items() if entry[0] > self._probed_at}


def _name(message: Message, code: str) -> str:
    cell = message.get("metadata", {}).get("cellId") or message["parent_header"].get("cellId")
    if isinstance(cell, str) and cell:
        return f"cell {cell}"
    line = next((line.strip() for line in code.splitlines() if line.strip()), "")
    return f"`{line[:80]}`" if line else ""
