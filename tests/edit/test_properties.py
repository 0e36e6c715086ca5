"""What holds for every text and every block: right or refused, other bytes identical, no other exception."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from jupyter_agent.edit import EditRefused, EditResult, Tier, edit, edit_text, parse_blocks

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Case:
    """A text, what is to be replaced in it, and what must come out."""

    text: str
    search: str
    replace: str
    expected: str


INDENTS = ("", "    ", "        ", "            ")


@st.composite
def edits(draw: st.DrawFn) -> Case:
    """A text of distinct lines, and one edit of some of them: lines changed, removed and added."""
    count = draw(st.integers(2, 12))
    levels = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    lines = [f"{INDENTS[level]}name_{number} = 'v{number}'" for number, level in enumerate(levels)]
    for number in draw(st.lists(st.integers(0, count - 2), max_size=2)):
        lines[number] = ""
    start = draw(st.integers(0, count - 1))
    stop = draw(st.integers(start + 1, min(start + 5, count)))
    taken = lines[start:stop]
    new: list[str] = []
    for number, line in enumerate(taken):
        action = draw(st.sampled_from(["keep", "change", "drop", "add"]))
        if action in ("keep", "add"):
            new.append(line)
        if action == "change" and line:
            new.append(line.replace("name_", "other_"))
        if action == "add":
            indent = re.match(" *", line)[0]  # type: ignore[index]
            new.append(f"{indent}added_{number} = 1")
    assume(new != [""])  # one blank line cannot be told from a deletion
    expected = [*lines[:start], *new, *lines[stop:]]
    end = draw(st.sampled_from(["", "\n"]))
    text, result = "\n".join(lines) + end, "\n".join(expected) + (end if expected else "")
    return Case(text, "\n".join(taken), "\n".join(new), result)


def moved(lines: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) if line.strip() else line for line in lines.split("\n"))


def numbers(case: Case) -> Case:
    first = case.text.split("\n").index(case.search.split("\n")[0]) + 1

    def number(lines: str) -> str:
        return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines.split("\n"), first)) if lines else lines

    return Case(case.text, number(case.search), number(case.replace), case.expected)


def whole(change: Callable[[str], str]) -> Callable[[Case], Case]:
    return lambda case: Case(case.text, moved(case.search, change), moved(case.replace, change), case.expected)


def in_text(change: Callable[[str], str]) -> Callable[[Case], Case]:
    return lambda case: Case(change(case.text), case.search, case.replace, change(case.expected))


def dedented(case: Case) -> Case:
    lines = [line for line in (case.search + "\n" + case.replace).split("\n") if line.strip()]
    common = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return whole(lambda line: line[common:])(case)


def escaped_newlines(case: Case) -> Case:
    assume("\n" in case.search)
    return Case(case.text, case.search.replace("\n", "\\n"), case.replace.replace("\n", "\\n"), case.expected)


def blank_lines(before: str, after: str) -> Callable[[Case], Case]:
    def distort(case: Case) -> Case:
        assume(case.replace)
        return Case(case.text, before + case.search + after, before + case.replace + after, case.expected)

    return distort


def tabs_in_text(case: Case) -> Case:
    return in_text(lambda text: text.replace("    ", "\t"))(case)


DISTORTIONS: dict[str, Callable[[Case], Case]] = {
    "none": lambda case: case,
    "dedented": dedented,
    "indented by 3": whole(lambda line: "   " + line),
    "indented by a tab": whole(lambda line: "\t" + line),
    "trailing blanks in the block": whole(lambda line: line + "  "),
    "tabs in the text": tabs_in_text,
    "half the step": whole(lambda line: " " * ((len(line) - len(line.lstrip())) // 2) + line.lstrip()),
    "crlf text": in_text(lambda text: text.replace("\n", "\r\n")),
    "crlf block": lambda case: Case(
        case.text, case.search.replace("\n", "\r\n"), case.replace.replace("\n", "\r\n"), case.expected
    ),
    "line numbers": numbers,
    "curly quotes in the block": whole(lambda line: line.replace("'", "’")),
    "no-break spaces in the block": whole(lambda line: line.replace(" ", "\u00a0")),
    "escaped quotes": whole(lambda line: line.replace("'", "\\'")),
    "escaped newlines": escaped_newlines,
    "blank line before": blank_lines("\n", ""),
    "blank line after": blank_lines("", "\n"),
}


def run(text: str, search: str, replace: str) -> EditResult | EditRefused:
    try:
        return edit(text.encode(), [(search, replace)])
    except EditRefused as refused:
        return refused


@pytest.mark.parametrize("distortion", DISTORTIONS)
@given(case=edits())
@settings(relaxed, max_examples=60)
def test_a_distorted_block_is_applied_rightly_or_refused(distortion: str, case: Case) -> None:
    distorted = DISTORTIONS[distortion](case)
    result = run(distorted.text, distorted.search, distorted.replace)
    if isinstance(result, EditRefused):
        return
    assert result.data.decode() == distorted.expected


@given(case=edits())
@relaxed
def test_an_undistorted_block_of_distinct_lines_is_never_refused(case: Case) -> None:
    result = run(case.text, case.search, case.replace)
    if isinstance(result, EditRefused):
        assert case.search == case.replace or not case.search.strip() or result.kind == "already_applied"
    else:
        assert result.data.decode() == case.expected


@given(case=edits(), levels=st.integers(1, 3))
@relaxed
def test_a_uniformly_dedented_block_is_applied(case: Case, levels: int) -> None:
    """The commonest slip of all must not end in a refusal, unless it leaves several readings."""
    prefix = "    " * levels
    text, expected = moved(case.text, prefix.__add__), moved(case.expected, prefix.__add__)
    result = run(text, case.search, case.replace)
    if isinstance(result, EditRefused):
        readings = ("no_change", "empty_search", "indentation_unrepairable")
        assert result.kind in readings, result.message
    else:
        assert result.data.decode() == expected


ALPHABET = ["x", "  x", "x ", "y", "\ty", "", " ", "“x”", '"x"', "…", "...", "x = 'é'", "1\tx", "x\\ny", "x\r", "# ..."]
texts = st.builds(
    lambda lines, end: "".join(line + eol for line, eol in lines) + end,
    st.lists(st.tuples(st.sampled_from(ALPHABET), st.sampled_from(["\n", "\n", "\r\n"])), max_size=9),
    st.sampled_from(["", "x", "y "]),
)
few_lines = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=3).map("\n".join)


def options() -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "replace_all": st.booleans(),
            "expected_count": st.integers(1, 3),
            "start_line": st.integers(1, 4),
            "end_line": st.integers(1, 9),
            "filename": st.sampled_from(["a.py", "a.md"]),
        },
    )


def attempt(data: bytes, blocks: list[tuple[str, str]], **arguments: object) -> EditResult | str:
    try:
        return edit(data, blocks, **arguments)  # type: ignore[arg-type]
    except EditRefused as refused:
        refused.message.encode()
        return f"{refused.kind}: {refused.message}"


@given(data=st.one_of(texts.map(str.encode), st.binary(max_size=60)),
       blocks=st.lists(st.tuples(few_lines, few_lines | st.just("")), min_size=1, max_size=3),
       arguments=options())  # fmt: skip
@settings(relaxed, max_examples=500)
def test_bytes_outside_the_hunks_stay_and_runs_agree(
    data: bytes, blocks: list[tuple[str, str]], arguments: dict[str, object]
) -> None:
    result = attempt(data, blocks, **arguments)
    assert result == attempt(data, blocks, **arguments)
    if isinstance(result, str):
        return
    assert result.data != data
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    assert outside(data, [(hunk.start_line, hunk.end_line) for hunk in result.hunks]) == outside(
        result.data, [(hunk.new_start_line, hunk.new_end_line) for hunk in result.hunks]
    )


def outside(data: bytes, ranges: list[tuple[int, int]]) -> list[bytes]:
    """The lines outside the 1-based inclusive ranges; the newline at the very end is told apart, not compared."""
    lines = data.split(b"\n")
    inside = {number for first, last in ranges for number in range(first, last + 1)}
    kept = [line for number, line in enumerate(lines, 1) if number not in inside]
    if kept and not kept[-1].rstrip(b"\r"):
        kept.pop()
    return [*kept[:-1], *(line.rstrip(b"\r") for line in kept[-1:])]


@given(search=st.text(max_size=30), replace=st.text(max_size=30), data=st.binary(max_size=80))
@relaxed
def test_arbitrary_blocks_raise_nothing_but_a_refusal(search: str, replace: str, data: bytes) -> None:
    attempt(data, [(search, replace)])
    attempt(data + search.encode("utf-8", "replace") + b"\n" + data, [(search, replace)])


@given(text=st.text(max_size=200))
@relaxed
def test_arbitrary_marker_text_is_read_or_refused(text: str) -> None:
    with suppress(EditRefused):
        assert parse_blocks(text)


@given(blocks=st.lists(st.tuples(few_lines, few_lines), min_size=1, max_size=4), fence=st.integers(5, 12))
@relaxed
def test_marker_text_round_trips(blocks: list[tuple[str, str]], fence: int) -> None:
    text = "\n".join(
        f"{'<' * fence} SEARCH\n{search}\n{'=' * fence}\n{replace}\n{'>' * fence} REPLACE" for search, replace in blocks
    )
    expected = [(search.replace("\r", ""), replace.replace("\r", "")) for search, replace in blocks]
    assert parse_blocks(text) == expected


@given(case=edits())
@relaxed
def test_cell_source_is_edited_like_a_file(case: Case) -> None:
    result = run(case.text, case.search, case.replace)
    if isinstance(result, EditRefused):
        with pytest.raises(EditRefused, match=re.escape(result.message[:40])):
            edit_text(case.text, [(case.search, case.replace)])
    else:
        source, _ = edit_text(case.text.replace("\n", "\r\n"), [(case.search, case.replace)])
        assert source == case.expected


REPEATING = ["x", "  x", "x ", "y", "\ty", "", "  "]


def places(lines: list[str], search: list[str], key: Callable[[str], str]) -> list[int]:
    """Every place by comparing line by line: what the engine's searches must agree with."""
    wanted = [key(line) for line in search]
    return [
        start + 1
        for start in range(len(lines) - len(search) + 1)
        if [key(line) for line in lines[start : start + len(search)]] == wanted
    ]


TIERS: list[tuple[Tier, Callable[[str], str]]] = [
    (Tier.EXACT, lambda line: line),
    (Tier.TRAILING, lambda line: line.rstrip(" \t")),
    (Tier.INDENTATION, lambda line: line.strip(" \t")),
]


@given(
    lines=st.lists(st.sampled_from(REPEATING), min_size=1, max_size=10),
    search=st.lists(st.sampled_from(REPEATING), min_size=1, max_size=4),
    eol=st.sampled_from(["\n", "\r\n", "mixed"]),
    repeated=st.sampled_from([1, 1, 1, 900]),
)
@settings(relaxed, max_examples=600)
def test_the_first_tier_with_a_place_decides(lines: list[str], search: list[str], eol: str, repeated: int) -> None:
    """As a slow comparison of lines says: ambiguous where it is, else exactly that place. Long texts search by keys."""
    assume(any(line.strip() for line in search))
    lines = lines + ["pad"] * (repeated - 1) + lines * (repeated > 1)
    ends = ["\r\n" if eol == "\r\n" or (eol == "mixed" and number % 2) else "\n" for number in range(len(lines))]
    data = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    tier, found = next(((tier, at) for tier, key in TIERS if (at := places(lines, search, key))), (None, []))
    assume(tier is not None)
    result = run(data.decode(), "\n".join(search), "new = 1")
    if isinstance(result, EditResult):
        assert len(found) == 1
        assert result.hunks[0].tiers == (tier,)
        assert (result.hunks[0].start_line, result.hunks[0].end_line) == (found[0], found[0] + len(search) - 1)
    elif len(found) > 1:
        assert result.kind == "ambiguous"
        assert [place.start for place in result.places] == found
    else:
        assert result.kind == "indentation_unrepairable"
        assert tier is Tier.INDENTATION
