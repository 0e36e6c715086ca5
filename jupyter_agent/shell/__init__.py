"""Shell commands: one at a time by its deadline with nothing left behind, and background ones under an id."""

from jupyter_agent.shell.shell import BackgroundStatus, Shell, ShellResult

__all__ = ["BackgroundStatus", "Shell", "ShellResult"]
