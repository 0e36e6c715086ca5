"""n7: the outline comes first and holds no outputs; they are read on demand and in pages."""

from __future__ import annotations

import json
from pathlib import Path

from conversations import code_cell, conversation, notebook_file

from jupyter_agent.call import new_call_id, run_call


async def test_n07_the_outline_of_a_notebook_full_of_outputs_is_small(tmp_path: Path) -> None:
    text = "a line of a training log\n" * 20_000
    stream = {"output_type": "stream", "name": "stdout", "text": text}
    cells = [code_cell(f"log{number}", "train()", outputs=[stream], execution_count=number) for number in range(1, 21)]
    notebook = notebook_file(tmp_path / "a.ipynb", cells=cells)
    assert notebook.stat().st_size > 5_000_000
    async with conversation(tmp_path, notebook=notebook) as (made, _, _server):
        made.begin_turn()
        outline = await run_call(made, new_call_id(), "read_cells", {})
        assert len(json.dumps(outline.content)) < 8_000
        assert json.dumps(outline.content).count("a line of a training log") <= 20, "at most a word of each output"
        assert all(f"id=log{number} " in str(outline.content) for number in range(1, 21))
        page = await run_call(made, new_call_id(), "read_output", {"cell": "log7", "limit": 5_000})
        assert "a line of a training log" in str(page.content)
        assert len(json.dumps(page.content)) < 8_000
