"""Repair of duplicate cell ids (fault n33): only when asked for, as an effect of its own, changing nothing but ids."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from jupyter_agent.atomic import replace_file
from jupyter_agent.effect import Change, Effect, unified_diff
from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import is_valid_id, new_id
from jupyter_agent.notebook.file import Guard, read_bytes
from jupyter_agent.notebook.ipynb import Ipynb, members, parse


def repair_ids(
    path: str | os.PathLike[str],
    *,
    guard: Guard | None = None,
    root: str | os.PathLike[str] | None = None,
    make_id: Callable[[set[str]], str] = new_id,
) -> Effect[dict[int, str]]:
    """The effect that gives every cell whose id is taken by an earlier cell, missing or invalid a fresh id.

    Its outcome maps the index of each such cell to its new id. Raises NotebookRefused: `op` when all ids are well, and
    what reading a notebook raises.
    """
    target = os.path.realpath(path)
    data, _ = read_bytes(target)
    file = parse(data, target, check_ids=False)
    if file.minor < 5:
        raise NotebookRefused("op", f"{target} is of nbformat 4.{file.minor}, which has no cell ids to repair.")
    fresh = _fresh_ids([cell.get("id") for cell in file.raw], make_id)
    if not fresh:
        raise NotebookRefused("op", f"the cell ids of {target} are all in order. Nothing needs repair.")
    text = _with_ids(file, fresh)
    before, written = hashlib.sha256(data).hexdigest(), file.encoded(text)
    after = hashlib.sha256(written).hexdigest()
    lines = [f"cell #{index}: id {file.raw[index].get('id')!r} -> {made!r}" for index, made in fresh.items()]

    async def current() -> str:
        return hashlib.sha256(read_bytes(target)[0]).hexdigest()

    async def write() -> dict[int, str]:
        if guard is not None:
            await guard(target)
        replace_file(target, written, expected_sha256=before, inside=root)
        return fresh

    return Effect(
        kind="edit",
        target=target,
        title=f"Give {len(fresh)} cells of {os.path.basename(target)} new ids",
        preview="\n".join(lines),
        apply=write,
        before=before,
        payload=after,
        current=current,
        changes=(Change(target, "", before, after, unified_diff(file.text, text, target, context=0), data),),
        details={"path": target},
    )


def _fresh_ids(ids: Sequence[str | None], make_id: Callable[[set[str]], str]) -> dict[int, str]:
    taken = {cell_id for cell_id in ids if cell_id}
    seen: set[str] = set()
    fresh: dict[int, str] = {}
    for index, cell_id in enumerate(ids):
        if cell_id and cell_id not in seen and is_valid_id(cell_id):
            seen.add(cell_id)
            continue
        fresh[index] = make_id(taken)
        taken.add(fresh[index])
    return fresh


def _with_ids(file: Ipynb, fresh: dict[int, str]) -> str:
    parts: list[str] = []
    place = 0
    for index, made in fresh.items():
        start, _ = file.spans[index]
        found, _ = members(file.text, start)
        ids = [(a, b) for key, a, b, _ in found if key == "id"]
        if ids:
            parts += [file.text[place : ids[-1][0]], f'"{made}"']
            place = ids[-1][1]
        else:
            # Before the first member, in front of whatever blanks stand there: they serve the next member too.
            gap = file.text[start + 1 : file.text.index('"', start + 1)]
            parts += [file.text[place : start + 1], f'{gap}"id": "{made}",']
            place = start + 1
    return "".join(parts) + file.text[place:]
