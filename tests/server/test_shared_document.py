"""People and the agent in one room: nobody's keys are lost, undo stays everybody's own, what is saved is said truly."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lab.harness import wait_for
from server.rtc import needs_collaboration

from jupyter_agent.errors import NotebookRefused, Stale
from jupyter_agent.notebook.document import Cell, Delete, EditSource, Insert, Move, Operation, SetType, Target
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.testing import effects
from jupyter_agent.testing.samples import code, write_notebook

if TYPE_CHECKING:
    from server.collaboration import CollaborationServer, Person

pytestmark = needs_collaboration
CELLS = [code("one", "x = 1\n# here"), code("two", "y = 2"), code("three", "z = 3")]


@pytest.fixture(scope="module")
def collaboration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollaborationServer]:
    from server.collaboration import collaborating

    with collaborating(tmp_path_factory.mktemp("server")) as server:
        yield server


class Room:
    """A notebook, a person in its room, and the agent's view of it."""

    def __init__(self, server: CollaborationServer, name: str, person: Person) -> None:
        self.server, self.name, self.person = server, name, person
        self.notebook: ServedNotebook = server.notebook(name)

    @property
    def path(self) -> Path:
        return self.server.root / self.name

    async def commit(self, *operations: Operation) -> None:
        await effects.commit(await self.notebook.edit(operations))

    def on_disk(self) -> list[str]:
        return ["".join(cell["source"]) for cell in json.loads(self.path.read_text())["cells"]]


@pytest_asyncio.fixture
async def room(collaboration: CollaborationServer, request: pytest.FixtureRequest) -> AsyncIterator[Room]:
    name = f"{request.node.name[:40].replace('[', '-').replace(']', '')}.ipynb"
    write_notebook(collaboration.root / name, CELLS)
    person = await collaboration.join(name)
    yield Room(collaboration, name, person)
    await person.leave()


async def test_without_a_room_the_file_is_edited(collaboration: CollaborationServer) -> None:
    write_notebook(collaboration.root / "closed.ipynb", CELLS)
    notebook = collaboration.notebook("closed.ipynb")
    await effects.commit(await notebook.edit([EditSource(Target("two"), (("y = 2", "y = 20"),))]))
    assert notebook.backend == "file"
    assert "y = 20" in (collaboration.root / "closed.ipynb").read_text()


async def test_where_jupyter_collaboration_failed_to_load_the_file_is_edited(tmp_path: Path) -> None:
    """Its part that knows notebooks by their ids keeps a database, which it may not be able to open."""
    from server.collaboration import collaborating

    broken = {"BaseFileIdManager": {"db_path": str(tmp_path / "nowhere" / "file_id.db")}}
    with collaborating(tmp_path, broken) as server:
        assert "jupyter_server_ydoc" in server.app.web_app.settings
        write_notebook(server.root / "a.ipynb", CELLS)
        notebook = server.notebook("a.ipynb")
        await effects.commit(await notebook.edit([EditSource(Target("two"), (("y = 2", "y = 20"),))]))
        assert notebook.backend == "file"
        assert "y = 20" in (server.root / "a.ipynb").read_text()


async def test_f18_a_notebook_opened_in_between_is_edited_in_its_room(collaboration: CollaborationServer) -> None:
    """And from the moment a room has it, the file is not written under it."""
    write_notebook(collaboration.root / "opened.ipynb", CELLS)
    notebook = collaboration.notebook("opened.ipynb")
    effect = effects.grant(await notebook.edit([EditSource(Target("two"), (("y = 2", "y = 20"),))]))
    person = await collaboration.join("opened.ipynb")
    person.type(1, "  # mine")
    await person.refresh()
    with pytest.raises(Stale, match="# mine"):
        await effect.commit()
    assert notebook.backend == "shared"
    await effects.commit(await notebook.edit([EditSource(Target("two"), (("y = 2  # mine", "y = 20  # mine"),))]))
    await person.refresh()
    assert person.sources()[1] == "y = 20  # mine"
    await person.leave()


async def test_f17_n21_typing_while_edits_arrive_loses_no_character(room: Room) -> None:
    """200 edits in the cell in which the person types, and in another; keys and edits come when they come."""
    chooser, typed, stale = random.Random(11), {0: "", 1: "  # "}, 0
    room.person.type(1, typed[1])
    await room.person.refresh()
    done = asyncio.Event()

    async def type_on() -> None:
        while not done.is_set() or len(typed[0]) + len(typed[1]) < 60:
            cell, key = chooser.choice([0, 0, 1]), chooser.choice("abcdefghij😀é")
            room.person.type(cell, key)
            typed[cell] += key
            await asyncio.sleep(chooser.random() * 0.03)

    typing = asyncio.ensure_future(type_on())
    for number in range(200):
        try:
            await room.commit(EditSource(Target("one"), (("x = 1", f"x = 1\n# agent {number}"),)))
        except Stale:
            stale += 1
    done.set()
    await typing
    await room.person.refresh()
    first, second, _ = room.person.sources()
    lines = first.split("\n")
    assert [line for line in lines if not line.startswith("# agent")] == ["x = 1", "# here" + typed[0]]
    assert second == "y = 2" + typed[1]
    assert sum(line.startswith("# agent") for line in lines) == 200 - stale > 0
    assert [cell.source for cell in await room.notebook.cells()] == [first, second, "z = 3"]
    await room.notebook.save()
    await asyncio.to_thread(wait_for, lambda: room.on_disk() == room.person.sources(), "disk equals the room")


async def test_a_change_is_one_small_update(room: Room) -> None:
    """n20: what others get is the splice, not the cell."""
    long = "\n".join(f"line_{number} = {number}" for number in range(2000))
    await room.commit(Insert("code", long, after="two", id="long"))
    await room.person.refresh()
    sizes: list[int] = []
    room.person.notebook.ydoc.observe(lambda event: sizes.append(len(event.update)))
    updates = room.person.updates
    await room.commit(EditSource(Target("long"), (("line_7 = 7", "line_7 = 70"), ("line_1900 = 1900", "last = 1900"))))
    await room.person.refresh()
    assert "line_7 = 70" in room.person.sources()[2]
    assert room.person.updates - updates <= 2
    assert sum(sizes) < 300


async def test_n17_undo_is_everybodys_own(room: Room) -> None:
    from pycrdt import UndoManager

    undo = UndoManager(scopes=[room.person.notebook.ycells], capture_timeout_millis=0)
    undo.include_origin("person")
    with room.person.notebook.ydoc.transaction(origin="person"):
        room.person.type(0, " typed")
    await room.person.refresh()
    await room.commit(EditSource(Target("one"), (("x = 1", "x = 100"),)))
    await room.person.refresh()
    assert room.person.sources()[0] == "x = 100\n# here typed"
    undo.undo()
    assert room.person.sources()[0] == "x = 100\n# here"
    assert not undo.undo(), "the agent's change is not the person's to undo by accident"


async def test_outputs_grow_and_are_trusted(room: Room) -> None:
    def text(value: str) -> dict[str, Any]:
        return {"output_type": "stream", "name": "stdout", "text": value}

    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}, "metadata": {"width": 640}}
    changes: list[Any] = []
    room.person.notebook.ycells.observe_deep(lambda events: changes.extend(list(event.path) for event in events))
    for outputs in ([text("a\n")], [text("a\nb\n")], [text("a\nb\nc\n"), picture]):
        await room.notebook.set_outputs("two", outputs, 3)
        await room.person.refresh()
        assert [dict(output) for output in room.person.cells()[1].outputs] == outputs
    cell = room.person.notebook.ycells[1]
    assert cell["metadata"]["trusted"] is True
    assert "trusted" not in (await room.notebook.cells())[1].metadata
    assert [1, "outputs", 0, "text"] in changes, "text is added, not drawn anew"
    assert not room.person.notebook.ycells[0]["metadata"].get("trusted"), "f78: nobody vouched for the others"
    # A display in JSON, numbers of both kinds: they come back as they were.
    numbers = {"output_type": "display_data", "data": {"application/json": {"a": [1, 2.5]}}, "metadata": {"w": 1}}
    await room.notebook.set_outputs("two", [numbers], 4)
    assert list((await room.notebook.cells())[1].outputs) == [numbers]
    await room.notebook.set_outputs("two", [text("\ud83d half")], 4)
    await room.person.refresh()
    assert room.person.cells()[1].outputs[0]["text"] == "\ufffd half"


async def test_the_cell_in_which_somebody_types_stays_where_it_is(room: Room) -> None:
    await room.notebook.cells()
    before = room.person.notebook.ycells[2]["source"]
    room.person.type(2, "0")
    await room.person.refresh()
    await room.commit(Move((Target("three"),), before="one"))
    before.insert(len(before), "0")
    await room.person.refresh()
    assert room.person.sources()[0] == "z = 300", "the others were moved around it, so a late key finds its cell"


async def test_a_cell_is_not_deleted_while_keys_are_coming(room: Room) -> None:
    """A key on its way when its cell is deleted would be lost: a pause is waited for, and what was typed counts."""
    for operation in (lambda target: Delete((target,)), lambda target: SetType(target, "markdown")):
        room.person.type(1, "1")
        await room.person.refresh()
        cell = (await room.notebook.cells())[1]
        committing = asyncio.ensure_future(room.commit(operation(Target("two", cell.hash))))
        await asyncio.sleep(0.05)
        room.person.type(1, "2")
        await room.person.refresh()
        with pytest.raises(Stale, match="12"):
            await committing
    assert room.person.sources()[1] == "y = 21212"


async def test_f16_a_doubled_document_is_left_alone(room: Room) -> None:
    """As a page of another history leaves it when it comes back: every cell twice."""
    ycells = room.person.notebook.ycells
    copies = [room.person.notebook.create_ycell({**cell.to_py()}) for cell in ycells]
    ycells.extend(copies)
    await room.person.refresh()
    with pytest.raises(NotebookRefused, match="all 3 cells are in it twice") as refused:
        await room.notebook.cells()
    assert refused.value.kind == "duplicate_ids"


async def test_save_writes_now_and_says_when_it_could_not(room: Room) -> None:
    await room.commit(EditSource(Target("two"), (("y = 2", "y = 22"),)))
    await room.notebook.save()
    assert room.on_disk()[1] == "y = 22"
    await room.commit(EditSource(Target("two"), (("y = 22", "y = 222"),)))
    stored = room.path.read_bytes()
    room.path.unlink()
    room.path.mkdir()
    try:
        with pytest.raises(NotebookRefused, match="could not save") as refused:
            await room.notebook.save()
    finally:
        room.path.rmdir()
        room.path.write_bytes(stored)
    assert refused.value.kind == "not_saved"
    assert (await room.notebook.cells())[1].source == "y = 222"


async def test_what_a_person_left_unsaved_stays_unsaved(room: Room) -> None:
    """A room saves by itself, unless everybody in it switched that off."""
    room.person.say(autosave=False)
    await room.person.refresh()
    room.person.type(2, "  # not yet")
    await room.person.refresh()
    await room.commit(EditSource(Target("one"), (("x = 1", "x = 5"),)))
    assert room.notebook.left_unsaved
    await room.notebook.save()
    assert room.on_disk()[0] == "x = 1\n# here"
    room.person.say(autosave=True)
    await room.person.refresh()
    await room.commit(EditSource(Target("one"), (("x = 5", "x = 6"),)))
    await room.notebook.save()
    assert room.on_disk() == ["x = 6\n# here", "y = 2", "z = 3  # not yet"]


async def test_n25_a_room_that_everybody_left_is_never_the_only_copy(room: Room) -> None:
    await room.notebook.cells()
    await room.person.leave()
    await room.commit(EditSource(Target("two"), (("y = 2", "y = 23"),)))
    assert room.notebook.backend == "shared"
    assert room.on_disk()[1] == "y = 23"


async def test_after_a_rename_the_room_is_found_by_its_new_name(room: Room) -> None:
    renamed = f"renamed-{os.getpid()}.ipynb"
    await asyncio.to_thread(room.server.request, "PATCH", f"api/contents/{room.name}", {"path": renamed})
    notebook = room.server.notebook(renamed)
    await effects.commit(await notebook.edit([EditSource(Target("two"), (("y = 2", "y = 24"),))]))
    await room.person.refresh()
    assert room.person.sources()[1] == "y = 24"
    assert notebook.backend == "shared"


async def test_cells_of_an_old_format_keep_ids_that_are_never_written(collaboration: CollaborationServer) -> None:
    path = write_notebook(collaboration.root / "old.ipynb", CELLS, minor=4)
    person = await collaboration.join("old.ipynb")
    notebook = collaboration.notebook("old.ipynb")
    ids = [cell.id for cell in await notebook.cells()]
    await effects.commit(await notebook.edit([Insert("code", "new", after=ids[0])]))
    assert [cell.id for cell in await notebook.cells()][::2] == ids[:1] + ids[1:2]
    await notebook.save()
    stored = json.loads(path.read_text())
    assert (stored["nbformat_minor"], ["id" in cell for cell in stored["cells"]]) == (4, [False] * 4)
    await person.leave()


async def test_a_large_notebook(collaboration: CollaborationServer) -> None:
    cells = [Cell(f"c{number}", number, "code", f"x = {number}") for number in range(5000)]
    write_notebook(collaboration.root / "large.ipynb", cells)
    person = await collaboration.join("large.ipynb")
    notebook = collaboration.notebook("large.ipynb")
    await effects.commit(await notebook.edit([EditSource(Target("c4000"), (("x = 4000", "x = 1"),))]))
    await person.refresh()
    assert person.sources()[4000] == "x = 1"
    await person.leave()
