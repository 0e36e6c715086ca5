"""Which cells to move to get from one order to another, when moving some would disturb a person. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jupyter_agent.notebook.cells import moved_ids


def moved(before: Sequence[str], after: Sequence[str], stay: Collection[str] = ()) -> list[str]:
    """The fewest ids whose relative place changes, in a way that moves those in `stay` only when they must be.

    Both sequences hold the same ids.
    """
    places = {cell: number for number, cell in enumerate(after)}
    fixed = _kept([cell for cell in before if cell in stay], after)
    kept = set(fixed)
    # Between two cells that stay, only those can stay too that are between them in both orders.
    starts = [-1, *(before.index(cell) for cell in fixed)]
    ends = [*(before.index(cell) for cell in fixed), len(before)]
    for start, end in zip(starts, ends, strict=True):
        low = places[before[start]] if start >= 0 else -1
        high = places[before[end]] if end < len(before) else len(after)
        kept.update(_kept([cell for cell in before[start + 1 : end] if low < places[cell] < high], after))
    return [cell for cell in after if cell not in kept]


def _kept(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The most ids of `before` that are in the order of `after` already."""
    wanted = set(before)
    out = set(moved_ids(before, [cell for cell in after if cell in wanted]))
    return [cell for cell in before if cell not in out]
