"""`conversations`, `show`, `undo`, `export`: what was said and done, and taking it back."""

from __future__ import annotations

import asyncio
import json
import time
from argparse import Namespace
from pathlib import Path

from jupyter_agent.budget import Budget
from jupyter_agent.cli.main import DONE, FAILED
from jupyter_agent.cli.opening import Place, find_folder, open_conversation
from jupyter_agent.cli.render import Renderer, make_console, print_json, text_of
from jupyter_agent.conversation import Settings
from jupyter_agent.errors import JournalError
from jupyter_agent.events import Assistant, ChangeMade, Event, Json, Stop, ToolFinished, ToolStart, User
from jupyter_agent.journal import FILE, Journal, conversation_folders, read_journal
from jupyter_agent.storage import conversations_folder
from jupyter_agent.summary import last_stop, title_of
from jupyter_agent.undo import undo_turn


def command_conversations(arguments: Namespace) -> int:
    rows = [_row(folder) for folder in conversation_folders(conversations_folder())]
    if arguments.json:
        print(json.dumps(rows))
    elif not rows:
        print("No conversations yet.")
    else:
        for row in rows:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["time"]))
            turns = f"{row['turns']:>3} turn{' ' if row['turns'] == 1 else 's'}"
            print(f"{row['id']}  {when}  {turns}  {row['verified'] or '-':<8}  {row['title']}")
    return DONE


def _row(folder: Path) -> Json:
    events = read_journal(folder / FILE).events
    stop = last_stop(events)
    return {
        "id": folder.name,
        "title": title_of(events),
        "time": events[-1].time if events else (folder / FILE).stat().st_mtime,
        "turns": events[-1].turn if events else 0,
        "events": len(events),
        "verified": stop.verified if stop else "",
    }


def command_show(arguments: Namespace) -> int:
    reading = read_journal(find_folder(arguments.id) / FILE)
    renderer = Renderer(make_console(), show_user=True)
    for event in reading.events:
        if arguments.json:
            print_json(event)
        else:
            renderer(event)
    for warning in reading.warnings:
        renderer.line(warning, "yellow")
    return DONE


def command_undo(arguments: Namespace) -> int:
    return asyncio.run(_undo(arguments))


async def _undo(arguments: Namespace) -> int:
    folder = find_folder(arguments.id) if arguments.id else _newest_with_changes()
    with Journal.open(folder) as journal:
        place = _place_of(journal.events)
        settings = Settings(place.root, place.notebook)
        conversation = open_conversation(journal, settings, Budget())
        try:
            report = await undo_turn(conversation, arguments.turn)
        finally:
            await conversation.close()
    if arguments.json:
        skipped = [{"target": name, "reason": reason} for name, reason in report.skipped]
        whole = {"turn": report.turn, "restored": report.restored, "skipped": skipped}
        print(json.dumps(whole | {"not_covered": report.not_covered, "kernel_state_restored": False}))
    else:
        make_console().print(report.text(), markup=False)
    return DONE if report.restored else FAILED


def _newest_with_changes() -> Path:
    for folder in conversation_folders(conversations_folder()):
        if any(isinstance(event, ChangeMade) for event in read_journal(folder / FILE).events):
            return folder
    raise JournalError("There is nothing to undo: no conversation changed anything.", kind="missing")


def _place_of(events: list[Event]) -> Place:
    """The root that holds everything the conversation changed: undo touches nothing else."""
    targets = [Path(event.target) for event in events if isinstance(event, ChangeMade)]
    if not targets:
        raise JournalError("There is nothing to undo: this conversation changed nothing.", kind="missing")
    root = targets[0].parent
    while not all(target.is_relative_to(root) for target in targets):
        root = root.parent
    return Place(root, None)


def command_export(arguments: Namespace) -> int:
    print(markdown_of(read_journal(find_folder(arguments.id) / FILE).events))
    return DONE


def markdown_of(events: tuple[Event, ...]) -> str:
    """A conversation as Markdown: words as they are, calls and results as fenced blocks."""
    parts = [f"# {title_of(events)}"]
    for event in events:
        if isinstance(event, User):
            parts.append(f"## You\n\n{event.text}")
        elif isinstance(event, Assistant) and event.text.strip():
            parts.append(f"## Agent\n\n{event.text.strip()}")
        elif isinstance(event, ToolStart):
            parts.append(
                f"**{event.name}**\n\n{_fenced(json.dumps(event.arguments, indent=1, ensure_ascii=False), 'json')}"
            )
        elif isinstance(event, ToolFinished):
            parts.append(_fenced(text_of(event.content), "text"))
        elif isinstance(event, ChangeMade) and event.diff:
            parts.append(_fenced(event.diff.rstrip("\n"), "diff"))
        elif isinstance(event, Stop):
            parts.append(f"*{event.reason}, verified: {event.verified}. {event.summary}*")
    return "\n\n".join(parts)


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
