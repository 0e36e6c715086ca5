"""f52: a torn or damaged journal costs only what was damaged, and is never overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from journals import write

from jupyter_agent.events import Note
from jupyter_agent.journal import FILE, Journal, parse_journal, read_journal


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
