"""The core path with jupyter-collaboration: two pages show one notebook, and the agent works in the room they share."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from lab.conftest import Script
from lab.harness import LabServer, running, wait_for, without, write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, edit, journal, run
from playwright.sync_api import Browser, expect

Cells = Sequence[tuple[str, str, str]]
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
await notebook.set_outputs(other.id, [{"output_type": "stream", "name": "stdout", "text": "from afar"}], 7)"""

SLOW_ROOM = """
const Native = window.WebSocket;
window.WebSocket = class extends Native {
  set onmessage(listen) {
    const late = event => setTimeout(() => listen(event), 400);
    super.onmessage = this.url.includes('/collaboration/room/') ? late : listen;
  }
};"""
"""What others do in the room arrives in the page with a delay, as over a slow line."""


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[LabServer]:
    try:
        import jupyter_server_ydoc  # noqa: F401
    except ImportError:
        without("jupyter-collaboration is not installed: pip install '.[rtc]'")
    folder = tmp_path_factory.mktemp("shared")
    with running(LabServer(folder, environment=model_environment, collaboration=True)) as started:
        yield started


@pytest.fixture
def pages(browser: Browser, shared_server: LabServer) -> Iterator[tuple[Lab, Lab]]:
    """Two persons' pages: the first one has the panel."""
    contexts = [browser.new_context(viewport={"width": 1300, "height": 850}) for _ in range(2)]
    labs = [Lab(context.new_page(), shared_server) for context in contexts]
    for lab in labs:
        lab.goto("lab?reset")
    yield labs[0], labs[1]
    for context in contexts:
        context.close()


def begin(pages: tuple[Lab, Lab], name: str, mode: str = "Accept edits", cells: Cells = CELLS) -> None:
    """One fresh notebook in both pages."""
    mine = pages[0]
    write_notebook(mine.server.root / name, cells)
    for lab in pages:
        lab.open(name)
        wait_for(lambda lab=lab: lab.sources() == [source for _, _, source in cells], "the room's cells are shown")
    mine.page.bring_to_front()
    # Notebooks that come up late take the focus: the panel is shown, and whoever writes in it clicks there first.
    mine.command("jupyter-agent:focus")
    expect(mine.field).to_be_visible()
    mine.panel.get_by_label("Mode", exact=True).select_option(label=mode)


def stored_cells(lab: Lab, name: str) -> list[dict[str, Any]]:
    """The file's cells; none while a room writes it, which it does in place."""
    with contextlib.suppress(ValueError):
        return list(lab.server.notebook(name)["cells"])
    return []


def same_everywhere(pages: tuple[Lab, Lab], name: str) -> list[str]:
    """What both pages and, once it is saved, the file hold."""
    mine, theirs = pages
    wait_for(lambda: mine.sources() == theirs.sources(), "both pages show the same")

    def is_stored() -> bool:
        return ["".join(cell["source"]) for cell in stored_cells(mine, name)] == mine.sources()

    wait_for(is_stored, "the file holds what the pages show")
    return mine.sources()


def test_ask_approve_edit_and_run_in_both_pages(pages: tuple[Lab, Lab], script: Script) -> None:
    mine, theirs = pages
    begin(pages, "core.ipynb", "Review")
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 41 + 1")]},
        {"calls": [run("first", "second")]},
        {"text": "The value is 42."},
    )
    theirs.editor(2).click()
    theirs.page.keyboard.press("Control+End")
    mine.ask("Make it 42")
    theirs.page.keyboard.type("  # theirs")
    expect(mine.panel.locator(".jp-agent-approval .jp-mod-add")).to_contain_text("x = 41 + 1")
    mine.approve()
    expect(theirs.editor(1)).to_contain_text("x = 41 + 1")
    expect(mine.panel.locator(".jp-agent-approval h4")).to_contain_text("un 2 cells")
    mine.approve()
    expect(mine.cell(2).locator(".jp-OutputArea-output")).to_have_text("value 42")
    expect(theirs.cell(2).locator(".jp-OutputArea-output")).to_have_text("value 42")
    expect(mine.panel.locator(".jp-agent-approval h4")).to_contain_text("Verify")
    mine.approve()
    mine.wait_ended()
    assert same_everywhere(pages, "core.ipynb") == ["# Title", "x = 41 + 1\n# here", "print('value', x)  # theirs"]
    stored = mine.server.notebook("core.ipynb")["cells"][2]
    assert ["".join(output["text"]) for output in stored["outputs"]] == ["value 42\n"]
    for lab in pages:
        expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
        expect(lab.cell(2).locator(".jp-OutputArea-output")).to_have_count(1)


def test_f17_typing_while_edits_arrive_loses_no_character(pages: tuple[Lab, Lab], script: Script) -> None:
    """Real keys in the cell that the agent edits, and another person's in another cell."""
    mine, theirs = pages
    begin(pages, "typing.ipynb")
    replies = [
        {"calls": [edit("first", "x = 1", f"x = 1\n# agent {10 * reply + n}") for n in range(10)]} for reply in range(5)
    ]
    model = script(
        {"calls": [READ], "pause_until": "typing", "pause_at": "headers"},
        *replies,
        {"text": "Done."},
    )
    mine.ask("Write lines")
    typed = {mine: "\n# ", theirs: "  # "}
    for lab, cell in ((mine, 1), (theirs, 2)):
        lab.editor(cell).click()
        lab.page.keyboard.press("Control+End")
        lab.page.keyboard.insert_text(typed[lab])
    chooser = random.Random(5)
    model.gate("typing").open()
    ended = mine.panel.locator(".jp-agent-turn[data-ended=true]")
    while ended.count() == 0 or sum(map(len, typed.values())) < 60:
        lab, key = chooser.choice([mine, theirs]), chooser.choice("abcdefghijklmnop")
        lab.page.keyboard.press(key)
        typed[lab] += key
    mine.wait_ended()
    _, first, second = same_everywhere(pages, "typing.ipynb")
    assert re.sub(r"# agent \d+\n", "", first) == "x = 1\n# here" + typed[mine]
    assert second == "print('value', x)" + typed[theirs]
    assert "# agent" in first
    assert mine.page.evaluate("() => document.activeElement.closest('.jp-Cell') !== null"), "n36: the focus stays"


def test_a_cell_that_is_edited_and_run_at_once_runs_as_edited(pages: tuple[Lab, Lab], script: Script) -> None:
    """The page that runs it may hear of the run before it hears of the edit, which takes another way."""
    mine, theirs = pages
    begin(pages, "at-once.ipynb")
    replies = [
        {"calls": [edit("first", f"x = {number}", f"x = {number + 1}"), run("first", "second")]}
        for number in range(1, 11)
    ]
    script({"calls": [READ]}, *replies, {"text": "Done."})
    mine.ask("Count")
    mine.wait_ended()
    results = [event for event in journal(mine) if event["type"] == "tool_result"]
    assert [event["content"][0]["text"][:60] for event in results if event["is_error"]] == []
    for lab in pages:
        expect(lab.cell(2).locator(".jp-OutputArea-output")).to_have_text("value 11")
    same_everywhere(pages, "at-once.ipynb")
    assert theirs.sources()[1] == "x = 11\n# here"


def test_a_new_cell_runs_in_the_page_although_its_room_is_slow(pages: tuple[Lab, Lab], script: Script) -> None:
    """Only in a page may a cell ask a person, and of all pages in the one of the person who asked the agent."""
    mine, theirs = pages
    mine.page.add_init_script(SLOW_ROOM)
    mine.goto("lab?reset")
    begin(pages, "slow.ipynb")
    insert = {"op": "insert", "type": "code", "source": "name = input('who? ')\nprint('hello', name)"}
    script(
        {"calls": [READ]},
        {"calls": [{"name": "edit_cells", "arguments": {"ops": [insert]}}]},
        {"calls": [run("{{regex:id=(\\S+)}}")]},
        {"text": "Done."},
    )
    mine.ask("Ask who is there")
    answer = mine.cell(3).locator(".jp-Stdin-input")
    answer.click()
    expect(theirs.page.locator(".jp-Stdin-input")).to_have_count(0)
    mine.page.keyboard.type("Ada")
    mine.page.keyboard.press("Enter")
    mine.wait_ended()
    for lab in pages:
        expect(lab.cell(3).locator(".jp-OutputArea-output").last).to_contain_text("hello Ada")


def test_a_cell_edits_another_one_of_its_notebook_while_it_runs(pages: tuple[Lab, Lab]) -> None:
    """The way that the magic takes to its own notebook leads into the room too."""
    mine, theirs = pages
    begin(pages, "itself.ipynb", cells=[("first", "code", EDIT_ITSELF), ("other", "code", "y = 1")])
    mine.editor(0).click()
    mine.page.keyboard.press("Control+Enter")
    for lab in pages:
        expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text("from afar")
        expect(lab.cell(1).locator(".jp-InputPrompt")).to_contain_text("[7]")
    assert same_everywhere(pages, "itself.ipynb")[1] == "y = 2"
    assert theirs.sources()[0] == EDIT_ITSELF


def test_n17_undo_in_a_page_leaves_the_agents_change(pages: tuple[Lab, Lab], script: Script) -> None:
    mine, _ = pages
    begin(pages, "undo.ipynb")
    script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")]},
        {"text": "Done."},
    )
    mine.editor(1).click()
    mine.page.keyboard.press("Control+End")
    mine.page.keyboard.type("typed")
    mine.ask("Change x")
    mine.wait_ended()
    assert same_everywhere(pages, "undo.ipynb")[1] == "x = 2\n# heretyped"
    mine.editor(1).click()
    mine.page.keyboard.press("Control+z")
    assert same_everywhere(pages, "undo.ipynb")[1].startswith("x = 2\n# here")
    assert "typed" not in mine.sources()[1]


def test_a_page_that_closes_in_mid_run_loses_no_output(pages: tuple[Lab, Lab], script: Script) -> None:
    mine, theirs = pages
    begin(pages, "closing.ipynb")
    slow = "import pathlib, time\nprint('before', flush=True)\nwhile not pathlib.Path('go').exists(): time.sleep(.05)"
    source = slow + "\nprint('after')"
    script(
        {"calls": [READ]},
        {"calls": [edit("second", "print('value', x)", source)]},
        {"calls": [run("second")]},
        {"text": "Ran."},
    )
    mine.ask("Run it slowly")
    expect(theirs.cell(2).locator(".jp-OutputArea-output")).to_contain_text("before")
    mine.page.close(run_before_unload=False)
    (mine.server.root / "go").touch()
    expect(theirs.cell(2).locator(".jp-OutputArea-output")).to_have_text(re.compile("before\\s+after"), timeout=60_000)

    wait_for(
        lambda: any("after" in str(cell.get("outputs")) for cell in stored_cells(theirs, "closing.ipynb")),
        "the file has the whole output",
    )
