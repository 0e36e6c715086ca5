"""The arguments of every command: argparse only, so that `--help` is instant."""

from __future__ import annotations

import argparse
from typing import Any

MODES = ("plan", "review", "accept-edits", "auto")

EPILOG = """\
exit codes: 0 done; 1 failed, a limit was hit, or a check failed; 2 wrong usage;
3 something needed approval and nobody gave it; 4 no model answers; 130 interrupted
"""


VERIFY_EPILOG = """\
exit codes: 0 no difference; 1 an output differs, an error is new, or a notebook cannot be read; 2 wrong usage;
130 interrupted. What could not be checked (a timeout, a cell tagged agent:never-rerun or skip-execution, a missing
key, network or GPU, chance) is reported as unproven, in the JUnit report as skipped, and does not fail the command
unless --strict is given.
"""

REFACTOR_EPILOG = """\
Without --write nothing is written: the difference of every cell is shown. With --write a notebook is written only when
its outputs were proved to be the same; `jupyter agent undo` takes it back. RECIPE alone says what it takes.
exit codes: 0 applied, or the dry run found nothing against it; 1 refused or unproven, with the reason, and nothing
written to that notebook; 2 wrong usage; 130 interrupted (what was written before stays written, whole).
"""


class _Intermixed(argparse.ArgumentParser):
    """Takes options between its positional arguments too: `tool NAME --notebook N JSON`.

    argparse itself would give an optional positional nothing as soon as an option follows the one before it.
    """

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        if self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter agent",
        description="A coding agent that lives in Jupyter: works in the live kernel, loses nothing, proves its claims.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Intermixed)
    _add_run(commands)
    _add_tool(commands)
    _add_refactoring(commands)
    _add_conversations(commands)
    _add_others(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[_Intermixed]) -> None:
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
    run.add_argument("--no-outputs", action="store_true", help="keep the outputs of cells from the model")
    run.add_argument("--no-variables", action="store_true", help="keep the kernel's variables from the model")
    run.add_argument("--trust", action="store_true", help="trust this folder's rules files and git configuration")


def _add_tool(commands: argparse._SubParsersAction[_Intermixed]) -> None:
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


def _add_refactoring(commands: argparse._SubParsersAction[_Intermixed]) -> None:
    refactor = _with_notes(
        commands, "refactor", "refactor notebooks, proved by running them before and after", REFACTOR_EPILOG
    )
    refactor.add_argument("recipe", metavar="RECIPE[,RECIPE…]", help="what to do, in this order, as one change")
    refactor.add_argument("notebooks", metavar="NOTEBOOK", nargs="*")
    refactor.add_argument(
        "--set", action="append", default=[], metavar="K=V", dest="parameters", help="a parameter; N.K=V: of step N"
    )
    refactor.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run it before and after in fresh kernels and compare the outputs (default: yes)",
    )
    refactor.add_argument("--diff", action="store_true", help="show the difference also with --write")
    refactor.add_argument("--write", action="store_true", help="apply it if it is proved, or with --no-verify unproved")
    _add_many(refactor)
    verify = _with_notes(
        commands, "verify", "run notebooks in a fresh kernel and compare outputs cell by cell", VERIFY_EPILOG
    )
    verify.add_argument("notebooks", metavar="NOTEBOOK", nargs="+")
    verify.add_argument("--against", metavar="FILE|HEAD", help="compare with this notebook's outputs")
    verify.add_argument("--strict", action="store_true", help="exit 1 also when a notebook is unproven")
    _add_many(verify)
    graph = commands.add_parser("graph", help="what cells read and write, what is stale, what is dead")
    graph.add_argument("notebook", metavar="NOTEBOOK")
    style = graph.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true")
    style.add_argument("--mermaid", action="store_true")


def _with_notes(
    commands: argparse._SubParsersAction[_Intermixed], name: str, summary: str, epilog: str
) -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=summary, description=summary, epilog=epilog, formatter_class=formatter)


def _add_conversations(commands: argparse._SubParsersAction[_Intermixed]) -> None:
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


def _add_others(commands: argparse._SubParsersAction[_Intermixed]) -> None:
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
    parser.add_argument("--timeout", type=_positive(float), default=600.0, metavar="S", help="seconds a cell may take")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=_positive(int), default=1, metavar="N", help="notebooks at a time")
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask cluster (tcp://HOST:PORT) that shares these files: extra dask"
    )
    parser.add_argument("--junit", metavar="FILE", help="write a JUnit report")
    parser.add_argument("--json", action="store_true", help="print one notebook a line as JSON, as they are done")


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
