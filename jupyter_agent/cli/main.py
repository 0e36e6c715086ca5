"""Entry: arguments to a command, errors to sentences and exit codes. Never a traceback to the person."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from jupyter_agent.cli.parser import build_parser
from jupyter_agent.errors import AgentError, Denied, ModelError, UsageError

DONE, FAILED, USAGE, REFUSED, NO_MODEL, INTERRUPTED = 0, 1, 2, 3, 4, 130

COMMANDS = {
    "run": "run",
    "tool": "tool",
    "tools": "tool",
    "refactor": "refactor",
    "verify": "verify",
    "graph": "graph",
    "conversations": "history",
    "show": "history",
    "undo": "history",
    "export": "history",
    "demo": "demo",
    "doctor": "doctor",
}
"""Command to the module of this package that has its `command_NAME(arguments) -> exit code`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. argparse exits with 2 by itself."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        from importlib.metadata import version

        print(version("jupyter-agent-live"))
        return DONE
    if arguments.command is None:
        parser.print_help()
        return USAGE
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except AgentError as error:
        print(f"jupyter agent: {error}", file=sys.stderr)
        return exit_code_of(error)
    except OSError as error:
        print(f"jupyter agent: {error}", file=sys.stderr)
        return FAILED


def _dispatch(arguments: argparse.Namespace) -> int:
    module = importlib.import_module(f"jupyter_agent.cli.{COMMANDS[arguments.command]}")
    code = getattr(module, f"command_{arguments.command}")(arguments)
    assert isinstance(code, int)
    return code


def exit_code_of(error: AgentError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, Denied):
        return REFUSED
    if isinstance(error, ModelError) and error.kind in ("none", "unreachable", "auth", "permission", "not_found"):
        return NO_MODEL
    return FAILED
