"""Pages' websockets to kernels, without the 40 ms that TCP makes a page wait for a kernel's second message.

The server sends a run's messages (busy, input, result, idle) as small packets one after the other. By default TCP holds
the second one back until the first is confirmed, and the page's system confirms only after 40 ms.
"""

from __future__ import annotations

import types
from typing import Any

SETTING = "kernel_websocket_connection_class"
"""Jupyter Server's own setting of what stands between a kernel and a page."""


def send_at_once(settings: dict[str, Any]) -> None:
    """Let websockets opened from now on send each message when it is there; `settings` are the web application's."""
    connection = settings.get(SETTING)
    if connection is not None:
        settings[SETTING] = types.new_class(connection.__name__, (_AtOnce, connection))


class _AtOnce:
    """Put before the class of connections, whichever it is: a local kernel's or a gateway's."""

    websocket_handler: Any

    def connect(self) -> Any:
        self.websocket_handler.set_nodelay(True)
        return super().connect()  # type: ignore[misc]
