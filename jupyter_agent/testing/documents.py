"""The conformance suite of document backends: subclass `DocumentConformance` in a test module and supply `backend`.

Needs pytest and pytest-asyncio (`asyncio_mode = "auto"`). Everything is checked through the `Notebook` protocol and
against the stored document as an independent reader sees it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest

from jupyter_agent.errors import EditRefused, NotebookRefused, NotGranted, Stale
from jupyter_agent.notebook.document import (
    Cell,
    ClearOutputs,
    Delete,
    EditOutcome,
    EditSource,
    Insert,
    Merge,
    Move,
    Notebook,
    Operation,
    Output,
    ReplaceSource,
    Restore,
    SetTags,
    SetType,
    Split,
    Target,
)
from jupyter_agent.testing import effects
from jupyter_agent.testing.effects import grant
from jupyter_agent.testing.samples import Backend, ids, sample, target


async def commit(notebook: Notebook, *operations: Operation) -> EditOutcome:
    """Describe, grant and commit one transaction."""
    return await effects.commit(await notebook.edit(operations))


class DocumentConformance:
    """Subclass it and define an async or plain fixture `backend` that returns a `Backend`."""

    @pytest.fixture
    async def notebook(self, backend: Backend) -> Any:
        notebook = await backend.open(sample())
        yield notebook
        await notebook.close()

    async def by_id(self, backend: Backend, cell_id: str) -> Cell:
        return next(cell for cell in await backend.stored() if cell.id == cell_id)

    # Reading

    async def test_cells_are_read_as_stored(self, notebook: Notebook) -> None:
        cells = await notebook.cells()
        expected = sample()
        assert [(c.id, c.index, c.type, c.source) for c in cells] == [
            (c.id, c.index, c.type, c.source) for c in expected
        ]
        assert list(cells[1].outputs) == list(expected[1].outputs)
        assert cells[1].execution_count == 7
        assert cells[0].tags == ("keep",)
        assert await notebook.cells() == cells

    async def test_what_others_change_is_read(self, notebook: Notebook, backend: Backend) -> None:
        await notebook.cells()
        await backend.change(lambda cells: [replace(cells[0], source="theirs"), *cells[1:]])
        assert (await notebook.cells())[0].source == "theirs"

    # Operations

    async def test_edit_changes_only_the_place(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(notebook, EditSource(Target("first"), (("print(x)", "print(x, 'x')"),)))
        cell = await self.by_id(backend, "first")
        assert cell.source == "x = 1\nprint(x, 'x')\nprint(x + 1)"
        assert (cell.type, len(cell.outputs), cell.execution_count) == ("code", 2, 7)
        assert outcome.changed == ("first",)

    async def test_edit_that_does_not_match_is_refused(self, notebook: Notebook, backend: Backend) -> None:
        with pytest.raises(EditRefused):
            await notebook.edit([EditSource(Target("first"), (("not there", "z"),))])
        assert [c.source for c in await backend.stored()] == [c.source for c in sample()]

    async def test_replace(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(notebook, ReplaceSource(target(sample(), "second"), "y = 2"))
        assert (await self.by_id(backend, "second")).source == "y = 2"
        assert next(c for c in outcome.cells if c.id == "second").source == "y = 2"

    async def test_insert_appends_without_a_place(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(notebook, Insert("code", "z = 3"))
        assert ids(await backend.stored()) == [*ids(sample()), outcome.created[0]]

    async def test_insert_after_and_before(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(
            notebook,
            Insert("code", "a", after="intro"),
            Insert("code", "b", after="intro"),
            Insert("markdown", "c", before="intro"),
        )
        sources = [c.source for c in await backend.stored()]
        assert sources[:4] == ["c", "# Title\n\nSome text.", "a", "b"]
        assert len(set(outcome.created)) == 3

    async def test_delete(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(notebook, Delete((target(sample(), "second"), target(sample(), "tail"))))
        assert ids(await backend.stored()) == ["intro", "first"]
        assert set(outcome.deleted) == {"second", "tail"}

    async def test_every_cell_may_be_deleted_by_name(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, Delete(tuple(Target(c.id, c.hash) for c in sample())))
        assert list(await backend.stored()) == []

    async def test_move_keeps_outputs_and_metadata(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, Move((Target("first"),), after="tail"))
        stored = await backend.stored()
        assert ids(stored) == ["intro", "second", "tail", "first"]
        moved, original = stored[3], sample()[1]
        assert list(moved.outputs) == list(original.outputs)
        assert (moved.execution_count, moved.metadata["collapsed"]) == (7, False)

    async def test_move_to_the_end_and_before(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, Move((Target("second"), Target("first")), before="intro"), Move((Target("intro"),)))
        assert ids(await backend.stored()) == ["second", "first", "tail", "intro"]

    async def test_split_and_merge(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(notebook, Split(target(sample(), "first"), (2, 3)))
        stored = await backend.stored()
        assert [c.source for c in stored][1:4] == ["x = 1", "print(x)", "print(x + 1)"]
        assert (stored[1].id, len(stored[1].outputs)) == ("first", 2)
        parts = tuple(Target(c.id, c.hash) for c in stored[1:4])
        assert {part.cell for part in parts[1:]} == set(outcome.created)
        await commit(notebook, Merge(parts))
        merged = await self.by_id(backend, "first")
        assert merged.source == "x = 1\n\nprint(x)\n\nprint(x + 1)"
        assert (len(merged.outputs), merged.execution_count) == (0, None)
        assert ids(await backend.stored()) == ids(sample())

    async def test_set_type_drops_outputs_of_what_is_no_code(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, SetType(target(sample(), "first"), "markdown"))
        cell = await self.by_id(backend, "first")
        assert (cell.type, len(cell.outputs), cell.execution_count) == ("markdown", 0, None)
        await commit(notebook, SetType(Target("first", cell.hash), "code"))
        assert (await self.by_id(backend, "first")).type == "code"

    async def test_clear_outputs(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, ClearOutputs((Target("first"), Target("second"))))
        cell = await self.by_id(backend, "first")
        assert (len(cell.outputs), cell.execution_count, cell.source) == (0, None, sample()[1].source)

    async def test_set_tags_keeps_other_metadata(self, notebook: Notebook, backend: Backend) -> None:
        await commit(notebook, SetTags(Target("first"), ("slow", "agent:never-rerun")), SetTags(Target("intro"), ()))
        cell = await self.by_id(backend, "first")
        assert cell.tags == ("slow", "agent:never-rerun")
        assert cell.metadata["collapsed"] is False
        assert (await self.by_id(backend, "intro")).tags == ()

    async def test_line_ends_are_normalised(self, notebook: Notebook, backend: Backend) -> None:
        outcome = await commit(
            notebook, Insert("code", "a\r\nb\rc"), ReplaceSource(target(sample(), "second"), "y = 1\r\nz = 2")
        )
        assert (await self.by_id(backend, outcome.created[0])).source == "a\nb\nc"
        assert (await self.by_id(backend, "second")).source == "y = 1\nz = 2"

    # Addressing and guards

    @pytest.mark.parametrize("name", ["1", "nowhere", "", "Intro"])
    async def test_unknown_id_is_an_error_and_never_an_index(
        self, notebook: Notebook, backend: Backend, name: str
    ) -> None:
        for operation in (
            EditSource(Target(name), (("a", "b"),)),
            Insert("code", "z", after=name),
            Delete((Target(name, "0" * 12),)),
            Move((Target("first"),), before=name),
            SetTags(Target(name), ("t",)),
        ):
            with pytest.raises(NotebookRefused) as refused:
                await notebook.edit([operation])
            assert refused.value.kind == "unknown_cell"
            assert "intro" in refused.value.message
        assert ids(await backend.stored()) == ids(sample())

    async def test_another_hash_is_refused_with_the_current_source(self, notebook: Notebook) -> None:
        for operation in (
            ReplaceSource(Target("second", "0" * 12), "gone"),
            Delete((Target("second", "0" * 12),)),
            SetType(Target("second", "0" * 12), "raw"),
            Merge((Target("first", sample()[1].hash), Target("second", "0" * 12))),
            EditSource(Target("second", "0" * 12), (("y", "z"),)),
        ):
            with pytest.raises(NotebookRefused) as refused:
                await notebook.edit([operation])
            assert refused.value.kind == "stale"
            assert refused.value.content == "y = x + 1"

    async def test_replacing_and_removing_need_the_hash(self, notebook: Notebook) -> None:
        bare = Target("second")
        for operation in (
            ReplaceSource(bare, "gone"),
            Delete((bare,)),
            Split(Target("first"), (2,)),
            Merge((Target("first"), bare)),
            SetType(bare, "raw"),
        ):
            with pytest.raises(NotebookRefused, match="expected_hash"):
                await notebook.edit([operation])

    async def test_all_or_nothing(self, notebook: Notebook, backend: Backend) -> None:
        with pytest.raises(NotebookRefused):
            await notebook.edit([Insert("code", "new"), ReplaceSource(Target("second", "0" * 12), "gone")])
        with pytest.raises(NotebookRefused, match="nothing was changed"):
            await notebook.edit([Insert("code", "new"), Merge((target(sample(), "first"), target(sample(), "tail")))])
        assert [c.source for c in await backend.stored()] == [c.source for c in sample()]

    @pytest.mark.parametrize(
        "operation",
        [
            Insert("code", "z", after="first", before="second"),
            Insert("heading", "z"),  # type: ignore[arg-type]
            Move((Target("first"),), after="first"),
            Move(()),
            SetTags(Target("first"), ("a,b",)),
            Split(Target("first", sample()[1].hash), (1,)),
            Split(Target("first", sample()[1].hash), (4,)),
            Split(Target("first", sample()[1].hash), (3, 2)),
            Merge((Target("first", sample()[1].hash),)),
            Merge((Target("second", sample()[2].hash), Target("first", sample()[1].hash))),
        ],
    )
    async def test_senseless_operations_are_refused(
        self, notebook: Notebook, backend: Backend, operation: Operation
    ) -> None:
        with pytest.raises(NotebookRefused) as refused:
            await notebook.edit([operation])
        assert refused.value.kind == "op"
        assert ids(await backend.stored()) == ids(sample())

    # Effects

    async def test_the_effect_shows_the_change(self, notebook: Notebook) -> None:
        effect = await notebook.edit(
            [ReplaceSource(target(sample(), "second"), "y = 2"), Delete((target(sample(), "tail"),))]
        )
        assert effect.kind == "edit"
        assert "-y = x + 1\n+y = 2\n" in effect.preview
        assert "delete raw cell tail" in effect.preview
        assert "-raw text\n" in effect.preview
        changes = {change.cell: change for change in effect.changes}
        assert changes["second"].before == sample()[2].hash
        assert changes["tail"].after == ""

    async def test_nothing_happens_before_the_grant(self, notebook: Notebook, backend: Backend) -> None:
        effect = await notebook.edit([Insert("code", "z")])
        with pytest.raises(NotGranted):
            await effect.commit()
        other = await notebook.edit([Insert("code", "another")])
        grant(other)
        assert other._grant is not None
        effect.granted(other._grant)
        with pytest.raises(NotGranted):
            await effect.commit()
        assert ids(await backend.stored()) == ids(sample())

    async def test_a_cell_changed_after_the_description_is_stale(self, notebook: Notebook, backend: Backend) -> None:
        effect = grant(await notebook.edit([ReplaceSource(target(sample(), "second"), "ours")]))
        await backend.change(lambda cells: [replace(c, source="the user's") if c.id == "second" else c for c in cells])
        with pytest.raises(Stale, match="the user's"):
            await effect.commit()
        assert (await self.by_id(backend, "second")).source == "the user's"

    async def test_a_deleted_anchor_is_stale(self, notebook: Notebook, backend: Backend) -> None:
        effect = grant(await notebook.edit([Insert("code", "ours", after="second")]))
        await backend.change(lambda cells: [c for c in cells if c.id != "second"])
        with pytest.raises(Stale):
            await effect.commit()
        assert ids(await backend.stored()) == ["intro", "first", "tail"]

    async def test_changes_to_other_cells_are_merged(self, notebook: Notebook, backend: Backend) -> None:
        effect = grant(
            await notebook.edit(
                [ReplaceSource(target(sample(), "second"), "ours"), Insert("code", "new", after="second")]
            )
        )

        def theirs(cells: list[Cell]) -> list[Cell]:
            changed = [replace(c, source="theirs") if c.id == "first" else c for c in cells if c.id != "tail"]
            return [Cell("top", 0, "markdown", "their new cell"), *changed]

        await backend.change(theirs)
        outcome = await effect.commit()
        stored = await backend.stored()
        assert [c.source for c in stored] == ["their new cell", "# Title\n\nSome text.", "theirs", "ours", "new"]
        assert [c.source for c in outcome.cells] == [c.source for c in stored]

    async def test_many_effects_described_together_all_land(self, backend: Backend) -> None:
        cells = [Cell(f"c{number}", number, "code", f"x = {number}") for number in range(50)]
        notebook = await backend.open(cells)
        effects = [
            grant(await notebook.edit([ReplaceSource(Target(cell.id, cell.hash), f"y = {cell.index}")]))
            for cell in cells
        ]
        await asyncio.gather(*(effect.commit() for effect in effects))
        assert [c.source for c in await backend.stored()] == [f"y = {number}" for number in range(50)]
        await notebook.close()

    async def test_pre_images_restore_everything(self, notebook: Notebook, backend: Backend) -> None:
        before = [replace(c, outputs=list(c.outputs)) for c in await backend.stored()]
        effect = await notebook.edit(
            [
                ReplaceSource(target(sample(), "second"), "ours"),
                SetType(target(sample(), "first"), "markdown"),
                Delete((target(sample(), "intro"),)),
                Move((Target("tail"),), before="first"),
                Insert("code", "new", after="second"),
            ]
        )
        # In any order: a cell goes behind its neighbour even where that one is put back later.
        changes = effect.changes[::-1]
        grant(effect)
        outcome = await effect.commit()
        operations: list[Operation] = [
            Delete(tuple(Target(c.id, c.hash) for c in outcome.cells if c.id in outcome.created))
        ]
        for change in changes:
            if change.pre_image is not None:
                state = json.loads(change.pre_image)
                operations.append(
                    Restore(change.cell, state["cell"], state["after"], change.after or None, state["moved"])
                )
        await commit(notebook, *operations)
        assert [replace(c, outputs=list(c.outputs)) for c in await backend.stored()] == before

    async def test_deleted_neighbours_are_restored_in_order(self, notebook: Notebook, backend: Backend) -> None:
        effect = await notebook.edit([Delete(tuple(target(sample(), name) for name in ("intro", "first", "second")))])
        await effects.commit(effect)
        operations: list[Operation] = []
        for change in reversed(effect.changes):
            assert change.pre_image is not None
            state = json.loads(change.pre_image)
            operations.append(Restore(change.cell, state["cell"], state["after"]))
        await commit(notebook, *operations)
        assert ids(await backend.stored()) == ids(sample())

    async def test_restore_refuses_what_changed_since(self, notebook: Notebook, backend: Backend) -> None:
        state: Output = {"cell_type": "code", "metadata": {}, "source": "old", "outputs": [], "execution_count": None}
        with pytest.raises(NotebookRefused) as refused:
            await notebook.edit([Restore("second", state, "first", "0" * 12)])
        assert refused.value.kind == "stale"
        await commit(notebook, Restore("second", state, "first", sample()[2].hash))
        assert (await self.by_id(backend, "second")).source == "old"

    # Outputs

    async def test_outputs_land_and_replace(self, notebook: Notebook, backend: Backend) -> None:
        for count in (1, 2):
            await notebook.set_outputs(
                "first",
                [{"output_type": "stream", "name": "stdout", "text": f"run {count}\n"}],
                count,
                timing={"iopub.execute_input": "2026-11-01T10:00:00Z"},
            )
        assert (await notebook.cells())[1].execution_count == 2
        await notebook.save()
        cell = await self.by_id(backend, "first")
        assert [output["text"] for output in cell.outputs] == ["run 2\n"]
        assert cell.execution_count == 2
        assert cell.metadata["execution"] == {"iopub.execute_input": "2026-11-01T10:00:00Z"}
        assert cell.source == sample()[1].source

    async def test_outputs_of_a_deleted_cell_are_dropped(self, notebook: Notebook, backend: Backend) -> None:
        await backend.change(lambda cells: [c for c in cells if c.id != "first"])
        await notebook.set_outputs("first", [{"output_type": "stream", "name": "stdout", "text": "late"}], 1)
        await notebook.save()
        assert ids(await backend.stored()) == ["intro", "second", "tail"]

    async def test_outputs_survive_an_edit_and_an_edit_survives_outputs(
        self, notebook: Notebook, backend: Backend
    ) -> None:
        effect = grant(await notebook.edit([ReplaceSource(target(sample(), "first"), "x = 2")]))
        await notebook.set_outputs("first", [{"output_type": "stream", "name": "stdout", "text": "ran\n"}], 8)
        await effect.commit()
        await notebook.save()
        cell = await self.by_id(backend, "first")
        assert (cell.source, cell.outputs[0]["text"], cell.execution_count) == ("x = 2", "ran\n", 8)

    async def test_a_flood_of_text_is_bounded_in_the_document(self, notebook: Notebook, backend: Backend) -> None:
        text = "".join(f"{number}\n" for number in range(300_000))
        await notebook.set_outputs("first", [{"output_type": "stream", "name": "stdout", "text": text}], 1)
        await notebook.save()
        stored = (await self.by_id(backend, "first")).outputs[0]["text"]
        assert len(stored) < 1_000_000
        assert stored.startswith("0\n1\n")
        assert stored.endswith("299999\n")
        assert "left out of the notebook" in stored

    # Watching

    async def test_watch_tells_others_changes_and_not_ours(self, notebook: Notebook, backend: Backend) -> None:
        watching = notebook.watch()
        await commit(notebook, ReplaceSource(target(sample(), "second"), "ours"))
        await backend.change(lambda cells: [replace(c, source="theirs") if c.id == "first" else c for c in cells])
        told = await asyncio.wait_for(anext(watching), 20)
        assert told.cells == ("first",)
        waiting = asyncio.ensure_future(anext(watching))
        await backend.change(lambda cells: [*cells[1:], cells[0]])
        assert "intro" in (await asyncio.wait_for(waiting, 20)).cells
        with contextlib.suppress(AttributeError):
            await watching.aclose()  # type: ignore[attr-defined]
