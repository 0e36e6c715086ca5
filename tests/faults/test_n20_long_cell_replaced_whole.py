"""n20: a change in a long cell is a patch at one place in that cell; an uncertain place is refused, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_agent.edit import EditRefused, edit_text
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import edit_cells

LONG = "\n".join(f"step_{number} = run({number})\nlog('done')" for number in range(400))


def test_n20_only_the_patched_lines_differ() -> None:
    source, result = edit_text(LONG, [("step_200 = run(200)", "step_200 = run(0)")])
    assert source == LONG.replace("run(200)", "run(0)")
    assert len(result.hunks) == 1


@pytest.mark.parametrize(
    "replace", ["log('failed')", "step_1 = 1\n# ... rest of the code unchanged", "# existing code here"]
)
def test_n20_what_would_hit_several_places_or_drop_code_is_refused(replace: str) -> None:
    with pytest.raises(EditRefused):
        edit_text(LONG, [("log('done')", replace)])


async def test_n20_the_rest_of_the_notebook_and_its_language_stay(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", sample())
    raw = json.loads(path.read_text())
    raw["cells"][1]["source"] = LONG
    raw["cells"][1]["metadata"] = {"vscode": {"languageId": "sql"}}
    path.write_text(json.dumps(raw, indent=1))
    async with conversation_on(tmp_path, {"edit_cells": edit_cells}, folder=tmp_path / "c", notebook=path) as made:
        cell = raw["cells"][1]["id"]
        several = [{"search": "log('done')", "replace": "log('failed')"}]
        refused = await call(made, "edit_cells", ops=[{"op": "edit", "cell": cell, "blocks": several}])
        assert refused.is_error
        assert json.loads(path.read_text()) == raw
        one = [{"search": "step_7 = run(7)", "replace": "step_7 = run(8)"}]
        result = await call(made, "edit_cells", ops=[{"op": "edit", "cell": cell, "blocks": one}])
    assert not result.is_error
    changed = json.loads(path.read_text())
    assert "".join(changed["cells"][1].pop("source")) == LONG.replace("run(7)", "run(8)")
    raw["cells"][1].pop("source")
    for notebook in (raw, changed):
        notebook["cells"][1].pop("outputs"), notebook["cells"][1].pop("execution_count")
    assert changed == raw
