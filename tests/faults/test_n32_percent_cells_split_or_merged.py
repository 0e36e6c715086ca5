"""n32: `# %%` and its like are text inside a cell: an edit neither splits a cell at them nor merges cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_agent.edit import edit_text
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells

MARKS = [
    "# %%",
    "# %% [markdown]",
    "#%%",
    "# In[3]:",
    "# <codecell>",
    "# +",
    "---",
    "```",
    "<<<<<<< SEARCH\na\n=======\nb",
]


@pytest.mark.parametrize("mark", MARKS)
def test_n32_marks_are_content_on_both_sides(mark: str) -> None:
    source = f"a = 1\n{mark}\nb = 2"
    assert edit_text(source, [(f"{mark}\nb = 2", f"{mark}\nb = 3\n{mark}")])[0] == f"a = 1\n{mark}\nb = 3\n{mark}"


@pytest.mark.parametrize("mark", MARKS)
async def test_n32_the_cells_stay_the_same_cells(tmp_path: Path, mark: str) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    raw = json.loads(path.read_text())
    raw["cells"][1]["source"] = f"a = 1\n\n\n{mark}\n"
    path.write_text(json.dumps(raw, indent=1))
    ids = [cell["id"] for cell in raw["cells"]]
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        blocks = [{"search": "a = 1", "replace": f"a = 1\n{mark}\n\na = 2"}]
        result = await call(made, "edit_cells", ops=[{"op": "edit", "cell": ids[1], "blocks": blocks}])
    assert not result.is_error
    cells = json.loads(path.read_text())["cells"]
    assert [cell["id"] for cell in cells] == ids
    assert "".join(cells[1]["source"]) == f"a = 1\n{mark}\n\na = 2\n\n\n{mark}\n"
