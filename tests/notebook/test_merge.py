"""The three-way merge: what each side did to different cells lands, nothing else changes, conflicts are named."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.notebook.cells import moved_ids, renumbered
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.merge import merge
from jupyter_agent.testing.samples import code, ids

BASE = renumbered([code(name, f"{name} = 1") for name in "abcdef"])

Change = tuple[str, str]
changes = st.lists(
    st.tuples(st.sampled_from(["edit", "delete", "insert", "top"]), st.sampled_from("abcdef")), max_size=4
)


def changed(cells: tuple[Cell, ...], steps: list[Change], who: str) -> tuple[Cell, ...]:
    made = list(cells)
    for number, (kind, name) in enumerate(steps):
        place = next((place for place, cell in enumerate(made) if cell.id == name), None)
        if place is None:
            continue
        if kind == "edit":
            made[place] = replace(made[place], source=f"{name} = '{who}'")
        elif kind == "delete":
            del made[place]
        elif kind == "insert":
            made.insert(place + 1, code(f"{who}{number}", f"new of {who}"))
        else:
            made.insert(0, made.pop(place))
    return renumbered(made)


@given(changes, changes)
def test_both_sides_land_or_a_conflict_is_named(ours: list[Change], theirs: list[Change]) -> None:
    mine, present = changed(BASE, ours, "ours"), changed(BASE, theirs, "theirs")
    merged = merge(BASE, mine, present)
    base, left, right = ({cell.id: cell.source for cell in cells} for cells in (BASE, mine, present))
    both = {
        name
        for name in base
        if left.get(name) != base[name] and right.get(name) != base[name] and left.get(name) != right.get(name)
    }
    assert {conflict.cell for conflict in merged.conflicts} == both
    if both:
        return
    result = {cell.id: cell.source for cell in merged.cells}
    assert len(result) == len(merged.cells)
    for name in base:
        expected = left.get(name) if left.get(name) != base[name] else right.get(name)
        assert result.get(name) == expected
    assert {name for name in result if name not in base} == (set(left) | set(right)) - set(base)
    assert [cell.index for cell in merged.cells] == list(range(len(merged.cells)))


@given(changes)
def test_one_side_alone_is_taken_as_it_is(steps: list[Change]) -> None:
    other = changed(BASE, steps, "x")
    assert merge(BASE, other, BASE).cells == other
    assert merge(BASE, BASE, other).cells == other
    assert merge(BASE, other, other).cells == other


def test_outputs_of_theirs_are_newer_and_our_text_is_kept() -> None:
    ran = renumbered([replace(cell, execution_count=5) if cell.id == "a" else cell for cell in BASE])
    edited = changed(BASE, [("edit", "a")], "ours")
    first = merge(BASE, edited, ran).cells[0]
    assert (first.source, first.execution_count) == ("a = 'ours'", 5)


@given(st.permutations("abcdefgh"))
def test_the_fewest_ids_are_said_to_have_moved(order: list[str]) -> None:
    moved = set(moved_ids("abcdefgh", order))
    stayed = [name for name in order if name not in moved]
    assert stayed == sorted(stayed)
    if len(moved) == 1:
        assert list("abcdefgh") != order


def test_our_move_and_their_insert_are_kept() -> None:
    ours = changed(BASE, [("top", "f")], "ours")
    theirs = changed(BASE, [("insert", "b")], "theirs")
    assert ids(merge(BASE, ours, theirs).cells) == ["f", "a", "b", "theirs0", "c", "d", "e"]
