"""One conversation: journal, gate, budget, documents and kernels together, and what a person can do with it.

Every surface drives this class and draws its events. State that outlives the process is the journal, the spill folder,
the pre-images, and `state.json` (read ledger, shell state): all in the conversation's own folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jupyter_agent.budget import Budget
from jupyter_agent.checkpoint import Checkpoints, change_key
from jupyter_agent.effect import Effect
from jupyter_agent.errors import AgentError, Denied, NotebookRefused, Stopped
from jupyter_agent.events import Assistant, ChangeMade, Event, Json, Note, Stop, ToolFinished, User
from jupyter_agent.journal import Journal
from jupyter_agent.permission import Asker, Gate, Mode, Rule
from jupyter_agent.shell import Shell
from jupyter_agent.spill import Spill
from jupyter_agent.text import Secrets
from jupyter_agent.tool import CellLog, Tool
from jupyter_agent.withhold import NOTHING_WITHHELD, Withhold, read_withheld, write_withheld
from jupyter_agent.workspace import Ledger, Workspace

if TYPE_CHECKING:
    from jupyter_agent.host import Host
    from jupyter_agent.kernel.protocol import Execution, Kernel
    from jupyter_agent.models.protocol import Model
    from jupyter_agent.notebook.document import Notebook

# Without a handler of the host's the logging module would print our tracebacks to the person's terminal.
logging.getLogger("jupyter_agent").addHandler(logging.NullHandler())

STATE_FILE = "state.json"
Question = Callable[[str, Sequence[str]], Any]
"""Shows a question with choices to a person; awaits and returns the answer as text."""


KernelLife = Literal["stays", "program", "call"]
"""A kernel stays when we are gone, ends with the program after the turn, or with the single call."""


@dataclass(frozen=True)
class Settings:
    """What a conversation is opened with.

    `root` and `notebook` are absolute real paths. `rules` come from the user's settings, `answers` are asks settled in
    advance (`--allow`). `instructions` are (file name, text) of trusted rules files; `trusted`: the person trusts what
    the folder configures. Without `ledger` edits need no prior read (a single tool call). `verify`: check changes at
    the end of a turn. `withhold`: what is kept from the model, besides what the conversation kept back before.
    `kernel_life`: what ends the kernels.
    """

    root: Path
    notebook: Path | None = None
    mode: Mode = "review"
    rules: tuple[Rule, ...] = ()
    answers: tuple[Rule, ...] = ()
    instructions: tuple[tuple[str, str], ...] = ()
    verify: bool = True
    ledger: bool = True
    withhold: Withhold = NOTHING_WITHHELD
    trusted: bool = False
    kernel_life: KernelLife = "stays"


@dataclass
class Conversation:
    """Events reach subscribers after they are in the journal, in order, on the loop's thread."""

    journal: Journal
    settings: Settings
    host: Host
    tools: Mapping[str, Tool]
    budget: Budget
    model: Model | None = None
    asker: Asker | None = None
    question: Question | None = None
    secrets: Secrets = field(default_factory=lambda: Secrets.from_environment(os.environ))
    todo: list[Json] = field(default_factory=list)
    executions: dict[str, Execution] = field(default_factory=dict)
    no_model: str = "No model is configured."
    refused_asks: int = 0
    failure: AgentError | None = None
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("jupyter_agent"))

    def __post_init__(self) -> None:
        folder = self.journal.folder
        self.spill = Spill(folder / "spill")
        self.checkpoints = Checkpoints(folder / "store")
        state = read_state(folder)
        ledger = Ledger.from_json(state.get("ledger", {})) if self.settings.ledger else None
        self.workspace = Workspace(self.settings.root, ledger)
        self.shell = Shell(self.settings.root, environ=os.environ, spill_dir=folder / "spill")
        self._subscribers: list[Callable[[Event], None]] = []
        self._turn = self.journal.turn
        self._task: asyncio.Task[Stop] | None = None
        self._stopping = False
        self._saved: dict[str, dict[str, str]] = {}
        self.gate = Gate(
            mode=self.settings.mode,
            root=str(self.settings.root),
            publish=self.publish,
            before_commit=self._before_commit,
            after_commit=self._after_commit,
            pause=self.budget.pause,
            asker=self.asker,
            rules=self.settings.rules,
            answers=self.settings.answers,
        )
        self.shell.restore(state.get("shell", {}))
        self.todo[:] = state.get("todo", [])
        for warning in self.journal.warnings:
            self.publish(Note(level="warning", text=warning))
        self.keep_back(self.settings.withhold)

    # ------------------------------------------------------------------------------------------------ identity

    @property
    def id(self) -> str:
        return self.journal.folder.name

    @property
    def events(self) -> Sequence[Event]:
        return self.journal.events

    @property
    def turn(self) -> int:
        """The turn that runs, or ran last; 0 before the first."""
        return self._turn

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def denied_in_turn(self) -> bool:
        """Whether an ask of this turn ended in a no, and nothing was changed by it in the end."""
        finished = [event for event in self.turn_events() if isinstance(event, ToolFinished)]
        results = [event for event in finished if not event.call.startswith("own:")]
        return bool(results) and "refused" in results[-1].details and results[-1].details["refused"]["kind"] == "denied"

    def turn_events(self) -> list[Event]:
        """Events of the current turn."""
        return [event for event in self.journal.events if event.turn == self._turn]

    # -------------------------------------------------------------------------------------------------- events

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for every event from now on; the returned function ends it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback) if callback in self._subscribers else None

    def publish(self, event: Event) -> Event:
        """Journal the event, then show it. Secret values are masked in everything but the API's own blocks."""
        if not isinstance(event, Assistant):
            event = _masked(event, self.secrets)
        lost = self.journal.unwritten
        stamped = self.journal.append(event, turn=self._turn)
        self._show(stamped)
        if lost is None and self.journal.unwritten is not None:
            self._show(self.journal.append(Note(level="error", text=self.journal.unwritten), turn=self._turn))
        return stamped

    def _show(self, event: Event) -> None:
        for callback in list(self._subscribers):
            callback(event)

    # --------------------------------------------------------------------------------------------------- turns

    async def send(self, text: str, *, id: str | None = None, attachments: Sequence[Json] = ()) -> Stop | None:
        """Take a person's message and run the turn to its end. While a turn runs, the message is queued into it, in
        the journal before anything else, and None is returned. A client `id` seen before is ignored (None)."""
        from jupyter_agent.loop import run_turn

        if id is not None and any(isinstance(event, User) and event.id == id for event in self.journal.events):
            return None
        if not self.running:
            self.begin_turn()
        self.publish(User(id=id or uuid.uuid4().hex, text=text, attachments=list(attachments)))
        if self.running:
            return None
        self._task = asyncio.ensure_future(run_turn(self))
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self.stop()
            raise

    def begin_turn(self) -> None:
        """Count a new turn; what follows belongs to it."""
        self._turn += 1
        self.budget.start_turn()
        self._stopping = False
        self.failure = None

    def request_stop(self) -> None:
        """From this moment on no effect starts; the turn ends as soon as what it waits for lets go."""
        self._stopping = True
        if self._task is not None:
            # Not at once: the turn itself may be what calls, by way of an event, and may have come to its end by then.
            asyncio.get_running_loop().call_soon(self._task.cancel)

    async def stop(self) -> None:
        """Stop the turn: no effect starts from now on, what runs of ours is interrupted, pending answers are void."""
        self.request_stop()
        task = self._task
        if task is None or task.done():
            return
        await self.interrupt_executions()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])

    async def interrupt_executions(self) -> None:
        """Interrupt what we have running in kernels; another's execution is never hit."""
        for execution in list(self.executions.values()):
            if not execution.done:
                await execution.interrupt()

    def no_more_effects(self) -> None:
        """The person stopped from inside the turn (at a question): nothing starts any more; the turn ends itself."""
        self._stopping = True

    def check_stopped(self) -> None:
        """Raises Stopped once the person pressed Stop."""
        if self._stopping:
            raise Stopped("Stopped. Nothing further was started.")

    async def ask_person(self, tool: str, question: str, choices: Sequence[str]) -> str:
        """A question to the person. Raises Denied where nobody can answer."""
        if self.question is None:
            raise Denied(f"Nobody can answer here: {question!r}. Decide by what is known, and say what was assumed.")
        with self.budget.pause():
            answer = await self.question(question, choices)
        self.check_stopped()
        return str(answer)

    async def present_plan(self, tool: str, plan: str) -> str:
        """Ask for acceptance of a plan; accepted, plan mode becomes review mode. Returns the mode in force."""

        async def leave_plan_mode() -> None:
            if self.gate.mode == "plan":
                self.gate.mode = "review"

        effect: Effect[None] = Effect("execute", "plan", "Carry out this plan", plan, leave_plan_mode, payload=plan)
        mode, self.gate.mode = self.gate.mode, "review"
        try:
            await self.gate.allow(tool, effect)
        finally:
            self.gate.mode = mode
        await effect.commit()
        return self.gate.mode

    # ------------------------------------------------------------------------------------- documents and kernels

    def notebook_path(self, path: str | None) -> Path:
        """The absolute path of a notebook named by the model, inside the root; None is the conversation's own."""
        if path is None:
            if self.settings.notebook is None:
                raise NotebookRefused("missing", "No notebook belongs to this conversation. Give a path to one.")
            return self.settings.notebook
        named = Path(path)
        own = self.settings.notebook
        if own is not None and (path == str(own) or path == own.name or self.settings.root / named == own):
            return own
        return self.workspace.resolve(path)

    async def notebook(self, path: str | None = None) -> Notebook:
        if path is None and self.settings.notebook is None:
            stand_in = await self.host.default_notebook()
            if stand_in is not None:
                return self.settings.withhold.notebook(stand_in)
        return self.settings.withhold.notebook(await self.host.notebook(self.notebook_path(path)))

    async def kernel(self, notebook: Notebook | None = None) -> Kernel:
        if notebook is None and self.settings.notebook is not None:
            notebook = await self.notebook()
        return await self.host.kernel(notebook)

    def cell_log(self, path: str | None = None) -> CellLog:
        """What this conversation edited and ran of a notebook, folded from the journal."""
        target = str(self.notebook_path(path)) if path or self.settings.notebook else ""
        log = CellLog()
        for event in self.journal.events:
            if isinstance(event, ChangeMade) and event.target == target and event.cell:
                if not event.before:
                    log.created.add(event.cell)
                if event.after and event.before != event.after:
                    log.edited[event.cell] = event.after
                elif not event.after:
                    log.edited.pop(event.cell, None)
            elif isinstance(event, ToolFinished) and event.details.get("ran_in") == target:
                cells = event.details.get("cells", [])
                log.ran |= {cell["id"]: cell["hash"] for cell in cells if cell.get("status") == "ok"}
        return log

    # -------------------------------------------------------------------------------------------------- effects

    async def _before_commit(self, effect: Effect[Any]) -> None:
        self.check_stopped()
        self._saved[effect.digest] = self.checkpoints.save(effect.changes)
        self.journal.sync()

    async def _after_commit(self, effect: Effect[Any]) -> None:
        saved = self._saved.pop(effect.digest, {})
        for change in effect.changes:
            self.publish(
                ChangeMade(
                    target=change.target,
                    cell=change.cell,
                    before=change.before,
                    after=change.after,
                    diff=change.diff,
                    checkpoint=saved.get(change_key(change), ""),
                )
            )

    # ---------------------------------------------------------------------------------------------------- state

    def keep_back(self, withhold: Withhold) -> None:
        """Keep this from the model too, from now on: what is switched off stays off, in later processes as well."""
        stored = read_withheld(self.journal.folder)
        wanted = self.settings.withhold | withhold | stored
        self.settings = replace(self.settings, withhold=wanted)
        if wanted != stored:
            try:
                write_withheld(self.journal.folder, wanted)
            except AgentError as error:
                text = f"What is kept from the model is known to this session only. {error.message}"
                self.publish(Note(level="warning", text=text))

    def save_state(self) -> None:
        """Write `state.json`; a full disk is not an error here."""
        ledger = self.workspace.ledger
        state = {"ledger": ledger.to_json() if ledger else {}, "shell": self.shell.to_json(), "todo": self.todo}
        state["cell_ids"] = self.host.cell_ids()
        path = self.journal.folder / STATE_FILE
        with contextlib.suppress(OSError):
            temporary = path.with_suffix(".new")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(state, file, default=str)
            os.replace(temporary, path)

    async def close(self, *, keep_background: bool = False) -> None:
        """End the turn, flush documents, end our kernels and (unless kept for a later process) background commands."""
        await self.stop()
        self.save_state()
        await self.host.close()
        await self._release(keep_background)

    async def let_go(self, *, keep_background: bool = False) -> None:
        """As `close`, but documents and kernels stay for executions that go on; then close `host`."""
        self.save_state()
        await self._release(keep_background)

    async def _release(self, keep_background: bool) -> None:
        if keep_background:
            self.shell.detach()
        else:
            await self.shell.close()
        if self.model is not None:
            await self.model.close()
        self.journal.close()


def read_state(folder: Path) -> Json:
    """What `save_state` of an earlier process left in a conversation's folder; empty where nothing readable is."""
    try:
        state = json.loads((folder / STATE_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _masked(event: Event, secrets: Secrets) -> Event:
    values = {key: _mask(value, secrets) for key, value in _texts(event)}
    return replace(event, **values) if values else event


def _texts(event: Event) -> Iterator[tuple[str, Any]]:
    for key in ("text", "preview", "content", "details", "arguments", "diff", "summary"):
        value = getattr(event, key, None)
        if value:
            yield key, value


def _mask(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return secrets.mask(value)
    if isinstance(value, dict):
        # Image data is base64 of our own making: masking would only cost time.
        return {k: v if k == "data" and isinstance(v, str) else _mask(v, secrets) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_mask(item, secrets) for item in value]
    return value
