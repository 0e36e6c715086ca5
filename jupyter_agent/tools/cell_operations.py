"""The `ops` of edit_cells: their schema, the forms that models write by mistake, and what they become."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from jupyter_agent.edit.arguments import REPLACE_NAMES, SEARCH_NAMES, read_pair
from jupyter_agent.errors import BadArguments
from jupyter_agent.notebook.document import (
    ClearOutputs,
    Delete,
    EditSource,
    Insert,
    Merge,
    Move,
    Operation,
    ReplaceSource,
    SetTags,
    SetType,
    Split,
    Target,
)

Json = dict[str, Any]


class Block(TypedDict):
    search: str
    replace: str


class CellRef(TypedDict, total=False):
    id: str
    expected_hash: str


class Op(TypedDict, total=False):
    op: Literal[
        "edit", "replace", "insert", "delete", "move", "split", "merge", "set_type", "clear_outputs", "set_tags"
    ]
    cell: str
    expected_hash: str
    cells: list[CellRef]
    blocks: list[Block]
    source: str
    type: Literal["code", "markdown", "raw"]
    after: str
    before: str
    at: list[int]
    tags: list[str]


_MANY = ("delete", "move", "merge", "clear_outputs")
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "edit": ("cell", "blocks"),
    "replace": ("cell", "source"),
    "insert": ("source",),
    "delete": ("cells",),
    "move": ("cells",),
    "split": ("cell", "at"),
    "merge": ("cells",),
    "set_type": ("cell", "type"),
    "clear_outputs": ("cells",),
    "set_tags": ("cell", "tags"),
}
_TAKES: Mapping[str, tuple[str, ...]] = {
    **_NEEDS,
    "insert": ("type", "source", "after", "before"),
    "move": ("cells", "after", "before"),
}
_ALIASES = {
    "cell_id": "cell",
    "hash": "expected_hash",
    "operation": "op",
    "action": "op",
    "cell_type": "type",
    "new_source": "source",
    "content": "source",
    "code": "source",
    "cell_ids": "cells",
    "ids": "cells",
    "lines": "at",
    "line": "at",
    "edits": "blocks",
}
_OP_ALIASES = {"add": "insert", "append": "insert", "remove": "delete", "update": "replace", "set": "replace"}


def repair(arguments: Json) -> Json:
    """Other spellings of edit_cells' arguments, where they can mean one thing only."""
    fixed = dict(arguments)
    for other in ("operations", "edits"):
        if other in fixed and "ops" not in fixed:
            fixed["ops"] = fixed.pop(other)
    if "ops" not in fixed and ("op" in fixed or "blocks" in fixed):
        # One operation, written without the list around it.
        path = {"path": fixed.pop("path")} if "path" in fixed else {}
        fixed = {"ops": [fixed], **path}
    ops = _parsed(fixed.get("ops"))
    if isinstance(ops, dict):
        ops = [ops]
    if isinstance(ops, list):
        fixed["ops"] = [_repair_op(op) for op in ops]
    return fixed


def _repair_op(op: Any) -> Any:
    op = _parsed(op)
    if not isinstance(op, dict):
        return op
    if len(op) == 1 and isinstance(inner := next(iter(op.values())), dict) and next(iter(op)) in _NEEDS:
        # {"insert": {…}}
        op = {"op": next(iter(op)), **inner}
    fixed: Json = {}
    for key, value in op.items():
        name = _ALIASES.get(key, key)
        if name not in op or name == key:
            fixed[name] = value
    names = {*SEARCH_NAMES, *REPLACE_NAMES} & fixed.keys()
    if names.intersection(SEARCH_NAMES) and "blocks" not in fixed:
        fixed["blocks"] = [{name: fixed.pop(name) for name in names}]
    if "op" not in fixed and fixed.get("type") in _NEEDS:
        fixed["op"] = fixed.pop("type")
    if "op" not in fixed:
        fixed |= _implied(fixed)
    if isinstance(fixed.get("op"), str):
        fixed["op"] = _OP_ALIASES.get(fixed["op"].lower(), fixed["op"])
    if "id" in fixed and "cell" not in fixed:
        fixed["cell"] = fixed.pop("id")
    if "blocks" in fixed:
        fixed["blocks"] = _repair_blocks(_parsed(fixed["blocks"]))
    if isinstance(fixed.get("source"), list) and all(isinstance(line, str) for line in fixed["source"]):
        fixed["source"] = _joined(fixed["source"])
    for key in ("cell", "after", "before", "expected_hash"):
        fixed = {**fixed, key: bare(fixed[key])} if isinstance(fixed.get(key), str) else fixed
    return _repair_targets(fixed)


def bare(value: str) -> str:
    """An id or hash without the `id=` or `hash=` that stands before it in header lines."""
    return value.strip().removeprefix("id=").removeprefix("hash=")


def _implied(op: Json) -> Json:
    if "blocks" in op:
        return {"op": "edit"}
    if "source" in op:
        return {"op": "replace"} if "cell" in op or "id" in op else {"op": "insert"}
    return {}


def _repair_blocks(blocks: Any) -> Any:
    if isinstance(blocks, dict):
        blocks = [blocks]
    if not isinstance(blocks, list):
        return blocks
    if len(blocks) == 2 and all(isinstance(part, str) for part in blocks):
        blocks = [blocks]
    return [_repair_block(block) for block in blocks]


def _repair_block(block: Any) -> Any:
    if isinstance(block, dict):
        block = {{"old": "search", "new": "replace"}.get(key, key): value for key, value in block.items()}
    try:
        search, replace = read_pair(block)
    except BadArguments:
        return block  # as it is: the schema says what is wrong with it
    return {"search": search, "replace": replace}


def _repair_targets(op: Json) -> Json:
    cells = _parsed(op.get("cells"))
    expected = op.get("expected_hash")
    if cells is None and op.get("op") in _MANY and "cell" in op:
        cells = [{"id": op.pop("cell")}]
    elif "cell" in op and isinstance(op["cell"], dict):
        target = op.pop("cell")
        op["cell"] = target.get("id", target.get("cell"))
        op.setdefault("expected_hash", target.get("expected_hash", target.get("hash")))
    if isinstance(cells, str):
        cells = [cells]
    elif isinstance(cells, dict):
        pairs = cells.items()
        cells = [cells] if "id" in cells or "cell" in cells else [{"id": k, "expected_hash": v} for k, v in pairs]
    if not isinstance(cells, list):
        return op
    made = [_repair_ref(ref) for ref in cells]
    if len(made) == 1 and isinstance(made[0], dict):
        if expected is not None and op.get("op") in _MANY:
            made[0].setdefault("expected_hash", op.pop("expected_hash"))
        if op.get("op") not in _MANY and "cell" not in op:
            # A list of one where one cell is meant.
            op.pop("cells", None)
            return {**op, "cell": made[0].get("id"), **{k: v for k, v in made[0].items() if k != "id"}}
    return {**op, "cells": made}


def _repair_ref(ref: Any) -> Any:
    if isinstance(ref, str):
        parsed = _parsed(ref)
        ref = parsed if isinstance(parsed, dict) else {"id": ref}
    if isinstance(ref, dict):
        names = {"cell": "id", "cell_id": "id", "hash": "expected_hash"}
        ref = {names.get(key, key): value for key, value in ref.items()}
        return {key: bare(value) if isinstance(value, str) else value for key, value in ref.items()}
    return ref


def _parsed(value: Any) -> Any:
    """JSON in a string, where it is an object or a list."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _joined(lines: list[str]) -> str:
    """A source given as lines, with their line ends or without."""
    return "".join(lines) if any(line.endswith("\n") for line in lines) else "\n".join(lines)


def operations(ops: list[Op]) -> list[Operation]:
    """The operations. Raises BadArguments naming what an op lacks."""
    if not ops:
        raise BadArguments('edit_cells needs ops, for example [{"op": "insert", "type": "code", "source": "…"}].')
    return [_operation(op, number) for number, op in enumerate(ops, 1)]


def _operation(op: Op, number: int) -> Operation:
    name = op.get("op")
    if name is None:
        raise BadArguments(f"ops[{number - 1}] needs op, one of {', '.join(_NEEDS)}.")
    missing = [key for key in _NEEDS[name] if key not in op]
    if missing:
        raise BadArguments(f"ops[{number - 1}] ({name}) needs {' and '.join(missing)}.")
    senseless = [key for key in op if key not in (*_TAKES[name], "op", "expected_hash")]
    if senseless:
        takes = ", ".join(_TAKES[name])
        raise BadArguments(f"ops[{number - 1}] ({name}) takes {takes}; {', '.join(senseless)} has no meaning there.")
    target = Target(op.get("cell", ""), op.get("expected_hash"))
    targets = tuple(_target(ref, number) for ref in op.get("cells", []))
    after, before = op.get("after"), op.get("before")
    match name:
        case "edit":
            return EditSource(target, tuple((block["search"], block["replace"]) for block in op["blocks"]))
        case "replace":
            return ReplaceSource(target, op["source"])
        case "insert":
            return Insert(op.get("type", "code"), op["source"], after=after, before=before)
        case "delete":
            return Delete(targets)
        case "move":
            return Move(targets, after=after, before=before)
        case "split":
            return Split(target, tuple(op["at"]))
        case "merge":
            return Merge(targets)
        case "set_type":
            return SetType(target, op["type"])
        case "clear_outputs":
            return ClearOutputs(targets)
    return SetTags(target, tuple(op["tags"]))


def _target(ref: CellRef, number: int) -> Target:
    if "id" not in ref:
        raise BadArguments(f"ops[{number - 1}]: every one of cells needs an id.")
    return Target(ref["id"], ref.get("expected_hash"))
