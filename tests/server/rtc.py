"""What a test with jupyter-collaboration needs; where it is not installed the test is skipped, but not by the CI."""

from __future__ import annotations

import importlib.util
import os

import pytest

needs_collaboration = pytest.mark.skipif(
    importlib.util.find_spec("jupyter_server_ydoc") is None and not os.environ.get("JUPYTER_AGENT_TEST_ALL"),
    reason="jupyter-collaboration is not installed: pip install '.[rtc]'",
)
