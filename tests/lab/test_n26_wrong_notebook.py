"""A turn is bound to the notebook it began with, whichever tab the person brings to the front meanwhile."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, begin, edit, run


def test_n26_switching_tabs_does_not_move_the_turn(lab: Lab, script: Script, notebook_name: str) -> None:
    other = f"other-{notebook_name}"
    write_notebook(lab.server.root / other, CELLS)
    begin(lab, notebook_name)
    model = script(
        {"calls": [READ]},
        {
            "calls": [edit("first", "x = 1", "x = 2"), run("first", "second")],
            "pause_until": "switched",
            "pause_at": "headers",
        },
        {"text": "Done."},
    )
    lab.ask("Change and run it")
    lab.open(other)
    model.gate("switched").open()
    lab.wait_ended()
    assert lab.sources() == [source for _, _, source in CELLS], "the notebook in front is not touched"
    assert lab.outputs(2) == "[]"
    lab.command("docmanager:open", path=notebook_name)
    lab.page.wait_for_function("path => window.jupyterapp.shell.currentWidget.context.path === path", arg=notebook_name)
    assert lab.sources()[1] == "x = 2\n# here"
    assert "value 2" in lab.outputs(2)
