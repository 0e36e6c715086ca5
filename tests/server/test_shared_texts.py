"""Small changes of a shared document: splices in bytes, and orders that leave a person's cell where it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.notebook.cells import moved_ids
from jupyter_agent.server.order import moved
from jupyter_agent.server.splices import splices

TEXT = st.text(alphabet="ab\n é€😀", max_size=40)


def apply(before: str, after: str) -> str:
    data = before.encode()
    for splice in splices(before, after):
        data = data[: splice.start] + splice.text.encode() + data[splice.end :]
    return data.decode()


@given(TEXT, TEXT)
def test_splices_turn_one_text_into_the_other(before: str, after: str) -> None:
    assert apply(before, after) == after
    places = [splice.start for splice in splices(before, after)]
    assert places == sorted(places, reverse=True)


def test_only_what_differs_is_replaced() -> None:
    before = "été = 1\nx = 2\n😀 = 3\ny = 4"
    after = "été = 10\nx = 2\n😀 = 3\nz = 4"
    assert [(s.start, s.end, s.text) for s in splices(before, after)] == [(25, 26, "z"), (9, 9, "0")]


def test_a_long_text_is_spliced_in_its_middle_only() -> None:
    lines = [f"line {number}\n" for number in range(20_000)]
    changed = ["".join(lines), "".join([*lines[:9_000], "new\n", *lines[9_001:]])]
    (splice,) = splices(*changed)
    assert splice.end - splice.start <= len("line 9000")


ORDERS = st.lists(st.sampled_from("abcdefgh"), unique=True).flatmap(
    lambda ids: st.tuples(st.just(ids), st.permutations(ids), st.sets(st.sampled_from(ids)) if ids else st.just(set()))
)


@given(ORDERS)
def test_moving_the_others_gives_the_order(order: tuple[list[str], list[str], set[str]]) -> None:
    before, after, stay = order
    out = moved(before, after, stay)
    staying = [cell for cell in before if cell not in out]
    assert staying == [cell for cell in after if cell not in out]
    if len(stay) == 1:
        assert not stay & set(out), "one cell can always stay"
    if not stay:
        assert len(out) == len(moved_ids(before, after))
