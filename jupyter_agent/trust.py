"""Rules files of a folder (AGENTS.md, CLAUDE.md) and the person's word that they may be followed.

Nothing from a folder is obeyed until it is trusted; trust is kept on the user's side and holds for exactly the content
that was trusted (fault f71). Touches one file in the user's data folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.workspace import Workspace

NAMES = ("AGENTS.md", "CLAUDE.md")
SIZE_LIMIT = 64 * 2**10


@dataclass(frozen=True)
class RulesFile:
    """`name` is relative to the root."""

    name: str
    text: str


def find_rules(workspace: Workspace, folder: Path) -> list[RulesFile]:
    """Rules files from the root down to `folder`, the nearest last (it is read last and so weighs most)."""
    root = workspace.root
    folders = [root]
    if folder.is_relative_to(root):
        for part in folder.relative_to(root).parts:
            folders.append(folders[-1] / part)
    found: dict[str, RulesFile] = {}
    for place in folders:
        for name in NAMES:
            with contextlib.suppress(WorkspaceRefused):
                content = workspace.read(place / name, SIZE_LIMIT)
                if not content.binary:
                    relative = workspace.relative(place / name)
                    found[relative] = RulesFile(relative, content.text)
    return list(found.values())


def fingerprint(rules: Sequence[RulesFile]) -> str:
    """SHA-256 over names and texts: what trust is given to."""
    whole = json.dumps([[file.name, file.text] for file in rules])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


class Trust:
    """Remembers trusted fingerprints per root in one JSON file, mode 0600."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def holds(self, root: Path, rules: Sequence[RulesFile]) -> bool:
        return self._read().get(str(root)) == fingerprint(rules)

    def give(self, root: Path, rules: Sequence[RulesFile]) -> None:
        """Remember that the person trusts exactly these rules. Raises OSError when it cannot be remembered."""
        known = self._read() | {str(root): fingerprint(rules)}
        temporary = self._file.with_suffix(".new")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(known, file)
        os.replace(temporary, self._file)

    def _read(self) -> dict[str, str]:
        try:
            known = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}
