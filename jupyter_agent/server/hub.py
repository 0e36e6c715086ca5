"""All conversations of this server: opened when somebody looks, closed when nobody has for a while.

Lives on the agent's loop. Touches the conversations folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_agent.errors import JournalError, KernelError, ModelError, Refused, UsageError
from jupyter_agent.events import Assistant, ChangeMade, Event, Json, User
from jupyter_agent.journal import FILE, Journal, conversation_folders, read_journal
from jupyter_agent.permission import MODES, Mode
from jupyter_agent.server.documents import Documents
from jupyter_agent.server.following import Following
from jupyter_agent.server.host import ServerHost
from jupyter_agent.server.kernels import ServerKernels
from jupyter_agent.server.live import Live
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import Pages
from jupyter_agent.storage import conversations_folder
from jupyter_agent.summary import title_of

IDLE = 600.0
"""Seconds without a client after which an idle conversation is closed; it opens again in milliseconds."""
LISTED = 200
PLACE = "server.json"
"""What a conversation was opened with on a server: its notebook, what is kept back. Written beside the journal."""


@dataclass(frozen=True)
class Entry:
    """A conversation as the list shows it; `text` is what a search looks through."""

    id: str
    title: str
    notebook: str
    updated: float
    turns: int
    text: str

    def to_json(self, *, running: bool) -> Json:
        shown = {key: getattr(self, key) for key in ("id", "title", "notebook", "updated", "turns")}
        return {**shown, "running": running}


class Hub:
    """`root` is the server's root folder, an absolute real path."""

    def __init__(self, documents: Documents, pages: Pages, kernels: ServerKernels, log: Any) -> None:
        self.documents, self.root = documents, documents.root
        self.pages, self.kernels, self.log = pages, kernels, log
        self._live: dict[str, Live] = {}
        self._entries: dict[str, tuple[tuple[float, int], Entry]] = {}
        self._bridged: dict[Path, ServedNotebook] = {}
        self.following = Following(kernels, self.bridged)
        self._opening = asyncio.Lock()
        self._sweeper: asyncio.Task[None] | None = None

    # ----------------------------------------------------------------------------------------------- conversations

    async def create(self, *, notebook: str, mode: str, model: str) -> str:
        """A new conversation; its id. `notebook` is the contents manager's path, or ""."""
        conversation_id = time.strftime("%Y%m%d-%H%M%S-") + uuid.uuid4().hex[:4]
        if mode not in MODES:
            raise UsageError(f"{mode!r} is not a mode. Choose one of {', '.join(MODES)}.")
        await self._open(conversation_id, self._notebook_path(notebook), mode, model)
        return conversation_id

    async def open(self, conversation_id: str) -> Live:
        """The conversation, opened now if need be. Raises JournalError (missing, locked)."""
        live = self._live.get(conversation_id)
        if live is not None:
            return live
        folder = self._folder(conversation_id)
        notebook = self._notebook_path(str(_read_place(folder).get("notebook", "")))
        return await self._open(conversation_id, notebook, "review", "")

    async def entry(self, conversation_id: str) -> Json:
        folder = self._folder(conversation_id)
        entry = await asyncio.to_thread(self._entry, folder)
        return entry.to_json(running=self._is_running(conversation_id))

    async def entries(self, query: str) -> list[Json]:
        """The newest first; with a query, those that contain all its words."""
        words = query.lower().split()

        def look() -> list[Entry]:
            found: list[Entry] = []
            for folder in conversation_folders(conversations_folder()):
                entry = self._entry(folder)
                if entry.turns and all(word in entry.text for word in words):
                    found.append(entry)
                if len(found) == LISTED:
                    break
            return found

        return [entry.to_json(running=self._is_running(entry.id)) for entry in await asyncio.to_thread(look)]

    async def remove(self, conversation_id: str) -> None:
        """Delete a conversation with its pre-images. Raises Refused while it works."""
        folder = self._folder(conversation_id)
        if self._is_running(conversation_id):
            raise Refused("This conversation is working. Stop it before deleting it.")
        live = self._live.pop(conversation_id, None)
        if live is not None:
            await live.close()
        Journal.open(folder).close()
        await asyncio.to_thread(shutil.rmtree, folder)
        self._entries.pop(conversation_id, None)

    async def close(self) -> None:
        """End all turns and let go of everything."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for live in list(self._live.values()):
            await live.close()
        self._live.clear()
        await self.following.close()
        for notebook in self._bridged.values():
            with contextlib.suppress(Refused, OSError):
                await notebook.close()
        self._bridged.clear()

    # ---------------------------------------------------------------------------------------------------- models

    async def models(self, *, accept: str = "") -> Json:
        """What the model picker shows; `accept`: the person agreed to the local server at this address."""
        from jupyter_agent.models.resolve import Offer, resolve

        offered: list[str] = []

        async def ask(offer: Offer) -> bool:
            if offer.server.address == accept:
                return True
            offered.append(offer.server.address)
            return False

        try:
            resolved = await resolve(ask=ask)
        except ModelError as error:
            offer = offered[0] if offered else ""
            return {"models": [], "current": "", "advice": error.message, "offer": offer}
        current = resolved.endpoint.model
        names = await _listed(resolved)
        entries = [{"id": name, "label": name} for name in dict.fromkeys([current, *names])]
        return {"models": entries, "current": current, "advice": "", "offer": ""}

    async def variables(self, notebook: str) -> list[Json]:
        """Names in the kernel of a notebook, for mentions; none where no kernel runs or it cannot answer now."""
        path = self._notebook_path(notebook)
        if path is None:
            return []
        host = ServerHost(self.documents, self.pages, self.kernels, conversations_folder())
        try:
            kernel = await host.kernel(await host.notebook(path))
            found = await kernel.variables()
        except (KernelError, Refused):
            return []
        finally:
            await host.close()
        return [{"name": item.name, "type": item.type, "shape": item.shape} for item in found]

    def bridged(self, path: Path) -> ServedNotebook:
        """The document at a path for a kernel of this server."""
        if path not in self._bridged:
            self._bridged[path] = self.documents.open(path)
        return self._bridged[path]

    # ------------------------------------------------------------------------------------------------------ inside

    async def _open(self, conversation_id: str, notebook: Path | None, mode: Mode, model: str) -> Live:
        from jupyter_agent.budget import Budget
        from jupyter_agent.conversation import Conversation, Settings
        from jupyter_agent.tools import all_tools

        async with self._opening:
            if conversation_id in self._live:
                return self._live[conversation_id]
            journal = Journal.open(conversations_folder() / conversation_id)
            host = ServerHost(self.documents, self.pages, self.kernels, journal.folder / "spill")
            settings = Settings(self.root, notebook, mode)
            conversation = Conversation(journal, settings, host, all_tools(), Budget())
            live = Live(conversation, host, self.root, model, self.log)
            self._live[conversation_id] = live
            _write_place(journal.folder, {"notebook": host.name_of(notebook) if notebook else ""})
            if self._sweeper is None:
                self._sweeper = asyncio.ensure_future(self._sweep())
            return live

    async def _sweep(self) -> None:
        idle_since: dict[str, float] = {}
        while True:
            await asyncio.sleep(IDLE / 10)
            for conversation_id, live in list(self._live.items()):
                if live.busy:
                    idle_since.pop(conversation_id, None)
                elif time.monotonic() - idle_since.setdefault(conversation_id, time.monotonic()) > IDLE:
                    del self._live[conversation_id]
                    del idle_since[conversation_id]
                    await live.close()

    def _is_running(self, conversation_id: str) -> bool:
        live = self._live.get(conversation_id)
        return live is not None and live.conversation.running

    def _notebook_path(self, name: str) -> Path | None:
        """The real path of a contents manager's path. Raises UsageError outside of the root."""
        if not name:
            return None
        # A shared document's path carries its drive: "RTC:folder/name.ipynb".
        drive, separator, rest = name.partition(":")
        path = (self.root / (rest if separator and "/" not in drive else name).lstrip("/")).resolve()
        if not path.is_relative_to(self.root):
            raise UsageError(f"{name} is outside of this server's root.")
        return path if path.suffix == ".ipynb" else None

    def _folder(self, conversation_id: str) -> Path:
        """Raises JournalError("missing")."""
        folder = conversations_folder() / conversation_id
        is_name = Path(conversation_id).name == conversation_id and not conversation_id.startswith(".")
        if not conversation_id or not is_name or not (folder / FILE).is_file():
            raise JournalError("This conversation is not there any more.", kind="missing")
        return folder

    def _entry(self, folder: Path) -> Entry:
        """Read anew only when the journal grew."""
        stat = (folder / FILE).stat()
        state = (stat.st_mtime, stat.st_size)
        cached = self._entries.get(folder.name)
        if cached is not None and cached[0] == state:
            return cached[1]
        events = read_journal(folder / FILE).events
        entry = _entry_of(folder.name, events, str(_read_place(folder).get("notebook", "")), stat.st_mtime)
        self._entries[folder.name] = (state, entry)
        return entry


def _entry_of(conversation_id: str, events: tuple[Event, ...], notebook: str, modified: float) -> Entry:
    said = [event.text for event in events if isinstance(event, User | Assistant)]
    changed = next((event.target for event in events if isinstance(event, ChangeMade)), "")
    return Entry(
        id=conversation_id,
        title=title_of(events) if events else "",
        notebook=notebook or (changed if changed.endswith(".ipynb") else ""),
        updated=events[-1].time if events else modified,
        turns=sum(isinstance(event, User) for event in events),
        text="\n".join([*said, notebook]).lower()[:200_000],
    )


async def _listed(resolved: Any) -> list[str]:
    """Models the endpoint lists; none where it lists none in good time."""
    connected = resolved.connect()
    try:
        return list(await asyncio.wait_for(connected.models(), 10))
    except (ModelError, TimeoutError):
        return []
    finally:
        await connected.close()


def _read_place(folder: Path) -> Json:
    try:
        place = json.loads((folder / PLACE).read_bytes())
    except (OSError, ValueError):
        return {}
    return place if isinstance(place, dict) else {}


def _write_place(folder: Path, place: Json) -> None:
    with contextlib.suppress(OSError):
        (folder / PLACE).write_text(json.dumps(place))
