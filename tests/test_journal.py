"""The journal: what was written is read back, damage costs only what was damaged, one writer at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_agent.errors import JournalError
from jupyter_agent.events import Assistant, Delta, Event, Note, Stop, ToolFinished, ToolStart, User, from_json
from jupyter_agent.journal import FILE, Journal, parse_journal, read_journal


def some_events() -> list[Event]:
    return [
        User(id="u1", text="héllo\nworld"),
        Assistant(text="I look.", calls=[{"id": "t1", "name": "read_cells", "arguments": {}}]),
        ToolStart(call="t1", name="read_cells", arguments={}),
        ToolFinished(call="t1", name="read_cells", content=[{"type": "text", "text": "ok\udc80"}]),
        Stop(reason="done", verified="none", summary="Nothing was changed."),
    ]


def write(folder: Path) -> list[Event]:
    with Journal.open(folder) as journal:
        return [journal.append(event, turn=1) for event in some_events()]


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


def test_f52_a_torn_last_line_is_dropped_loudly_and_writing_goes_on(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-9])
    with Journal.open(tmp_path) as journal:
        assert [event.seq for event in journal.events] == [1, 2, 3, 4]
        assert "cut off" in journal.warnings[0]
        journal.append(Note(level="info", text="after"), turn=2)
    assert [event.type for event in read_journal(path).events][-2:] == ["tool_result", "note"]


@pytest.mark.parametrize(
    "damage", [b"\0" * 4096, b"{broken", b'{"type": "nonsense"}', b'{"type": "user"}', b"\xff\xfe"]
)
def test_f52_damage_in_the_middle_costs_only_itself_and_is_kept_aside(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path)
    path = tmp_path / FILE
    lines = path.read_bytes().split(b"\n")
    lines[2:2] = [damage]
    path.write_bytes(b"\n".join(lines))
    with Journal.open(tmp_path) as journal:
        assert [event.seq for event in journal.events] == [1, 2, 3, 4, 5]
    assert damage in path.read_bytes(), "the file itself is never overwritten"
    aside = list(tmp_path.glob("journal.damaged-*"))
    if damage.strip(b"\0"):
        assert [file.read_bytes().strip() for file in aside] == [damage]
        with Journal.open(tmp_path):
            assert list(tmp_path.glob("journal.damaged-*")) == aside


def test_f52_nul_block_in_front_of_a_good_entry(tmp_path: Path) -> None:
    write(tmp_path)
    data = (tmp_path / FILE).read_bytes()
    end = data.index(b"\n") + 1
    reading = parse_journal(data[:end] + b"\0" * 512 + data[end:])
    assert [event.seq for event in reading.events] == [1, 2, 3, 4, 5]


def test_f52_every_cut_is_readable(tmp_path: Path) -> None:
    written = write(tmp_path)
    data = (tmp_path / FILE).read_bytes()
    for cut in range(len(data) + 1):
        events = parse_journal(data[:cut]).events
        assert list(events) == written[: len(events)]
        assert len(events) == data[:cut].count(b"\n")


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from jupyter_agent.journal import Journal\n"
        "journal = Journal.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalError, match="Another program works") as caught:
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
