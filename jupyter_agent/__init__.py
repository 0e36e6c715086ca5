"""A coding agent that lives where notebook users live. This module imports nothing heavy.

%load_ext jupyter_agent          the magic, in any IPython
jupyter agent --help             the command line
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself costs as much as the rest of `jupyter agent --help`
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext jupyter_agent`: registers the magics; the agent itself is imported when first used."""
    from jupyter_agent.magic import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext jupyter_agent`."""
    from jupyter_agent.magic import unload

    unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Where Jupyter Server finds the extension: {module, app}."""
    from jupyter_agent.server.app import JupyterAgentApp

    return [{"module": "jupyter_agent", "app": JupyterAgentApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where a development install finds the labextension's build."""
    return [{"src": "labextension", "dest": "jupyter-agent-live"}]
