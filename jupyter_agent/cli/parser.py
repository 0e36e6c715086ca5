"""The arguments of every command: argparse only, so that `--help` is instant."""

from __future__ import annotations

import argparse

MODES = ("plan", "review", "accept-edits", "auto")

EPILOG = """\
exit codes: 0 done; 1 failed, a limit was hit, or a check failed; 2 wrong usage;
3 something needed approval and nobody gave it; 4 no model answers; 130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter agent",
        description="A coding agent that lives in Jupyter: works in the live kernel, loses nothing, proves its claims.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    _add_tool(commands)
    _add_refactoring(commands)
    _add_conversations(commands)
    _add_others(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser("run", help="give the agent a task on a notebook or folder")
    run.add_argument("target", metavar="NOTEBOOK|DIR")
    run.add_argument("prompt")
    _add_model(run)
    _add_permissions(run)
    run.add_argument("--max-turns", type=_positive(int), metavar="N", help="model replies at most")
    run.add_argument("--budget", type=_positive(float), metavar="USD", help="money at most, by the shipped price table")
    run.add_argument("--json", action="store_true", help="print one event a line")
    run.add_argument("--resume", metavar="ID", help="go on with an earlier conversation")
    run.add_argument("--yes", action="store_true", help="use a found local model server without asking")
    run.add_argument("--trust", action="store_true", help="follow this folder's AGENTS.md and CLAUDE.md from now on")


def _add_tool(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tool = commands.add_parser("tool", help="call one tool, as the model would")
    tool.add_argument("name", metavar="NAME")
    tool.add_argument("arguments", metavar="JSON", nargs="?", default="{}")
    tool.add_argument("--notebook", metavar="N", help="the notebook that tools without a path mean")
    tool.add_argument("--root", metavar="DIR", help="the folder that tools are confined to")
    _add_permissions(tool)
    tool.add_argument("--conversation", metavar="ID", help="keep handles, read files and background commands under ID")
    tool.add_argument("--kernel", metavar="CONNECTION_FILE", help="use this running kernel; it stays up")
    tool.add_argument("--json", action="store_true", help="print the whole result as JSON")
    tools = commands.add_parser("tools", help="list the tools with their token estimate")
    tools.add_argument("--json", action="store_true")
    tools.add_argument("--all", action="store_true", help="with those that are found through find_tools")


def _add_refactoring(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    refactor = commands.add_parser("refactor", help="refactor notebooks, proved by running them before and after")
    refactor.add_argument("recipe", metavar="RECIPE")
    refactor.add_argument("notebooks", metavar="NOTEBOOK", nargs="*")
    refactor.add_argument("--set", action="append", default=[], metavar="K=V", dest="parameters")
    refactor.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True)
    refactor.add_argument("--diff", action="store_true", help="show what would change")
    refactor.add_argument("--write", action="store_true", help="apply it")
    _add_many(refactor)
    verify = commands.add_parser("verify", help="run notebooks in a fresh kernel and compare outputs cell by cell")
    verify.add_argument("notebooks", metavar="NOTEBOOK", nargs="+")
    verify.add_argument("--against", metavar="FILE|HEAD", help="compare with this notebook's outputs")
    verify.add_argument("--timeout", type=_positive(float), default=600.0, metavar="S", help="seconds a cell may take")
    _add_many(verify)
    graph = commands.add_parser("graph", help="what cells read and write, what is stale, what is dead")
    graph.add_argument("notebook", metavar="NOTEBOOK")
    style = graph.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true")
    style.add_argument("--mermaid", action="store_true")


def _add_conversations(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = commands.add_parser("conversations", help="list conversations, newest first")
    listing.add_argument("--json", action="store_true")
    show = commands.add_parser("show", help="print a conversation")
    show.add_argument("id", metavar="ID")
    show.add_argument("--json", action="store_true")
    undo = commands.add_parser("undo", help="undo the last turn that changed something")
    undo.add_argument("id", metavar="ID", nargs="?", help="the conversation; default: the newest")
    undo.add_argument("--turn", type=_positive(int), metavar="N")
    undo.add_argument("--json", action="store_true")
    export = commands.add_parser("export", help="write a conversation as Markdown")
    export.add_argument("id", metavar="ID")


def _add_others(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo", help="watch a recorded model repair a notebook with real tools and a real kernel"
    )
    demo.add_argument("--keep", metavar="DIR", help="keep the repaired copy there")
    demo.add_argument("--json", action="store_true", help="print one event a line")
    doctor = commands.add_parser("doctor", help="what is installed, which model would answer, what can be enforced")
    doctor.add_argument("--json", action="store_true")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="M")
    parser.add_argument("--base-url", metavar="U", help="an endpoint that speaks the Messages API")


def _add_permissions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=MODES, default="review", help="what happens unasked (default: review)")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="TOOL or TOOL(GLOB), repeatable")


def _add_many(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=_positive(int), default=1, metavar="N", help="notebooks at a time")
    parser.add_argument("--json", action="store_true")


class _positive:
    """An argparse type: a number greater than zero."""

    def __init__(self, kind: type[int] | type[float]) -> None:
        self._kind = kind

    def __call__(self, text: str) -> int | float:
        value = self._kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"must be greater than 0, not {text}")
        return value

    def __repr__(self) -> str:
        return f"positive {'number' if self._kind is float else 'whole number'}"
