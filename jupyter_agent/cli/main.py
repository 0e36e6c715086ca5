"""Entry: arguments to a command, errors to sentences and exit codes. Never a traceback to the person."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from jupyter_agent.cli.parser import build_parser

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


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code. argparse exits with 2 by itself."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        from jupyter_agent import __version__

        print(__version__)
        return DONE
    if arguments.command is None:
        parser.print_help()
        return USAGE
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        print(f"jupyter agent: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Say what went wrong in a sentence; a fault of ours too, unless JUPYTER_AGENT_DEBUG asks for its traceback."""
    # The exception tree is imported only now: it costs a third of the time that --help takes.
    from jupyter_agent.errors import AgentError

    if isinstance(error, AgentError):
        print(f"jupyter agent: {error}", file=sys.stderr)
        return exit_code_of(error)
    if os.environ.get("JUPYTER_AGENT_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    print(f"jupyter agent failed by a fault of its own ({what}). JUPYTER_AGENT_DEBUG=1 shows where.", file=sys.stderr)
    return FAILED


def _dispatch(arguments: argparse.Namespace) -> int:
    module = importlib.import_module(f"jupyter_agent.cli.{COMMANDS[arguments.command]}")
    code = getattr(module, f"command_{arguments.command}")(arguments)
    assert isinstance(code, int)
    return code


def exit_code_of(error: Exception) -> int:
    """The documented exit code of an error."""
    from jupyter_agent.errors import Denied, ModelError, UsageError

    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, Denied):
        return REFUSED
    if isinstance(error, ModelError) and error.kind in ("none", "unreachable", "auth", "permission", "not_found"):
        return NO_MODEL
    return FAILED
