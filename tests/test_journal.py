"""The journal: what was written is read back, damage costs only what was damaged, one writer at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from journals import some_events, write

from jupyter_agent.errors import JournalError
from jupyter_agent.events import Delta, Note, User, from_json
from jupyter_agent.journal import FILE, Journal, read_journal


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written = write(tmp_path / "c")
    reading = read_journal(tmp_path / "c" / FILE)
    assert list(reading.events) == written
    assert [event.seq for event in written] == [1, 2, 3, 4, 5]
    assert reading.warnings == ()


def test_every_event_survives_json() -> None:
    for event in some_events():
        assert from_json(event.to_json()) == event


def test_deltas_are_stamped_but_not_written(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.append(User(id="u", text="x"), turn=1)
        assert journal.append(Delta(block="text", text="hi"), turn=1).seq == 1
    assert len(read_journal(tmp_path / FILE).events) == 1


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from jupyter_agent.journal import Journal\n"
        "journal = Journal.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalError, match="Another program is working") as caught:
            Journal.open(tmp_path)
        assert caught.value.kind == "locked"
        assert read_journal(tmp_path / FILE).events == ()
        other.kill()
    Journal.open(tmp_path).close()


def test_no_conversation_there(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="There is no conversation"):
        read_journal(tmp_path / FILE)


def test_folder_and_file_are_private(tmp_path: Path) -> None:
    write(tmp_path / "c")
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "c" / FILE).stat().st_mode & 0o777 == 0o600


def test_f9_a_full_disk_leaves_the_conversation_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(tmp_path)
    journal.append(User(id="u", text="x"), turn=1)

    class Full:
        """A file on a disk that takes half of a line."""

        def __init__(self, file: object) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            self.file.write(data[: len(data) // 2])  # type: ignore[attr-defined]
            self.file.flush()  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

    journal._file = Full(journal._file)  # type: ignore[assignment]
    journal.append(Note(level="info", text="lost on disk"), turn=1)
    assert journal.unwritten is not None
    assert "No space left" in journal.unwritten
    assert [event.type for event in journal.events] == ["user", "note"]
    journal.close()
    assert [event.type for event in read_journal(tmp_path / FILE).events] == ["user"]
