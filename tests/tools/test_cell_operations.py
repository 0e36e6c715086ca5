"""Forms of edit_cells' arguments that small models write: understood where they can mean one thing, else refused."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_agent.arguments import fit
from jupyter_agent.errors import BadArguments
from jupyter_agent.notebook.document import Delete, EditSource, Insert, Move, Operation, ReplaceSource, SetTags, Target
from jupyter_agent.tools.cell_operations import operations
from jupyter_agent.tools.cells import edit_cells


def understood(arguments: Any) -> list[Operation]:
    return operations(fit("edit_cells", edit_cells.schema, arguments, edit_cells.repair)["ops"])


EDIT = EditSource(Target("a"), (("x", "y"),))
REPLACE = ReplaceSource(Target("a", "h"), "new")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"ops": [{"op": "edit", "cell": "a", "blocks": [{"search": "x", "replace": "y"}]}]}, EDIT),
        ({"ops": {"op": "edit", "cell": "a", "blocks": {"search": "x", "replace": "y"}}}, EDIT),
        ({"ops": '[{"op": "edit", "cell": "a", "blocks": [["x", "y"]]}]'}, EDIT),
        ({"op": "edit", "cell": "a", "search": "x", "replace": "y"}, EDIT),
        ({"ops": [{"edit": {"cell_id": "a", "blocks": [{"old_string": "x", "new_string": "y"}]}}]}, EDIT),
        ({"ops": [{"cell": "a", "old_string": "x\n", "new_string": "y\n"}]}, EDIT),
        ({"ops": [{"cell": "a", "edits": [{"oldText": "x", "newText": "y"}]}]}, EDIT),
        ({"ops": [{"cell": "a", "search": "x\n", "replace": ""}]}, EditSource(Target("a"), (("x", ""),))),
        ({"operations": [{"cell": "id=a", "blocks": ["x", "y"]}]}, EDIT),
        ([{"ops": [{"op": "edit", "cell": ["a"], "blocks": [["x", "y"]]}]}], EDIT),
        ({"ops": [{"op": "replace", "cell": "a", "hash": "hash=h", "source": ["new"]}]}, REPLACE),
        ({"ops": [{"op": "REPLACE", "id": "a", "expected_hash": "h", "new_source": "new"}]}, REPLACE),
        ({"ops": [{"op": "replace", "cells": [{"id": "a", "expected_hash": "h"}], "content": "new"}]}, REPLACE),
        ({"ops": [{"op": "insert", "source": "s", "cell_type": "markdown"}]}, Insert("markdown", "s")),
        ({"ops": [{"type": "insert", "source": ["s\n", "t"], "after": "a"}]}, Insert("code", "s\nt", after="a")),
        ({"ops": [{"op": "delete", "cell": "a", "expected_hash": "h"}]}, Delete((Target("a", "h"),))),
        ({"ops": [{"op": "delete", "cells": {"a": "h", "b": "i"}}]}, Delete((Target("a", "h"), Target("b", "i")))),
        ({"ops": [{"op": "move", "cells": "a", "before": "b"}]}, Move((Target("a"),), before="b")),
        ({"ops": [{"op": "set_tags", "cell": "a", "tags": "slow"}]}, SetTags(Target("a"), ("slow",))),
    ],
)
def test_one_meaning_is_understood(arguments: Any, meant: Operation) -> None:
    assert understood(arguments) == [meant]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ops": []},
        {"ops": "replace everything"},
        {"ops": [{}]},
        {"ops": [{"op": "explode", "cell": "a"}]},
        {"ops": [{"op": "edit", "cell": "a"}]},
        {"ops": [{"op": "edit", "cell": "a", "search": "x"}]},
        {"ops": [{"op": "edit", "cell": "a", "blocks": [{"search": "x"}]}]},
        {"ops": [{"op": "replace", "cells": [{"id": "a"}, {"id": "b"}], "source": "x"}]},
        {"ops": [{"op": "insert", "source": "x", "index": 3}]},
        {"ops": [{"op": "insert", "source": "x", "cell": "a"}]},
        {"ops": [{"op": "delete", "cells": [{"expected_hash": "h"}]}]},
        {"ops": [{"op": "split", "cell": "a", "at": ["two"]}]},
        {"ops": [3]},
    ],
)
def test_what_could_mean_anything_is_refused(arguments: Any) -> None:
    with pytest.raises(BadArguments):
        understood(arguments)
