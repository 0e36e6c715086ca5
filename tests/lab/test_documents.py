"""Notebooks that are open in the page: what the agent does shows at once, and takes nothing from the person."""

from __future__ import annotations

import random
import re

import pytest
from lab.conftest import Script
from lab.harness import wait_for, write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, begin, edit, journal, run
from playwright.sync_api import expect


def test_cells_change_and_run_in_the_open_notebook(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    script(
        {"text": "Looking.", "calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 41 + 1"), run("first", "second")]},
        {"text": "The value is 42."},
    )
    lab.ask("Make it 42")
    lab.wait_ended()
    assert lab.sources()[1] == "x = 41 + 1\n# here"
    assert "value 42" in lab.outputs(2)
    lab.wait_saved(notebook_name)
    saved = lab.server.notebook(notebook_name)["cells"]
    assert saved[1]["source"] == ["x = 41 + 1\n", "# here"]
    assert "".join(saved[2]["outputs"][0]["text"]) == "value 42\n"
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)


def test_approve_shows_the_difference_and_reject_leaves_the_cell(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, mode="Review")
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"text": "As you wish.", "expect": {"tool_result_contains": "keep it one"}},
    )
    lab.ask("Change x")
    card = lab.panel.locator(".jp-agent-approval")
    expect(card.locator(".jp-mod-remove")).to_contain_text("x = 1")
    expect(card.locator(".jp-mod-add")).to_contain_text("x = 2")
    card.get_by_role("button", name="Reject…").click()
    lab.page.keyboard.type("keep it one")
    lab.page.keyboard.press("Enter")
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-verdict")).to_contain_text("keep it one")
    assert lab.sources()[1] == "x = 1\n# here"


def test_unsaved_edits_of_the_person_stay_unsaved_and_are_said(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    lab.editor(2).click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("  # mine")
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"text": "Done."},
    )
    lab.ask("Change x")
    lab.wait_ended()
    expect(lab.panel.get_by_text("left unsaved")).to_be_visible()
    assert lab.sources()[1:] == ["x = 2\n# here", "print('value', x)  # mine"]
    assert lab.server.notebook(notebook_name)["cells"][1]["source"] == "x = 1\n# here"
    lab.save()


@pytest.mark.timeout(600)
def test_f17_n21_typing_while_edits_arrive_loses_no_character(lab: Lab, script: Script, notebook_name: str) -> None:
    """200 edits over the websocket against real key presses in the same and another cell (also n36: the focus)."""
    begin(lab, notebook_name)
    replies = [
        {"calls": [edit("first", "# here", f"# here\n# agent {10 * reply + n}") for n in range(10)]}
        for reply in range(20)
    ]
    model = script(
        {"calls": [READ], "pause_until": "typing", "pause_at": "headers"},
        *replies,
        {"text": "Done."},
    )
    lab.ask("Write 200 lines")
    typed = {1: "\n# ", 2: "  # "}
    for cell, comment in ((2, typed[2]), (1, typed[1])):
        lab.editor(cell).click()
        lab.page.keyboard.press("Control+End")
        lab.page.keyboard.insert_text(comment)
    current = 1
    chooser = random.Random(7)
    model.gate("typing").open()
    ended = lab.panel.locator(".jp-agent-turn[data-ended=true]")
    while ended.count() == 0 or len(typed[1]) + len(typed[2]) < 60:
        if chooser.random() < 0.05:
            current = 3 - current
            lab.editor(current).click()
            lab.page.keyboard.press("Control+End")
        character = chooser.choice("abcdefghijklmnopqrstuvwxyz")
        lab.page.keyboard.press(character)
        typed[current] += character
    lab.wait_ended()
    first, second = lab.sources()[1:]
    kept = re.sub(r"# agent \d+\n", "", first)
    assert kept == "x = 1\n# here" + typed[1]
    assert second == "print('value', x)" + typed[2]
    assert len(typed[1]) + len(typed[2]) >= 60
    results = [
        event["is_error"] for event in journal(lab) if event["type"] == "tool_result" and event["name"] == "edit_cells"
    ]
    assert len(results) == 200
    assert first.count("# agent") == results.count(False) > 0
    lab.save()
    wait_for(lambda: "".join(lab.server.notebook(notebook_name)["cells"][1]["source"]) == first, "disk equals the page")


def test_n17_undo_takes_back_the_agents_edit_and_not_the_typing(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    lab.editor(1).click()
    lab.page.keyboard.press("Control+End")
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"text": "Done."},
    )
    lab.page.keyboard.type("typed")
    lab.ask("Change x")
    lab.wait_ended()
    assert lab.sources()[1] == "x = 2\n# heretyped"
    lab.editor(1).click()
    lab.page.keyboard.press("Control+z")
    assert lab.sources()[1] == "x = 1\n# heretyped"
    lab.save()


def test_structure_changes_keep_the_active_cell_and_its_focus(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    operations = [
        {"op": "insert", "before": "first", "type": "code", "source": "new = 1"},
        {"op": "move", "cells": ["second"], "before": "intro"},
        {"op": "set_tags", "cell": "first", "tags": ["kept"]},
    ]
    model = script(
        {"calls": [READ]},
        {
            "calls": [{"name": "edit_cells", "arguments": {"ops": operations}}],
            "pause_until": "go",
            "pause_at": "headers",
        },
        {"text": "Done."},
    )
    lab.ask("Rearrange")
    lab.editor(1).click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("ab")
    model.gate("go").open()
    lab.wait_ended()
    lab.page.keyboard.type("cd")
    assert lab.sources() == ["print('value', x)", "# Title", "new = 1", "x = 1\n# hereabcd"]
    lab.save()


def test_a_notebook_opened_in_mid_turn_is_handed_over(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, CELLS)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    path = {"path": notebook_name}
    change = edit("first", "x = 1", "x = 2")
    change["arguments"] |= path
    again = edit("first", "x = 2", "x = 3")
    again["arguments"] |= path
    model = script(
        {"calls": [{"name": "read_cells", "arguments": path}, change]},
        {"calls": [again], "pause_until": "opened", "pause_at": "headers"},
        {"text": "Done."},
    )
    lab.ask("Change it twice")
    wait_for(lambda: "x = 2" in str(lab.server.notebook(notebook_name)), "the closed notebook's file is changed")
    lab.open(notebook_name)
    model.gate("opened").open()
    lab.wait_ended()
    assert lab.sources()[1] == "x = 3\n# here"
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
    lab.wait_saved(notebook_name)
    assert lab.server.notebook(notebook_name)["cells"][1]["source"] == ["x = 3\n", "# here"]


def test_fix_with_agent_under_a_failed_cell(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    lab.editor(2).click()
    lab.page.keyboard.press("Control+Enter")
    script({"text": "x is missing.", "expect": {"last_contains": ["NameError", "id=second"]}})
    lab.cell(2).get_by_role("button", name="Fix with agent").click()
    lab.wait_sent("Fix this error.")
    lab.wait_ended()
    assert "x is missing." in lab.transcript()
    lab.save()


EDIT_ITSELF = """\
import os, re
from ipykernel.connect import get_connection_file
from jupyter_agent.notebook.bridge import Bridge, BridgedNotebook
from jupyter_agent.notebook.document import ReplaceSource, Target
from jupyter_agent.testing.effects import commit
bridge = Bridge.from_environment(os.environ, re.search("kernel-(.*).json", get_connection_file())[1])
notebook = BridgedNotebook(bridge, await bridge.path())
other = (await notebook.cells())[1]
await commit(await notebook.edit([ReplaceSource(Target(other.id, other.hash), "y = 2")]))
await notebook.set_outputs(other.id, [{"output_type": "stream", "name": "stdout", "text": "from afar"}], 7)
"""


def test_a_cell_edits_another_open_cell_while_its_own_is_busy(lab: Lab, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, [("first", "code", EDIT_ITSELF), ("other", "code", "y = 1")])
    lab.open(notebook_name)
    lab.editor(0).click()
    lab.page.keyboard.press("Control+Enter")
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text("from afar")
    assert lab.sources()[1] == "y = 2"
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_contain_text("[7]")
    assert lab.server.notebook(notebook_name)["cells"][1]["source"] == "y = 1", "the file is not written under the page"
    lab.save()
