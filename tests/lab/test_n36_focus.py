"""Cells that the agent runs and inserts take neither focus nor cursor: every key lands where the person types."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from lab.steps import CELLS, READ, begin, run

TEXT = "every key pressed while other cells run stays in this cell. "


def test_n36_typing_while_cells_run_and_come(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, cells=[("notes", "code", "# "), *CELLS[1:]])
    insert = {"op": "insert", "before": "first", "type": "code", "source": "print('inserted')"}
    model = script(
        {"calls": [READ], "pause_until": "typing", "pause_at": "headers"},
        *({"calls": [run("first", "second")]} for _ in range(3)),
        {"calls": [{"name": "edit_cells", "arguments": {"ops": [insert]}}]},
        {"calls": [run("first", "second")]},
        {"text": "Done."},
    )
    lab.ask("Run everything a few times")
    lab.editor(0).click()
    lab.page.keyboard.press("Control+End")
    model.gate("typing").open()
    ended = lab.panel.locator(".jp-agent-turn[data-ended=true]")
    typed = ""
    while ended.count() == 0 or len(typed) < len(TEXT):
        character = TEXT[len(typed) % len(TEXT)]
        lab.page.keyboard.type(character)
        typed += character
    lab.wait_ended()
    assert lab.sources()[0] == f"# {typed}"
    assert lab.editor(0).evaluate("editor => editor.contains(document.activeElement)")
    assert lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex") == 0
    assert "value 1" in lab.outputs(3)
    lab.save()
