"""Opening a conversation for a command: the root, the notebook, the model, the permissions."""

from __future__ import annotations

import fnmatch
import os
import time
import uuid
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_agent.conversation import Conversation, Settings, read_state
from jupyter_agent.errors import JournalError, UsageError
from jupyter_agent.host import LocalHost
from jupyter_agent.journal import Journal, conversation_folders
from jupyter_agent.permission import Asker, parse_rule
from jupyter_agent.storage import conversations_folder
from jupyter_agent.tools import all_tools

if TYPE_CHECKING:
    from jupyter_agent.budget import Budget


@dataclass(frozen=True)
class Place:
    """Where a command works: absolute real paths."""

    root: Path
    notebook: Path | None


def place_of_target(target: str) -> Place:
    """Root and notebook of `run NOTEBOOK|DIR`: a notebook's root is the present folder if inside, else its own."""
    path = Path(target)
    if path.is_dir():
        return Place(path.resolve(), None)
    return place_of_notebook(target, None)


def place_of_notebook(notebook: str | None, root: str | None) -> Place:
    """Root and notebook of `--notebook`, `--root`. Raises UsageError for what is not there."""
    base = Path(root).resolve() if root else None
    if base is not None and not base.is_dir():
        raise UsageError(f"{root} is not a folder.")
    if notebook is None:
        return Place(base or Path.cwd().resolve(), None)
    path = _existing_notebook(notebook, base)
    if base is None:
        here = Path.cwd().resolve()
        base = here if path.is_relative_to(here) else path.parent
    if not path.is_relative_to(base):
        raise UsageError(f"{notebook} is outside the root {base}. Choose a --root that holds it.")
    return Place(base, path)


def _existing_notebook(notebook: str, base: Path | None) -> Path:
    path = Path(notebook)
    if not path.exists() and base is not None and (base / path).exists():
        path = base / path
    if not path.exists():
        raise UsageError(
            f"There is no notebook {notebook}. Check the path, or create it with the tool create_notebook."
        )
    if path.is_dir():
        raise UsageError(f"{notebook} is a folder. Name a notebook (.ipynb).")
    if path.suffix != ".ipynb":
        raise UsageError(f"{notebook} is not a notebook (.ipynb). Give its folder to work on files.")
    return path.resolve()


def new_id() -> str:
    """A conversation id that sorts by time and is easily typed."""
    return time.strftime("%Y%m%d-%H%M%S-") + uuid.uuid4().hex[:4]


def open_journal(id: str | None, *, must_exist: bool) -> Journal:
    """The journal of conversation `id` (a prefix is enough), or of a new one. Raises JournalError, UsageError."""
    root = conversations_folder()
    if id is None:
        return Journal.open(root / new_id())
    if not id or any(c in id for c in "/\\\0") or id in (".", ".."):
        raise UsageError(f"{id!r} is not a conversation's id. `jupyter agent conversations` lists them.")
    folder = find_folder(id) if must_exist else root / id
    return Journal.open(folder)


def find_folder(id: str | None) -> Path:
    """The folder of a conversation by id or unique prefix; None is the newest. Raises JournalError("missing")."""
    folders = list(conversation_folders(conversations_folder()))
    if id is None:
        if folders:
            return folders[0]
        raise JournalError("There are no conversations yet.", kind="missing")
    found = [folder for folder in folders if folder.name == id] or [f for f in folders if f.name.startswith(id)]
    if len(found) == 1:
        return found[0]
    several = ", ".join(folder.name for folder in found[:5])
    what = f"{id} could be any of {several}" if found else f"There is no conversation {id}"
    raise JournalError(f"{what}. `jupyter agent conversations` lists them.", kind="missing")


def settings_of(arguments: Namespace, place: Place, *, ledger: bool = True) -> Settings:
    """The conversation's settings from `--mode` and `--allow`. Raises UsageError for what is no rule or no tool."""
    answers = tuple(parse_rule(rule) for rule in arguments.allow)
    for rule in answers:
        if not any(fnmatch.fnmatchcase(name, rule.tool) for name in all_tools()):
            raise UsageError(f"--allow {rule}: there is no tool {rule.tool}. `jupyter agent tools --all` lists them.")
    return Settings(place.root, place.notebook, arguments.mode, answers=answers, ledger=ledger)


def open_conversation(
    journal: Journal,
    settings: Settings,
    budget: Budget,
    *,
    asker: Asker | None = None,
    connection_file: str | None = None,
) -> Conversation:
    """Everything wired together, still without a model."""
    file = Path(connection_file) if connection_file else None
    if file is not None and not file.is_file():
        raise UsageError(f"There is no connection file {connection_file}. `jupyter --runtime-dir` says where they are.")
    known = read_state(journal.folder).get("cell_ids", {})
    host = LocalHost(settings.root, connection_file=file, spill=journal.folder / "spill", known_ids=known)
    return Conversation(journal, settings, host, all_tools(), budget, asker=asker)


def is_interactive() -> bool:
    """Whether a person can answer: both ends are a terminal."""
    return os.isatty(0) and os.isatty(1)
