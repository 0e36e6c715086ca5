"""Pairs the lines of REPLACE with the equal lines of SEARCH, in order. Pure, near linear (patience diff)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[int | None]:
    """For each item of `new` the index of the equal item of `old` it stands for, or None. Indices only rise."""
    paired: list[int | None] = [None] * len(new)
    pending = [(0, len(old), 0, len(new))]
    while pending:
        old_start, old_end, new_start, new_end = pending.pop()
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            paired[new_start] = old_start
            old_start, new_start = old_start + 1, new_start + 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
            paired[new_end] = old_end
        anchors = _unique_common(old, new, (old_start, old_end, new_start, new_end))
        if not anchors:
            continue
        for left, right in zip([(old_start - 1, new_start - 1), *anchors], [*anchors, (old_end, new_end)], strict=True):
            if right != (old_end, new_end):
                paired[right[1]] = right[0]
            pending.append((left[0] + 1, right[0], left[1] + 1, right[1]))
    return paired


def _unique_common(
    old: Sequence[Hashable], new: Sequence[Hashable], bounds: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """The longest rising chain of items that occur once in both ranges, as (old index, new index)."""
    old_start, old_end, new_start, new_end = bounds
    if old_start == old_end or new_start == new_end:
        return []
    old_counts, new_counts = Counter(old[old_start:old_end]), Counter(new[new_start:new_end])
    place_in_new = {new[index]: index for index in range(new_start, new_end)}
    pairs = [
        (index, place_in_new[old[index]])
        for index in range(old_start, old_end)
        if old_counts[old[index]] == 1 and new_counts[old[index]] == 1
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers rise; the first ones rise already."""
    tails: list[int] = []
    tail_pairs: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        length = bisect_left(tails, value)
        before.append(tail_pairs[length - 1] if length else -1)
        tails[length : length + 1] = [value]
        tail_pairs[length : length + 1] = [number]
    chain = []
    number = tail_pairs[-1] if tail_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def replaced_pairs(paired: Sequence[int | None], old_length: int) -> Iterator[tuple[int, int]]:
    """(old index, new index) of lines changed one for one: in gaps that are equally long on both sides."""
    known = [(-1, -1), *((old, new) for new, old in enumerate(paired) if old is not None), (old_length, len(paired))]
    for (old_left, new_left), (old_right, new_right) in pairwise(known):
        if old_right - old_left == new_right - new_left:
            yield from zip(range(old_left + 1, old_right), range(new_left + 1, new_right), strict=True)
