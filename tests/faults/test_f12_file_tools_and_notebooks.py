"""f12: tools that edit text never touch a notebook file; they name the tool that does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conversations import notebook_file

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tools import all_tools

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("edit_file", {"blocks": [{"search": '"nbformat": 4,', "replace": '"nbformat": 5,'}]}),
    ("edit_file", {"old_string": "x = 1", "new_string": 'x = "1"', "replace_all": True}),
    ("write_file", {"content": "x = 1\n", "percentage_to_change": 100}),
    ("write_file", {"content": ""}),
    ("read_file", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.parametrize("name", ["n.ipynb", "N.IPYNB", "link.txt"])
async def test_f12_refused_and_named(tmp_path: Path, tool: str, arguments: dict[str, Any], name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = notebook_file(root / ("n.ipynb" if name == "link.txt" else name), "x = 1")
    if name == "link.txt":
        (root / name).symlink_to("n.ipynb")
    before = path.read_bytes()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        result = await call(conversation, tool, path=name, **arguments)
    assert result.details["refused"]["kind"] == "notebook"
    assert "_cells" in text_of(result)
    assert path.read_bytes() == before
