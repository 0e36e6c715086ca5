"""The journal: a conversation's events as JSON lines, appended before anyone sees them; one writer by an OS lock.

Touches only its own folder. A torn last line is dropped with a sentence; damage elsewhere is set aside in a copy and
skipped, and the file itself is never overwritten (faults f51, f52).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import IO, Any

from jupyter_agent.errors import JournalError
from jupyter_agent.events import Delta, Event, from_json

FILE = "journal.jsonl"


@dataclass(frozen=True)
class Reading:
    """What a journal file holds. `warnings` are sentences about dropped or set-aside parts; `clean_end` is the byte
    offset behind the last whole line, from which a writer goes on."""

    events: tuple[Event, ...]
    warnings: tuple[str, ...]
    clean_end: int
    damaged: tuple[bytes, ...] = ()


def read_journal(path: Path) -> Reading:
    """All readable events in order. Raises JournalError("missing") when there is no such file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise JournalError(f"There is no conversation at {path.parent}.", kind="missing") from None
    return parse_journal(data)


def parse_journal(data: bytes) -> Reading:
    """Pure part of `read_journal`. Holes are allowed: seq numbers only ever grow."""
    events: list[Event] = []
    damaged: list[bytes] = []
    end = data.rfind(b"\n") + 1
    for line in data[:end].split(b"\n")[:-1]:
        event = _parse_line(line)
        if event is not None:
            events.append(event)
        elif line.strip(b"\0 \r"):
            damaged.append(line)
    warnings = []
    if tail := data[end:].strip(b"\0 \r"):
        warnings.append(f"The last entry was cut off ({len(tail)} bytes) when the program stopped; it is dropped.")
    if damaged:
        count = len(damaged)
        were = "1 damaged entry was" if count == 1 else f"{count} damaged entries were"
        warnings.append(f"{were} set aside; everything readable is kept.")
    return Reading(tuple(events), tuple(warnings), end, tuple(damaged))


def _parse_line(line: bytes) -> Event | None:
    try:
        # A NUL block left by a power cut may stand before a good entry on the same line.
        return from_json(json.loads(line.lstrip(b"\0")))
    except (ValueError, AttributeError):
        return None


class Journal:
    """The single writer of a conversation folder. Use as a context manager, or `close()`."""

    def __init__(self, folder: Path, file: IO[bytes], reading: Reading) -> None:
        self.folder = folder
        self._file = file
        self.events: list[Event] = list(reading.events)
        self.warnings = reading.warnings

    @classmethod
    def open(cls, folder: Path) -> Journal:
        """Open or create the journal in `folder` (mode 0700) for writing.

        Raises JournalError("locked") when another process writes it, JournalError("no_space") when it cannot be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (folder / FILE).open("ab")
        except OSError as error:
            raise JournalError(f"The conversation cannot be written: {error}.", kind="no_space") from None
        try:
            _lock(file)
            reading = read_journal(folder / FILE)
            _set_damage_aside(folder, reading)
            os.chmod(folder / FILE, 0o600)
            file.truncate(reading.clean_end)
        except BaseException:
            file.close()
            raise
        return cls(folder, file, reading)

    @property
    def seq(self) -> int:
        """`seq` of the last journalled event, 0 for none."""
        return self.events[-1].seq if self.events else 0

    @property
    def turn(self) -> int:
        return self.events[-1].turn if self.events else 0

    def append(self, event: Event, *, turn: int) -> Event:
        """Stamp and write the event; returns it as stamped. A delta is stamped but not written.

        A full disk raises nothing here: the conversation goes on in memory and `unwritten` says so (fault f9).
        """
        if isinstance(event, Delta):
            return with_fields(event, seq=self.seq, time=time.time(), turn=turn)
        event = with_fields(event, seq=self.seq + 1, time=time.time(), turn=turn)
        line = json.dumps(event.to_json(), ensure_ascii=False, separators=(",", ":"), default=str)
        self.events.append(event)
        self._write(line.encode("utf-8", "surrogatepass") + b"\n")
        return event

    unwritten: str | None = None
    """Why the journal could not be written, from the first failure on; None while all is well."""

    def _write(self, line: bytes) -> None:
        if self.unwritten is not None:
            return
        end = self._file.tell()
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self.unwritten = f"The conversation is no longer saved ({error}). It goes on in memory only."
            with contextlib.suppress(OSError):
                self._file.truncate(end)

    def sync(self) -> None:
        """Force what was appended onto the disk (before an effect that it describes)."""
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _lock(file: IO[bytes]) -> None:
    message = (
        "Another program is working in this conversation. End it there, or start a new conversation; reading it "
        "(`jupyter agent show`) is possible meanwhile."
    )
    try:
        if os.name == "nt":
            import msvcrt

            nt: Any = msvcrt
            nt.locking(file.fileno(), nt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise JournalError(message, kind="locked") from None


def _set_damage_aside(folder: Path, reading: Reading) -> None:
    if not reading.damaged:
        return
    damage = b"\n".join(reading.damaged) + b"\n"
    # Named by content: the damage stays in the journal, and opening it again must not pile up copies.
    aside = folder / f"journal.damaged-{hashlib.sha256(damage).hexdigest()[:12]}.jsonl"
    aside.write_bytes(damage)
    aside.chmod(0o600)


def conversation_folders(root: Path) -> Iterator[Path]:
    """Folders of all conversations, the most recently written first."""
    found = [path.parent for path in root.glob(f"*/{FILE}")]
    yield from sorted(found, key=lambda folder: (folder / FILE).stat().st_mtime, reverse=True)
