"""notebook_graph over a notebook file."""

from __future__ import annotations

from pathlib import Path

from conversations import conversation, notebook_file

from jupyter_agent.call import run_call
from jupyter_agent.tool import RESULT_LIMIT, ToolResult


async def graph(folder: Path, *sources: str, **arguments: str) -> ToolResult:
    notebook = notebook_file(folder / "a.ipynb", *sources)
    async with conversation(folder, notebook=notebook, ledger=False) as (made, _, _):
        return await run_call(made, "call", "notebook_graph", arguments)


async def test_text_and_details_say_what_depends_on_what(tmp_path: Path) -> None:
    result = await graph(tmp_path, "x = 1", "y = x + 1", "print(gone)")
    text = result.content[0]["text"]
    assert text.startswith("ok 3 code cells, 1 dependencies, 3 to rerun\n")
    assert "needs c1 for x" in text
    assert [edge["name"] for edge in result.details["edges"]] == ["x"]
    assert result.details["hidden"][0]["name"] == "gone"


async def test_mermaid(tmp_path: Path) -> None:
    result = await graph(tmp_path, "x = 1", "x", format="mermaid")
    assert "flowchart TD" in result.content[0]["text"]


async def test_a_large_graph_is_cut_and_can_be_paged(tmp_path: Path) -> None:
    sources = [f"name_{i} = {f'name_{i - 1}' if i else 0}" for i in range(400)]
    result = await graph(tmp_path, *sources)
    assert len(result.content[0]["text"].encode()) <= RESULT_LIMIT
    assert result.details["handle"] in result.content[0]["text"]
