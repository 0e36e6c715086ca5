"""What a refusal tells: which block, why, every place, the closest lines with their numbers as they are now."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import EditRefused, Place, edit_bytes

TEXT = b"".join(b"line_%d = %d\n" % (number, number) for number in range(1, 41))


def refusal(data: bytes, *blocks: tuple[str, str], **arguments: object) -> EditRefused:
    with pytest.raises(EditRefused) as caught:
        edit_bytes(data, blocks, **arguments)  # type: ignore[arg-type]
    return caught.value


def test_closest_region_has_ten_numbered_lines_around() -> None:
    refused = refusal(TEXT, ("line_20 = 20\nline_21 = 99", "x = 1"))
    assert refused.kind == "not_found"
    lines = refused.closest.split("\n")
    assert lines[0] == "    10\tline_10 = 10"
    assert lines[-1] == "    31\tline_31 = 31"
    assert refused.closest in refused.message


def test_every_ambiguous_place_is_listed() -> None:
    refused = refusal(b"a\nx\nb\nx\nx\n", ("x", "y"))
    assert refused.kind == "ambiguous"
    assert refused.places == (Place(2, 2), Place(4, 4), Place(5, 5))
    assert "line 2, line 4, line 5" in refused.message


def test_thousands_of_places_are_listed_and_only_some_are_written_out() -> None:
    refused = refusal(b"pad = 0\n" * 2000, ("pad = 0", "x"))
    assert len(refused.places) == 2000
    assert len(refused.message) < 1000


def test_all_failing_blocks_are_named_and_none_is_applied() -> None:
    refused = refusal(TEXT, ("line_1 = 1", "x"), ("absent", "y"), ("line_2 = 2", "line_2 = 2"))
    assert "Block 2 of 3" in refused.message
    assert "Block 3 of 3" in refused.message
    assert "Block 1 of 3" not in refused.message
    assert "Nothing was changed" in refused.message


def test_a_block_that_needs_an_earlier_one_is_explained() -> None:
    assert "merge" in refusal(b"a = 1\nb\n", ("a = 1", "a = 2"), ("a = 2", "a = 3")).message


def test_overlapping_blocks_name_both_places() -> None:
    refused = refusal(TEXT, ("line_3 = 3\nline_4 = 4", "x"), ("line_4 = 4\nline_5 = 5", "y"))
    assert refused.kind == "overlap"
    assert refused.places == (Place(3, 4), Place(4, 5))


def test_undecodable_bytes_in_a_message_can_be_sent() -> None:
    refused = refusal(b"caf\xe9 = one_value\n", ("cafe = one_value", "x"))
    assert "caf\\xe9" in refused.message
    refused.message.encode()


@pytest.mark.parametrize("line", ["x" * 200_000, "é" * 200_000])
def test_very_long_lines_are_cut_in_messages(line: str) -> None:
    assert len(refusal(f"{line}\nlast = 1\n".encode(), ("last = 2\n" + line, "x")).message) < 1500


@pytest.mark.parametrize(
    ("replace", "data"),
    [("two\ntwo and a half", b"one\ntwo\ntwo and a half\n"), ("log(1)\ntwo", b"log(1)\ntwo\n")],
)
def test_an_insertion_that_is_there_already_is_not_made_twice(replace: str, data: bytes) -> None:
    refused = refusal(data, ("two", replace))
    assert refused.kind == "already_applied"


def test_a_wrapped_call_is_not_wrapped_twice() -> None:
    data = b"value = sorted(load(path))\n"
    assert refusal(data, ("load(path)", "sorted(load(path))")).kind == "already_applied"


def test_a_blank_line_may_be_added_next_to_a_blank_line() -> None:
    assert edit_bytes(b"a\n\nb\n", [("a", "a\n")]) == b"a\n\n\nb\n"


@pytest.mark.parametrize("count", [0, -1])
def test_impossible_counts(count: int) -> None:
    assert refusal(TEXT, ("line_1 = 1", "x"), expected_count=count).kind == "arguments"


def test_no_blocks() -> None:
    assert refusal(TEXT).kind == "arguments"


@pytest.mark.parametrize(("start", "end"), [(0, None), (5, 4), (41, None), (-3, 2)])
def test_impossible_windows(start: int, end: int | None) -> None:
    assert refusal(TEXT, ("line_1 = 1", "x"), start_line=start, end_line=end).kind == "window"


def test_a_match_outside_the_window_is_pointed_at() -> None:
    refused = refusal(TEXT, ("line_30 = 30", "x"), end_line=10)
    assert refused.kind == "not_found"
    assert "at line 30" in refused.message


def test_a_block_of_too_many_guesses_is_refused() -> None:
    data = "".join(f"say(“{number}”)\n" for number in range(40)).encode()
    search = "\n".join(f'say("{number}")' for number in range(40))
    assert refusal(data, (search, "pass")).kind == "tolerance"


def test_a_uniformly_moved_block_of_any_length_is_not() -> None:
    body = [f"    value_{number} = {number}" for number in range(3000)]
    search = "\n".join(line[4:] for line in body)
    data = ("def f():\n" + "\n".join(body) + "\n").encode()
    assert edit_bytes(data, [(search, search.replace("= 7\n", "= 8\n"))]) == data.replace(b" = 7\n", b" = 8\n")
