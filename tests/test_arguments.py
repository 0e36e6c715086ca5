"""Schemas from signatures, and the repairs that have exactly one meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import pytest

from jupyter_agent.arguments import fit, schema_of
from jupyter_agent.errors import BadArguments


class Block(TypedDict):
    search: str
    replace: str


async def example(
    ctx: object,
    path: Annotated[str, "relative to the root"],
    blocks: list[Block] | None = None,
    cells: list[str] | Literal["all", "stale"] = "all",
    limit: int = 50,
    ratio: float = 1.0,
    deep: bool = False,
) -> str:
    return ""


SCHEMA = schema_of(example)


def fitted(**arguments: Any) -> dict[str, Any]:
    return fit("example", SCHEMA, {"path": "a.py", **arguments})


def test_schema_comes_from_the_signature() -> None:
    assert SCHEMA["required"] == ["path"]
    assert SCHEMA["properties"]["path"] == {"type": "string", "description": "relative to the root"}
    assert SCHEMA["properties"]["blocks"]["items"]["required"] == ["replace", "search"]
    assert SCHEMA["properties"]["cells"] == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"enum": ["all", "stale"]}]
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limit": "7"}, {"limit": 7}),
        ({"limit": 7.0}, {"limit": 7}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"deep": "True"}, {"deep": True}),
        ({"blocks": {"search": "a", "replace": "b"}}, {"blocks": [{"search": "a", "replace": "b"}]}),
        ({"blocks": '[{"search": "a", "replace": "b"}]'}, {"blocks": [{"search": "a", "replace": "b"}]}),
        ({"cells": "all"}, {"cells": "all"}),
        ({"cells": ["all"]}, {"cells": ["all"]}),
        ({"cells": "c1"}, {"cells": ["c1"]}),
        ({"cells": '["c1", "c2"]'}, {"cells": ["c1", "c2"]}),
        ({"limit": None}, {}),
        ({"path": ["a.py"]}, {}),
    ],
)
def test_unambiguous_shapes_are_repaired(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fitted(**given) == {"path": "a.py", **expected}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limit": "many"}, "limit must be an integer"),
        ({"limit": True}, "limit must be an integer"),
        ({"limit": 1.5}, "limit must be an integer"),
        ({"ratio": "nan"}, "ratio must be a number"),
        ({"pth": "b.py"}, "Did you mean 'path'?"),
        ({"blocks": [{"search": "a"}]}, "needs replace"),
        ({"path": ["a", "b"]}, "path must be a string"),
        ({"path": 3}, "path must be a string"),
        ({"cells": 3}, "cells must be"),
    ],
)
def test_ambiguous_shapes_are_refused_with_the_schema_s_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadArguments, match="example") as caught:
        fitted(**given)
    assert words in caught.value.message


def test_missing_argument_names_what_the_tool_takes() -> None:
    with pytest.raises(BadArguments, match=r"needs path\. It takes path: string, blocks: a list of objects\?"):
        fit("example", SCHEMA, {})


@pytest.mark.parametrize("given", ['{"path": "a.py"}', [{"path": "a.py"}]])
def test_wrapped_argument_objects_are_unwrapped(given: object) -> None:
    assert fit("example", SCHEMA, given) == {"path": "a.py"}


@pytest.mark.parametrize("given", ["a.py", ["a.py"], 3])
def test_anything_but_an_object_is_refused(given: object) -> None:
    with pytest.raises(BadArguments, match="takes an object"):
        fit("example", SCHEMA, given)
