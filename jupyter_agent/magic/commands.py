"""`%agent status`, `undo`, `diff`, `history`, `resume`, `model`, `mode`, `connect`, `help`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from jupyter_agent.errors import UsageError
from jupyter_agent.events import ChangeMade, Usage
from jupyter_agent.journal import FILE, conversation_folders, read_journal
from jupyter_agent.magic.options import MODES, Request, help_text
from jupyter_agent.magic.place import Place, connect, find_place, started_by_server
from jupyter_agent.storage import conversations_folder
from jupyter_agent.summary import last_stop, title_of
from jupyter_agent.undo import undo_turn

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation
    from jupyter_agent.magic.agent import Agent

SHOWN_CONVERSATIONS = 15


async def run_command(agent: Agent, request: Request) -> None:
    """Carry out a subcommand. Raises AgentError with what to do instead."""
    await _COMMANDS[request.command](agent, request.words)


async def _status(agent: Agent, words: tuple[str, ...]) -> None:
    conversation = await agent.opened({})
    stop = last_stop(conversation.events)
    notebook = conversation.settings.notebook
    model = conversation.model.endpoint if conversation.model else None
    lines = [
        f"conversation  {conversation.id} ({conversation.turn} turns)",
        f"notebook      {notebook or 'none; the history of this shell stands in'}",
        f"root          {conversation.settings.root}",
        f"model         {f'{model.model} at {model.host}' if model else 'connected with the first request'}",
        f"mode          {conversation.gate.mode}",
        f"spent         {conversation.budget.spent.tokens:,} tokens, {_cost(conversation)}",
        *([f"kept here     {kept}"] if (kept := _kept(conversation)) else []),
        f"last turn     {f'{stop.reason}, verified: {stop.verified}' if stop else 'none'}",
    ]
    agent.say("\n".join(lines))


def _cost(conversation: Conversation) -> str:
    """What the calls cost by list prices; where one had none, nothing is made up."""
    costs = [event.cost for event in conversation.events if isinstance(event, Usage)]
    known = sum(cost for cost in costs if cost is not None)
    return "price unknown" if None in costs else f"${known:.4f}"


def _kept(conversation: Conversation) -> str:
    withhold = conversation.settings.withhold
    return " and ".join(name for name, off in (("outputs", withhold.outputs), ("variables", withhold.variables)) if off)


def _turn(words: tuple[str, ...]) -> int | None:
    if not words:
        return None
    if not words[0].isdigit():
        raise UsageError(f"{words[0]!r} is not the number of a turn.")
    return int(words[0])


async def _undo(agent: Agent, words: tuple[str, ...]) -> None:
    conversation = await agent.opened({})
    agent.say((await undo_turn(conversation, _turn(words))).text())


async def _diff(agent: Agent, words: tuple[str, ...]) -> None:
    conversation = await agent.opened({})
    changes = [event for event in conversation.events if isinstance(event, ChangeMade) and event.diff]
    turn = _turn(words) or (changes[-1].turn if changes else 0)
    shown = [event.diff.rstrip("\n") for event in changes if event.turn == turn]
    agent.say("\n\n".join(shown) or "Nothing was changed.")


async def _history(agent: Agent, words: tuple[str, ...]) -> None:
    folders = list(conversation_folders(conversations_folder()))[:SHOWN_CONVERSATIONS]
    lines = []
    for folder in folders:
        events = read_journal(folder / FILE).events
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(events[-1].time)) if events else "never used"
        lines.append(f"{folder.name}  {when}  {title_of(events)}")
    agent.say("\n".join(lines) or "No conversations yet.")


async def _resume(agent: Agent, words: tuple[str, ...]) -> None:
    if not words:
        raise UsageError("Name the conversation: %agent resume ID. %agent history lists them.")
    conversation = await agent.opened({}, resume=words[0])
    agent.say(f"Resumed {conversation.id}: {title_of(conversation.events)}")


async def _model(agent: Agent, words: tuple[str, ...]) -> None:
    if words:
        agent.config.model = words[0]
        agent.say(f"{words[0]} from the next request on.")
        return
    conversation = agent.conversation
    endpoint = conversation.model.endpoint if conversation and conversation.model else None
    agent.say(
        f"{endpoint.model} at {endpoint.host}" if endpoint else agent.config.model or "chosen at the first request"
    )


async def _mode(agent: Agent, words: tuple[str, ...]) -> None:
    if words and words[0] not in MODES:
        raise UsageError(f"{words[0]!r} is no mode. The modes are {', '.join(MODES)}.")
    if words:
        agent.config.mode = words[0]
    agent.say(agent.conversation.gate.mode if agent.conversation else agent.config.mode)


async def _connect(agent: Agent, words: tuple[str, ...]) -> None:
    """Without an address: what is connected now, and how else to connect."""
    if not words:
        agent.say(_connection(await find_place(agent.shell, agent.connected)))
        return
    place = await connect(words[0], words[1] if len(words) > 1 else "")
    agent.connected = place.bridge
    agent.say(f"Connected: {place.notebook} is read and changed where it is open.")


def _connection(place: Place) -> str:
    if place.bridge is not None:
        return f"Connected to {place.bridge.url}: {place.notebook} is read and changed where it is open."
    if not started_by_server():
        return "No notebook belongs to this shell, so there is nothing to connect to."
    return (
        "This kernel does not know its Jupyter server, so changes to the open notebook are proposed, and code runs "
        "here. With jupyter_agent installed on the server: %agent connect URL TOKEN, as `jupyter server list` shows "
        "them there. Editors without a Jupyter server (VS Code) cannot be connected."
    )


async def _help(agent: Agent, words: tuple[str, ...]) -> None:
    agent.say(help_text())


_COMMANDS: dict[str, Callable[[Agent, tuple[str, ...]], Awaitable[None]]] = {
    "status": _status,
    "undo": _undo,
    "diff": _diff,
    "history": _history,
    "resume": _resume,
    "model": _model,
    "mode": _mode,
    "connect": _connect,
    "help": _help,
}
