"""The command line (contract: DESIGN section 9). Imports nothing heavy until a command needs it."""

from jupyter_agent.cli.main import main

__all__ = ["main"]
