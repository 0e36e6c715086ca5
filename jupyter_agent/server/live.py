"""One conversation while this server has it open: what clients send is done, what happens is sent to all of them.

Lives on the agent's loop. Clients come and go; the conversation goes on without any.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_agent.checkpoint import Reversal
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Conversation
from jupyter_agent.errors import AgentError, ModelError, Refused
from jupyter_agent.events import Approval, ApprovalRequest, Assistant, Delta, Event, Json, Note, Stop
from jupyter_agent.permission import MODES
from jupyter_agent.server.host import ServerHost
from jupyter_agent.summary import title_of
from jupyter_agent.undo import undo_turn
from jupyter_agent.withhold import Withhold

LARGEST_TEXT = 2_000_000
"""Characters of one message: beyond it no model could read it, and the journal should not hold it."""
LARGEST_IMAGE = 8_000_000
"""Characters of one image's base64."""
Send = Callable[[Json], None]


@dataclass
class Question:
    id: str
    text: str
    choices: Sequence[str]
    answer: asyncio.Future[str]

    def to_json(self) -> Json:
        return {"id": self.id, "text": self.text, "choices": list(self.choices)}


@dataclass
class Live:
    """`conversation` is wired to this object's `approve` and `ask` when the hub opens it."""

    conversation: Conversation
    host: ServerHost
    root: Path
    model_name: str = ""
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("jupyter_agent"))

    def __post_init__(self) -> None:
        self._clients: list[Send] = []
        self._taken: dict[str, int] = {}
        self._approvals: dict[str, asyncio.Future[Approval]] = {}
        self._question: Question | None = None
        self._sending = self._stops = 0
        self._partial: dict[str, str] = {}
        self._status: Json = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._connecting: asyncio.Task[None] | None = None
        self.conversation.asker = self.conversation.gate.asker = self.approve
        self.conversation.question = self.ask
        self.conversation.subscribe(self._publish)

    # -------------------------------------------------------------------------------------------------- clients

    def attach(self, after: int, send: Send) -> Callable[[], None]:
        """Give a client everything after `after`, then all that follows; the returned function ends it.

        Nothing is awaited in here, so no event is missed or sent twice.
        """
        send({**self.status(), "newest": self.conversation.journal.seq})
        for event in self.conversation.events:
            if event.seq > after:
                send(event.to_json())
        for block, text in self._partial.items():
            stamp = {"seq": self.conversation.journal.seq, "time": 0.0, "turn": self.conversation.turn}
            send({"type": "delta", **stamp, "block": block, "text": text})
        self._clients.append(send)
        return lambda: self._clients.remove(send) if send in self._clients else None

    @property
    def busy(self) -> bool:
        """Whether something goes on that must not be interrupted by closing."""
        return bool(self._clients) or self.conversation.running or bool(self._tasks)

    @property
    def _at_work(self) -> bool:
        # The turn's task exists only after the person's message was published.
        return self._sending > 0 or self.conversation.running

    def status(self) -> Json:
        conversation, events = self.conversation, self.conversation.events
        notebook = conversation.settings.notebook
        return {
            "type": "status",
            "running": self._at_work and not (events and isinstance(events[-1], Stop)),
            "mode": conversation.gate.mode,
            "model": self.model_name,
            "title": title_of(events) if events else "",
            "notebook": self.host.name_of(notebook) if notebook is not None else "",
            "root": str(self.root),
            "question": self._question.to_json() if self._question is not None else None,
        }

    def _publish(self, event: Event) -> None:
        if isinstance(event, Delta):
            self._partial[event.block] = self._partial.get(event.block, "") + event.text
        elif isinstance(event, Assistant | Stop):
            self._partial.clear()
        self._broadcast(event.to_json())
        if not isinstance(event, Delta):
            self._tell_status()

    def _tell_status(self) -> None:
        status = self.status()
        if status != self._status:
            self._status = status
            self._broadcast({**status, "newest": self.conversation.journal.seq})

    def _broadcast(self, message: Json) -> None:
        for send in list(self._clients):
            send(message)

    # -------------------------------------------------------------------------------------- messages of a client

    def receive(self, message: Json, send: Send, client: str, *, allowed: bool = True) -> None:
        """Do what a client asks; what cannot be done is answered with a `problem`. Returns at once.

        A client numbers its messages upwards and sends a message again until `taken` has come back: each is done once.
        """
        number = message.get("number")
        if isinstance(number, int):
            send({"type": "taken", "number": number})
            if number <= self._taken.get(client, 0):
                return
            self._taken[client] = number
        if not allowed:
            send(_problem("You may only look at this conversation: this server does not let you act in it.", message))
            return
        handler: Callable[[Live, Json], Coroutine[Any, Any, None]] | None = _HANDLERS.get(str(message.get("type")))
        if handler is None:
            send(_problem("This page and the server do not fit together. Reload the page."))
            return
        work = handler(self, {**message, "client": client})
        task = asyncio.ensure_future(self._guarded(work, message, send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None], message: Json, send: Send) -> None:
        try:
            await work
        except AgentError as error:
            send(_problem(error.message, message))
        except (KeyError, TypeError, ValueError):
            send(_problem("This page and the server do not fit together. Reload the page.", message))
        except Exception:
            self.log.exception("A message of a client failed")
            send(_problem("The agent failed at this. The server's log says why.", message))
        self._tell_status()

    async def _user(self, message: Json) -> None:
        text, attachments = str(message["text"]), _attachments(message.get("attachments") or [])
        if len(text) > LARGEST_TEXT:
            raise Refused(
                f"The message is too long ({len(text):,} characters). Put it into a file and mention that with @."
            )
        self.host.asked_from(str(message["client"]))
        withhold = Withhold(bool(message.get("no_outputs")), bool(message.get("no_variables")))
        self.conversation.keep_back(withhold)
        self._sending += 1
        stops = self._stops
        try:
            await self.connect()
            sending = asyncio.ensure_future(
                self.conversation.send(text, id=str(message["id"]), attachments=attachments)
            )
            if self._stops != stops:
                # Stop was pressed before the turn began: the message is kept, the turn ends as it begins.
                await asyncio.sleep(0)
                await self.conversation.stop()
            stop = await sending
        finally:
            self._sending -= 1
        if stop is not None:
            for sentence in await self.host.settle():
                self.conversation.publish(Note(level="info", text=sentence))
            self.conversation.save_state()

    async def _approval(self, message: Json) -> None:
        # The first answer wins; later ones find nothing (fault f55).
        waiting = self._approvals.pop(str(message["id"]), None)
        if waiting is not None and not waiting.done():
            decision = message["decision"]
            if decision not in ("once", "always", "reject"):
                raise ValueError(decision)
            waiting.set_result(
                Approval(
                    id=str(message["id"]),
                    digest=str(message["digest"]),
                    decision=decision,
                    reason=str(message.get("reason") or ""),
                )
            )

    async def _answer(self, message: Json) -> None:
        question = self._question
        if question is not None and question.id == message["id"] and not question.answer.done():
            question.answer.set_result(str(message["text"]))

    async def _stop(self, message: Json) -> None:
        self._stops += 1
        await self.conversation.stop()

    async def _mode(self, message: Json) -> None:
        if message["mode"] not in MODES:
            raise ValueError(message["mode"])
        self.conversation.gate.mode = message["mode"]

    async def _model(self, message: Json) -> None:
        if self.conversation.running:
            raise Refused("The model can be changed when the turn has ended.")
        self.model_name = str(message["model"])
        await self.disconnect()
        await self.connect()

    async def _undo(self, message: Json) -> None:
        turn = int(message["turn"])
        changed = {event.turn for event in self.conversation.events if event.type == "change"}
        turns = sorted((t for t in changed if t == turn or (t > turn and message.get("later"))), reverse=True)
        if not turns:
            raise Refused("There is nothing to take back from there on: nothing was changed.")
        await self._take_back(turns, None)

    async def _revert(self, message: Json) -> None:
        target, cell = str(message["target"]), str(message["cell"])

        def is_meant(item: Reversal) -> bool:
            return item.target == target and item.cell == cell

        await self._take_back([int(message["turn"])], is_meant)

    async def _take_back(self, turns: Sequence[int], only: Callable[[Reversal], bool] | None) -> None:
        if self.conversation.running:
            raise Refused("Changes can be taken back when the turn has ended. Stop it first.")
        for turn in turns:
            await undo_turn(self.conversation, turn, only=only)
        await self.host.settle()

    # ------------------------------------------------------------------------------------- asked by the conversation

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Wait for the first answer of any client; there is no limit to how long a person may think."""
        waiting: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        self._approvals[request.id] = waiting
        try:
            return await waiting
        finally:
            self._approvals.pop(request.id, None)

    async def ask(self, text: str, choices: Sequence[str]) -> str:
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._question = Question(uuid.uuid4().hex, text, choices, waiting)
        self._tell_status()
        try:
            return await waiting
        finally:
            self._question = None
            self._tell_status()

    # ----------------------------------------------------------------------------------------------------- model

    async def connect(self) -> None:
        """Find the model, once; without one the turn itself says how to connect one."""
        if self.conversation.model is not None:
            return
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._connect())
        await self._connecting

    async def _connect(self) -> None:
        try:
            await connect(self.conversation, model=self.model_name or None)
        except ModelError as error:
            self.conversation.no_model = error.message
            return
        model = self.conversation.model
        endpoint = getattr(model, "endpoint", None)
        self.model_name = self.model_name or str(getattr(endpoint, "model", ""))

    async def disconnect(self) -> None:
        model, self.conversation.model = self.conversation.model, None
        if model is not None:
            await model.close()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        with contextlib.suppress(Exception):
            await self.conversation.close()


_HANDLERS: Mapping[str, Callable[[Live, Json], Coroutine[Any, Any, None]]] = {
    "user": Live._user,
    "approval": Live._approval,
    "answer": Live._answer,
    "stop": Live._stop,
    "mode": Live._mode,
    "model": Live._model,
    "undo": Live._undo,
    "revert": Live._revert,
}


def _problem(text: str, message: Json | None = None) -> Json:
    known = {"id": message["id"]} if message is not None and message.get("type") == "user" and "id" in message else {}
    return {"type": "problem", "text": text, **known}


def _attachments(given: Any) -> list[Json]:
    """Only the forms that the journal and the model know. Raises ValueError, Refused."""
    kept: list[Json] = []
    for item in given:
        name, kind = str(item.get("name") or ""), str(item.get("kind") or "")
        if item["type"] == "text":
            kept.append(
                {"type": "text", "name": name, "kind": kind, "text": str(item.get("text") or "")[:LARGEST_TEXT]}
            )
        elif item["type"] == "image":
            if item["media_type"] not in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                raise Refused(f"{name} is not an image that models read (PNG, JPEG, GIF, WebP).")
            if len(item["data"]) > LARGEST_IMAGE:
                raise Refused(f"{name} is too large. Send a smaller image.")
            image = {"media_type": item["media_type"], "data": str(item["data"])}
            kept.append({"type": "image", "name": name, "kind": kind, **image})
        else:
            raise ValueError(item["type"])
    return kept
