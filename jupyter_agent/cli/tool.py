"""`jupyter agent tool` and `tools`: one call as the model would make it, and what there is to call."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from jupyter_agent.budget import Budget
from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.cli.ask import TerminalAsker
from jupyter_agent.cli.main import DONE, FAILED, REFUSED
from jupyter_agent.cli.opening import (
    is_interactive,
    open_conversation,
    open_journal,
    place_of_notebook,
    settings_of,
)
from jupyter_agent.cli.render import Renderer, make_console, text_of
from jupyter_agent.cli.staying import Answered, answered_by_fork, until_ended
from jupyter_agent.context import system_prompt
from jupyter_agent.errors import UsageError
from jupyter_agent.events import Event, Json, Note, Progress
from jupyter_agent.journal import Journal
from jupyter_agent.tool import Tool, ToolResult
from jupyter_agent.tools import all_tools

CHARACTERS_PER_TOKEN = 2.8
"""The estimate of the design's budget of 4,000 tokens for tools and prompt."""
TOKEN_LIMIT = 4_000


def command_tool(arguments: Namespace) -> int:
    if arguments.name not in all_tools():
        raise UsageError(f"There is no tool {arguments.name!r}. `jupyter agent tools --all` lists them.")
    try:
        given = json.loads(arguments.arguments)
    except ValueError as error:
        raise UsageError(f'The arguments are not JSON: {error}. Write them as \'{{"path": "…"}}\'.') from None
    if arguments.kernel is None:
        return asyncio.run(_tool(arguments, given, lambda _code: None))
    return answered_by_fork(lambda answered: _tool(arguments, given, answered))


async def _tool(arguments: Namespace, given: Json, answered: Answered) -> int:
    """The call, its answer printed. `answered` is called while a cell on a kernel that stays still runs."""
    place = place_of_notebook(arguments.notebook, arguments.root)
    settings = settings_of(arguments, place, ledger=arguments.conversation is not None)
    settings = replace(settings, kernel_life="call" if arguments.kernel is None else "stays")
    asker = TerminalAsker(make_console()) if is_interactive() and not arguments.json else None
    temporary = None if arguments.conversation else Path(tempfile.mkdtemp(prefix="jupyter-agent-"))
    journal = Journal.open(temporary) if temporary else open_journal(arguments.conversation, must_exist=False)
    try:
        with journal:
            conversation = open_conversation(
                journal,
                settings,
                Budget(),
                asker=asker.approve if asker else None,
                connection_file=arguments.kernel,
            )
            conversation.question = asker.question if asker else None
            conversation.subscribe(_Progress(quiet=arguments.json))
            conversation.begin_turn()
            keep = temporary is None
            try:
                result = await run_call(conversation, new_call_id(), arguments.name, given)
            except BaseException:
                # Ctrl-C means the cell too, in whosever kernel we have it run.
                await conversation.interrupt_executions()
                await conversation.close(keep_background=keep)
                raise
            running = [each for each in conversation.executions.values() if not each.done]
            if arguments.kernel is None or not running:
                await conversation.close(keep_background=keep)
                running = []
            else:
                await conversation.let_go(keep_background=keep)
        _print(result, as_json=arguments.json)
        failed = REFUSED if conversation.refused_asks else FAILED
        code = failed if result.is_error else DONE
        if running:
            answered(code)
            await until_ended(running)
            await conversation.host.close()
        return code
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


class _Progress:
    """Progress and notes of a single call on standard error, so that standard output is the result alone."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._renderer: Renderer | None = None

    def __call__(self, event: Event) -> None:
        if self._quiet or not isinstance(event, Progress | Note):
            return
        if self._renderer is None:
            self._renderer = Renderer(make_console(sys.stderr))
        self._renderer(event)


def _print(result: ToolResult, *, as_json: bool) -> None:
    if as_json:
        whole = {"content": result.content, "details": result.details, "is_error": result.is_error}
        print(json.dumps(whole, ensure_ascii=True, default=str))
    else:
        print(text_of(result.content).encode("utf-8", "replace").decode())


def command_tools(arguments: Namespace) -> int:
    tools = all_tools()
    shown = [tool for tool in tools.values() if tool.always or arguments.all]
    sent = [tool.declaration() for tool in tools.values() if tool.always]
    total = estimate(sent) + estimate(system_prompt("/home/user/project", "analysis.ipynb"))
    if arguments.json:
        print(json.dumps({"tools": [_declared(tool) for tool in shown], "tokens": total, "limit": TOKEN_LIMIT}))
        return DONE
    width = max(len(tool.name) for tool in shown)
    for tool in shown:
        mark = " " if tool.always else "*"
        print(f"{mark} {tool.name:<{width}}  {estimate(tool.declaration()):>4}  {tool.description}")
    print(f"\nAlways sent, with the system prompt: about {total:,} of {TOKEN_LIMIT:,} tokens.", end="")
    print(" * found through find_tools." if arguments.all else " --all lists those found through find_tools.")
    return DONE


def _declared(tool: Tool) -> Json:
    return {**tool.declaration(), "always": tool.always, "tokens": estimate(tool.declaration())}


def estimate(part: object) -> int:
    """Tokens of a part of the request, by the design's measure: characters of its JSON / 2.8."""
    return round(len(json.dumps(part)) / CHARACTERS_PER_TOKEN)
