"""The agent behind `%agent`: one conversation per kernel, run inside the cell that asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.cli.opening import find_folder, new_id
from jupyter_agent.cli.render import Renderer, make_console
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.errors import AgentError, ModelError
from jupyter_agent.events import Json, Stop
from jupyter_agent.journal import Journal
from jupyter_agent.magic.asking import PromptAsker, can_ask
from jupyter_agent.magic.commands import run_command
from jupyter_agent.magic.display import NotebookDisplay, publisher_of
from jupyter_agent.magic.host import MagicHost, own_notebook
from jupyter_agent.magic.options import Request, parse
from jupyter_agent.magic.result import result_of
from jupyter_agent.storage import conversations_folder
from jupyter_agent.tools import all_tools

TICK = 0.1
"""Seconds between wake-ups of the loop: a sleeping loop does not see an interrupt (measured: 14 s of a 15 s sleep)."""


class AgentStopped(KeyboardInterrupt):
    """Ends the interrupted cell, so that Run All stops too; shown as one sentence instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped. The kernel and the conversation are as they were left; %agent goes on from here."]


class Agent:
    """State of the magic in one shell. All methods run on the kernel's main thread."""

    def __init__(self, shell: Any, config: Any) -> None:
        self.shell = shell
        self.config = config
        self.conversation: Conversation | None = None
        self.own: Path | None = None
        self.cell_ids: list[str] = []

    def tool_names(self) -> list[str]:
        return list(all_tools())

    async def run(self, line: str, body: str) -> None:
        """Carry out what was typed. Shows errors as sentences; raises AgentStopped when the cell is interrupted."""
        try:
            request = parse(line, body)
            if request.command:
                await run_command(self, request)
            else:
                await self._ask(request)
        except AgentError as error:
            self.say(error.message)

    def say(self, text: str) -> None:
        """Text for the person, in the magic's cell."""
        print(text)

    # ------------------------------------------------------------------------------------------------- requests

    async def _ask(self, request: Request) -> None:
        conversation = await self.opened(request.options)
        if not request.text.strip():
            self.say("Ready. Ask with %agent or %%agent.")
            return
        asker = PromptAsker(self.shell) if can_ask(self.shell) else None
        conversation.asker = conversation.gate.asker = asker.approve if asker else None
        conversation.question = asker.question if asker else None
        quiet = bool(request.options.get("quiet", self.config.quiet))
        unsubscribe = conversation.subscribe(self.display(quiet=quiet))
        try:
            if conversation.model is None:
                await self._connect(conversation, request, asker)
            stop = await self._until_done(conversation, request.text)
        finally:
            unsubscribe()
            conversation.save_state()
        if stop is not None:
            self.shell.user_ns["_agent"] = result_of(conversation, stop)
            if stop.reason == "stopped":
                raise AgentStopped

    async def _connect(self, conversation: Conversation, request: Request, asker: PromptAsker | None) -> None:
        model = request.options.get("model") or self.config.model or None
        base_url = self.config.base_url or None
        try:
            await connect(conversation, model=model, base_url=base_url, ask=asker.yes if asker else None)
        except ModelError as error:
            conversation.no_model = error.message

    async def _until_done(self, conversation: Conversation, text: str) -> Stop | None:
        """Run the turn with a tick; an interrupt, however it arrives, stops the turn and lets it end in order."""
        attachments = await self._state()
        task = asyncio.ensure_future(conversation.send(text, attachments=attachments))
        while not task.done():
            try:
                await asyncio.wait({task}, timeout=TICK)
            except (asyncio.CancelledError, KeyboardInterrupt):
                current = asyncio.current_task()
                if current is not None:
                    current.uncancel()
                await conversation.stop()
        return task.result()

    async def _state(self) -> list[Json]:
        """What the model should know now and cannot see: where the person asks from, and what the kernel holds."""
        lines = []
        parent = self.shell.get_parent() if hasattr(self.shell, "get_parent") else {}
        cell = (parent.get("metadata") or {}).get("cellId")
        if cell:
            lines.append(f"Asked from cell {cell}, which runs this request: do not run or edit it.")
        names = [name for name in self.shell.user_ns if not name.startswith("_")]
        held = [name for name in names if name not in self.shell.user_ns_hidden]
        if held:
            lines.append(f"The kernel is live and holds: {', '.join(held[:60])}{' …' if len(held) > 60 else ''}.")
        return [{"type": "state", "text": "\n".join(lines)}] if lines else []

    # --------------------------------------------------------------------------------------------- conversation

    async def opened(self, options: dict[str, Any], *, resume: str | None = None) -> Conversation:
        """The conversation, opened now if need be, with the options applied."""
        named = options.get("notebook")
        if resume or options.get("new") or (named and self.conversation is not None):
            await self.close()
        if self.conversation is None:
            self.conversation = await self._open(named, resume)
        conversation = self.conversation
        conversation.gate.mode = options.get("mode") or (
            conversation.gate.mode if conversation.turn else self.config.mode
        )
        if "model" in options and conversation.model is not None:
            await conversation.model.close()
            conversation.model = None
        usd = options.get("budget") or self.config.budget or None
        conversation.budget.limits = Limits(turns=options.get("max_turns") or self.config.max_turns, usd=usd)
        return conversation

    async def _open(self, named: str | None, resume: str | None) -> Conversation:
        self.own = await own_notebook(self.shell)
        notebook = Path(named).resolve() if named else self.own
        if notebook is not None and not notebook.is_file():
            raise AgentError(f"There is no notebook {named}. Check the path.", kind="missing")
        here = Path(os.getcwd()).resolve()
        root = here if notebook is None or notebook.is_relative_to(here) else notebook.parent
        folder = find_folder(resume) if resume else conversations_folder() / new_id()
        journal = Journal.open(folder)
        host = MagicHost(self.shell, root, self.own, folder / "spill")
        if named and notebook is not None:
            host.adopted.add(notebook)
        settings = Settings(root, notebook, self.config.mode)
        conversation = Conversation(journal, settings, host, all_tools(), Budget())
        with contextlib.suppress(AgentError):
            self.cell_ids = [cell.id for cell in await (await conversation.notebook()).cells()]
        return conversation

    async def close(self) -> None:
        """End the conversation; the kernel and everything it holds stay."""
        if self.conversation is not None:
            conversation, self.conversation = self.conversation, None
            await conversation.close()

    def display(self, *, quiet: bool) -> Any:
        """What draws the events: cells of a notebook, or a terminal."""
        if hasattr(self.shell, "kernel"):
            return NotebookDisplay(publisher_of(self.shell), quiet=quiet)
        return Renderer(make_console(), quiet=quiet)
