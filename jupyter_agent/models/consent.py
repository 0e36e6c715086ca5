"""What the person agreed to about models, remembered in one file: local servers by address, notices by host.

Touches only that file (`jupyter_data_dir()/jupyter_agent/consent.json`, mode 0600).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_agent.atomic import replace_file
from jupyter_agent.errors import WorkspaceRefused

Json = dict[str, Any]


def default_path() -> Path:
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "jupyter_agent" / "consent.json"


class Consent:
    """Answers are remembered per address and owner: a server of another user at the same port is asked about anew.

    A damaged file counts as empty (nothing was agreed to) and is replaced at the next answer. Where the file cannot
    be written the answer holds for this object only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or default_path()
        self._unsaved: Json = {}

    def may_use(self, address: str, owner: str | None) -> bool:
        entry = self._read().get("servers", {}).get(address)
        return isinstance(entry, dict) and entry.get("owner") == owner

    def remember(self, address: str, owner: str | None) -> None:
        self._write("servers", address, {"owner": owner, "agreed": _now()})

    def forget(self, address: str) -> None:
        self._write("servers", address, None)

    def notice_due(self, host: str) -> bool:
        """Whether the person was not yet told what leaves the machine towards this host."""
        return host not in self._read().get("notices", {})

    def noticed(self, host: str) -> None:
        self._write("notices", host, _now())

    def _read(self) -> Json:
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            data = {}
        data = data if isinstance(data, dict) else {}
        sections = {key: value for key, value in data.items() if isinstance(value, dict)}
        return {**sections, **{key: {**sections.get(key, {}), **value} for key, value in self._unsaved.items()}}

    def _write(self, section: str, key: str, value: Any) -> None:
        data = self._read()
        data.setdefault(section, {})[key] = value
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, json.dumps(data, indent=1).encode(), expected_sha256=None, mode=0o600)
        except (OSError, WorkspaceRefused):
            self._unsaved.setdefault(section, {})[key] = value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
