"""The agent behind `%agent`: one conversation per kernel, run inside the cell that asks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path
from typing import Any

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.cli.opening import find_folder, new_id
from jupyter_agent.cli.render import make_console
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.errors import AgentError, JournalError, ModelError
from jupyter_agent.events import Json, Stop
from jupyter_agent.journal import Journal
from jupyter_agent.magic import restarts
from jupyter_agent.magic.asking import PromptAsker, can_ask
from jupyter_agent.magic.commands import run_command
from jupyter_agent.magic.display import NotebookDisplay, TerminalDisplay, publisher_of
from jupyter_agent.magic.host import MagicHost
from jupyter_agent.magic.interrupts import stops_on_interrupt
from jupyter_agent.magic.knowing import Known
from jupyter_agent.magic.options import Request, parse
from jupyter_agent.magic.place import Place, find_place
from jupyter_agent.magic.result import result_of
from jupyter_agent.notebook.bridge import Bridge
from jupyter_agent.permission import parse_rule
from jupyter_agent.storage import conversations_folder
from jupyter_agent.text import visible
from jupyter_agent.tools import all_tools
from jupyter_agent.withhold import Withhold

TICK = 0.1
"""Seconds between wake-ups of the loop, for interrupts that reach us as a cancellation only (a subshell)."""


class AgentFailed(Exception):
    """Ends the cell as failed, so that Run All, nbconvert and papermill stop there; shown as its sentence alone.

    `told`: the display has said it already.
    """

    def __init__(self, message: str, *, told: bool = False) -> None:
        super().__init__(message)
        self.told = told

    def _render_traceback_(self) -> list[str]:
        return [] if self.told else [str(self)]


class AgentStopped(AgentFailed, KeyboardInterrupt):
    """The person interrupted the cell."""


class Agent:
    """State of the magic in one shell. All methods run on the kernel's main thread."""

    def __init__(self, shell: Any, config: Any) -> None:
        self.shell = shell
        self.config = config
        self.conversation: Conversation | None = None
        self.place = Place()
        self.connected: Bridge | None = None
        self.cell_ids: list[str] = []
        self._working = False
        self._known = Known(shell)
        self._restarted = False
        config.observe(self._mode_chosen, names=["mode"])
        config.observe(self._model_chosen, names=["model", "base_url"])
        self._stale_model = False

    def tool_names(self) -> list[str]:
        return list(all_tools())

    async def run(self, line: str, body: str) -> None:
        """Carry out what was typed. Raises AgentFailed with a sentence for the person, AgentStopped on an interrupt."""
        if self._working:
            # The agent ran the cell that asked it, or another one with the magic.
            self.say("%agent is at work already: it does not call itself. Skipped.")
            return
        self._working = True
        try:
            request = parse(line, body)
            stop = await self._until_done(request)
        except AgentError as error:
            raise AgentFailed(error.message) from None
        except AgentStopped:
            raise
        except Exception as error:
            # A fault of ours reaches the person as a sentence; the log of the conversation has the rest.
            self._log_fault()
            raise AgentFailed(f"%agent failed by a fault of its own ({type(error).__name__}: {error}).") from None
        finally:
            self._working = False
        in_notebook = hasattr(self.shell, "kernel")
        if stop is not None and stop.reason == "stopped":
            raise AgentStopped("Stopped by the person. %agent goes on from here.", told=not in_notebook)
        if stop is not None and stop.reason == "error":
            failure = self.conversation.failure if self.conversation is not None else None
            raise AgentFailed(failure.message if failure else stop.summary, told=not in_notebook)

    def _log_fault(self) -> None:
        if self.conversation is not None:
            self.conversation.log.exception("a request failed")

    def say(self, text: str) -> None:
        """Text for the person, in the magic's cell."""
        print(visible(text))

    # ------------------------------------------------------------------------------------------------- requests

    async def _until_done(self, request: Request) -> Stop | None:
        """Do the work as a task of its own; an interrupt, however it arrives, stops the turn and lets it end in order.

        Raises AgentStopped when it was interrupted before there was a turn.
        """
        stops: list[asyncio.Task[None]] = []
        work = asyncio.ensure_future(self._work(request))

        def stop() -> None:
            if self.conversation is not None and self.conversation.running:
                stops.append(asyncio.ensure_future(self.conversation.stop()))
            else:
                work.cancel()

        with stops_on_interrupt(self._no_more_effects, stop):
            while not work.done():
                try:
                    await asyncio.wait({work}, timeout=TICK)
                except (asyncio.CancelledError, KeyboardInterrupt):
                    current = asyncio.current_task()
                    if current is not None:
                        current.uncancel()
                    stop()
            await asyncio.gather(*stops)
        if work.cancelled():
            raise AgentStopped("Stopped before anything was asked.")
        return work.result()

    async def _work(self, request: Request) -> Stop | None:
        if request.command:
            await run_command(self, request)
            return None
        conversation = await self.opened(request.options)
        if not request.text.strip():
            self.say("Ready. Ask with %agent or %%agent.")
            return None
        asker = PromptAsker(self._no_more_effects) if can_ask(self.shell) else None
        conversation.asker = conversation.gate.asker = asker.approve if asker else None
        conversation.question = asker.question if asker else None
        quiet = bool(request.options.get("quiet", self.config.quiet))
        unsubscribe = conversation.subscribe(self.display(quiet=quiet))
        try:
            await self._connect(conversation, request, asker)
            stop = await conversation.send(request.text, attachments=self._news(conversation))
        finally:
            unsubscribe()
            conversation.save_state()
            self._known.turn_ended()
        if stop is not None:
            self.shell.user_ns["_agent"] = result_of(conversation, stop)
        return stop

    def _no_more_effects(self) -> None:
        if self.conversation is not None and self.conversation.running:
            self.conversation.no_more_effects()

    def _news(self, conversation: Conversation) -> list[Json]:
        restarted, self._restarted = self._restarted, False
        return self._known.news(restarted=restarted, variables=not conversation.settings.withhold.variables)

    async def _connect(self, conversation: Conversation, request: Request, asker: PromptAsker | None) -> None:
        model = request.options.get("model") or self.config.model or None
        current = conversation.model
        if current is not None and (self._stale_model or (model and model != current.endpoint.model)):
            conversation.model = None
            await current.close()
        self._stale_model = False
        if conversation.model is not None:
            return
        try:
            base_url = self.config.base_url or None
            await connect(conversation, model=model, base_url=base_url, ask=asker.yes if asker else None)
        except ModelError as error:
            conversation.no_model = error.message

    # --------------------------------------------------------------------------------------------- conversation

    async def opened(self, options: dict[str, Any], *, resume: str | None = None) -> Conversation:
        """The conversation, opened now if need be, with the options applied."""
        place = await find_place(self.shell, self.connected)
        named = Path(options["notebook"]).resolve() if "notebook" in options else None
        current = self.conversation
        if resume or options.get("new"):
            await self.close()
        elif current is not None and place != self.place and named is None:
            # The notebook was renamed or moved, or a server connected: the same conversation, bound to where it is now.
            resume = current.id
            await self.close()
        elif current is not None and named is not None and named != current.settings.notebook:
            await self.close()
        self.place = place
        if self.conversation is None:
            self.conversation = await self._open(named, resume, new="new" in options)
        conversation = self.conversation
        if "mode" in options:
            conversation.gate.mode = options["mode"]
        if "allow" in options:
            conversation.gate.answers = tuple(parse_rule(rule) for rule in options["allow"])
        conversation.keep_back(self._withheld(options))
        usd = options.get("budget") or self.config.budget or None
        conversation.budget.limits = Limits(turns=options.get("max_turns") or self.config.max_turns, usd=usd)
        return conversation

    def _withheld(self, options: dict[str, Any]) -> Withhold:
        return Withhold(
            outputs="no_outputs" in options or not self.config.send_outputs,
            variables="no_variables" in options or not self.config.send_variables,
        )

    async def _open(self, named: Path | None, resume: str | None, *, new: bool) -> Conversation:
        notebook = named or self.place.notebook
        if named is not None and not named.is_file():
            raise AgentError(f"There is no notebook {named}. Check the path.", kind="missing")
        here = Path(os.getcwd()).resolve()
        # The notebook may be on its server's machine, and nothing of it on this one.
        elsewhere = notebook is None or notebook.is_relative_to(here) or not notebook.parent.is_dir()
        root = here if notebook is None or elsewhere else notebook.parent
        journal = self._journal(resume, new=new)
        host = MagicHost(self.shell, root, self.place, journal.folder / "spill")
        if named is not None:
            host.adopted.add(named)
        settings = Settings(root, notebook, self.config.mode)
        conversation = Conversation(journal, settings, host, all_tools(), Budget(), log=_log_in(journal.folder))
        restarts.mark(journal.folder)
        with contextlib.suppress(AgentError):
            self.cell_ids = [cell.id for cell in await (await conversation.notebook()).cells()]
        return conversation

    def _journal(self, resume: str | None, *, new: bool) -> Journal:
        """The journal to go on with: the one named, the one this kernel had before its restart, or a new one."""
        if resume is not None:
            return Journal.open(find_folder(resume))
        earlier = None if new else restarts.before_restart(conversations_folder())
        if earlier is not None:
            with contextlib.suppress(JournalError):
                journal = Journal.open(earlier)
                self._restarted = True
                self.say(f"Going on with conversation {earlier.name} after the restart; --new starts another.")
                return journal
        return Journal.open(conversations_folder() / new_id())

    async def close(self) -> None:
        """End the conversation; the kernel and everything it holds stay."""
        if self.conversation is not None:
            conversation, self.conversation = self.conversation, None
            await conversation.close()
            for handler in list(conversation.log.handlers):
                conversation.log.removeHandler(handler)
                handler.close()

    def display(self, *, quiet: bool) -> Any:
        """What draws the events: cells of a notebook, or a terminal."""
        if hasattr(self.shell, "kernel"):
            return NotebookDisplay(publisher_of(self.shell), is_live=self._is_live, quiet=quiet)
        return TerminalDisplay(make_console(), is_live=self._is_live, quiet=quiet)

    def _is_live(self, name: str, arguments: Json) -> bool:
        """Whether what the tool runs shows its outputs in the magic's own cell."""
        conversation = self.conversation
        if name == "run_code":
            return True
        if name != "run_cells" or conversation is None:
            return False
        host = conversation.host
        path = arguments.get("path")
        try:
            return isinstance(host, MagicHost) and (
                (path is None and conversation.settings.notebook is None)
                or _shows_here(host, conversation.notebook_path(path))
            )
        except AgentError:
            return False

    def _mode_chosen(self, change: Any) -> None:
        if self.conversation is not None:
            self.conversation.gate.mode = change["new"]

    def _model_chosen(self, change: Any) -> None:
        self._stale_model = True


def _shows_here(host: MagicHost, path: Path) -> bool:
    return host.is_live(path) and not host.shows_in_cells(path)


def _log_in(folder: Path) -> logging.Logger:
    """A log in the conversation's folder: in a cell nobody wants to read it, and there logging ends on stderr."""
    log = logging.Logger(f"jupyter_agent.{folder.name}")
    log.addHandler(logging.FileHandler(folder / "log.txt", encoding="utf-8", delay=True))
    return log
