"""How a kernel is told the way to the server that started it, and how it shows there that it is one of its kernels."""

from __future__ import annotations

import os

URL, SECRET = "JUPYTER_AGENT_URL", "JUPYTER_AGENT_SECRET"
"""Variables of the environment that a server's kernels inherit."""
HEADER = "X-Jupyter-Agent-Secret"


def leave_address(url: str, secret: str) -> None:
    """Into the environment that kernels started by this process inherit."""
    os.environ[URL], os.environ[SECRET] = url, secret
