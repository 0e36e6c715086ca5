"""`jupyter agent run`: one task, one turn, drawn as it happens."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from argparse import Namespace
from dataclasses import replace

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.cli.ask import TerminalAsker
from jupyter_agent.cli.main import DONE, FAILED, INTERRUPTED, REFUSED, exit_code_of
from jupyter_agent.cli.opening import (
    Place,
    is_interactive,
    open_conversation,
    open_journal,
    place_of_target,
    settings_of,
)
from jupyter_agent.cli.render import Renderer, make_console, print_json
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Conversation
from jupyter_agent.errors import UsageError
from jupyter_agent.events import Note, Stop
from jupyter_agent.storage import data_folder
from jupyter_agent.trust import Trust, find_rules
from jupyter_agent.withhold import Withhold
from jupyter_agent.workspace import Workspace

DEFAULT_TURNS = 50
"""Model replies of one `run` unless --max-turns says otherwise: a bound for unattended use."""


def command_run(arguments: Namespace) -> int:
    if not arguments.prompt.strip():
        raise UsageError("The prompt is empty. Say what should be done.")
    return asyncio.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    place = place_of_target(arguments.target)
    interactive = is_interactive() and not arguments.json
    console = make_console()
    asker = TerminalAsker(console) if interactive else None
    rules, skipped = await trusted_rules(place, asker, trust=arguments.trust)
    withhold = Withhold(arguments.no_outputs, arguments.no_variables)
    trusted = arguments.trust or bool(rules)
    settings = replace(
        settings_of(arguments, place),
        instructions=rules,
        withhold=withhold,
        trusted=trusted,
        kernel_life="program",
    )

    async def agree(question: str) -> bool:
        return arguments.yes or (asker is not None and await asker.yes(question))

    journal = open_journal(arguments.resume, must_exist=arguments.resume is not None)
    with journal:
        limits = Limits(turns=arguments.max_turns or DEFAULT_TURNS, usd=arguments.budget)
        conversation = open_conversation(journal, settings, Budget(limits), asker=asker.approve if asker else None)
        if asker is not None:
            conversation.question = asker.question
        conversation.subscribe(print_json if arguments.json else Renderer(console))
        try:
            if settings.notebook is not None:
                # A notebook that cannot be read, or that a server holds, is refused before a model hears of it.
                await (await conversation.notebook()).cells()
            await connect(conversation, model=arguments.model, base_url=arguments.base_url, ask=agree)
            if skipped:
                conversation.publish(Note(level="info", text=skipped))
            stop = await until_done(conversation, arguments.prompt)
        finally:
            await conversation.close()
    if not arguments.json:
        Renderer(console).line(f"conversation {conversation.id}", "dim")
    return exit_code(conversation, stop)


async def trusted_rules(
    place: Place, asker: TerminalAsker | None, *, trust: bool
) -> tuple[tuple[tuple[str, str], ...], str]:
    """(file name, text) of the folder's rules files if the person trusts them, and a sentence if they do not."""
    workspace = Workspace(place.root)
    files = find_rules(workspace, place.notebook.parent if place.notebook else place.root)
    if not files:
        return (), ""
    names = ", ".join(file.name for file in files)
    known = Trust(data_folder() / "trust.json")
    if not known.holds(place.root, files):
        question = f"Follow the rules of this folder ({names})? They become part of what the model is told."
        if not trust and not (asker is not None and await asker.yes(question)):
            return (), f"{names} not followed: the folder is not trusted. --trust trusts it as it is now."
        known.give(place.root, files)
    return tuple((file.name, file.text) for file in files), ""


async def until_done(conversation: Conversation, prompt: str) -> Stop | None:
    """Send the prompt; Ctrl-C stops the turn, and the conversation is closed in order."""
    loop = asyncio.get_running_loop()
    sending = asyncio.ensure_future(conversation.send(prompt))
    stopping: list[asyncio.Task[None]] = []

    def interrupt() -> None:
        stopping.append(loop.create_task(conversation.stop()))

    with contextlib.suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
    try:
        return await sending
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        await asyncio.gather(*stopping)


def exit_code(conversation: Conversation, stop: Stop | None) -> int:
    """The documented exit code of a finished turn."""
    if stop is None or stop.reason == "stopped":
        return INTERRUPTED
    if stop.reason == "error" and conversation.failure is not None:
        return exit_code_of(conversation.failure)
    if stop.reason in ("error", "limit") or stop.verified == "failed":
        return FAILED
    if stop.reason == "denied" or (conversation.asker is None and conversation.refused_asks):
        return REFUSED
    return DONE
