"""The panel against a real server and a scripted model."""

from __future__ import annotations

import re
from typing import Any

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from playwright.sync_api import expect

SLEEP = {"name": "run_bash", "arguments": {"command": "sleep 50"}}


def test_f53_a_reload_in_mid_stream_gives_the_same_transcript(lab: Lab, script: Script) -> None:
    model = script({"text": "The **answer** is 42.\n\nAnd more.", "pause_until": "go"})
    lab.ask("What is the answer?")
    expect(lab.panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    lab.reload()
    lab.show_panel()
    expect(lab.panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    model.gate("go").open()
    lab.wait_ended()
    expect(lab.panel.locator("strong", has_text="answer")).to_be_visible()
    before = lab.transcript()
    assert "What is the answer?" in before
    lab.reload()
    lab.show_panel()
    lab.wait_ended()
    expect(lab.panel.locator("strong", has_text="answer")).to_be_visible()
    assert lab.transcript() == before


def test_two_windows_see_the_same_and_one_answer_counts(lab: Lab, second: Lab, script: Script) -> None:
    script({"calls": [{"name": "run_bash", "arguments": {"command": "touch made.txt"}}]}, {"text": "Made."})
    lab.ask("Make it")
    expect(lab.panel.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    second.open_newest()
    second.approve()
    lab.wait_ended()
    second.wait_ended()
    expect(lab.panel.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    expect(lab.panel.locator(".jp-agent-verdict")).to_contain_text("Approved")
    assert (lab.server.root / "made.txt").exists()
    assert lab.transcript() == second.transcript()


def test_stop_ends_the_turn(lab: Lab, script: Script) -> None:
    script({"calls": [SLEEP]})
    lab.ask("Sleep")
    expect(lab.panel.locator(".jp-agent-tool.jp-mod-running")).to_be_visible()
    lab.panel.get_by_role("button", name="Stop", exact=True).click()
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-endingReason")).to_have_text("Stopped")


def test_a_message_typed_while_it_works_is_taken(lab: Lab, script: Script) -> None:
    model = script(
        {"text": "First.", "pause_until": "go"}, {"text": "Second.", "expect": {"last_contains": "And this"}}
    )
    lab.ask("Begin")
    lab.ask("And this")
    model.gate("go").open()
    lab.wait_ended()
    assert "Second." in lab.transcript()


def test_keyboard_only(lab: Lab, script: Script) -> None:
    """Open, ask, reject with a reason and go on without touching the mouse."""
    script({"calls": [{"name": "run_bash", "arguments": {"command": "touch no.txt"}}]}, {"text": "Then not."})
    lab.page.keyboard.press("Control+Alt+a")
    expect(lab.field).to_be_focused()
    lab.page.keyboard.type("Do it")
    lab.page.keyboard.press("Enter")
    reject = lab.panel.get_by_role("button", name="Reject…")
    expect(reject).to_be_visible()
    for _ in range(30):
        lab.page.keyboard.press("Shift+Tab")
        if reject.evaluate("button => button === document.activeElement"):
            break
    lab.page.keyboard.press("Enter")
    expect(lab.panel.get_by_label("Reason for rejecting")).to_be_focused()
    lab.page.keyboard.type("not now")
    lab.page.keyboard.press("Enter")
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-verdict")).to_contain_text("not now")
    assert not (lab.server.root / "no.txt").exists()


def test_mentions_of_cells_files_and_variables(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, [("first", "code", "treasure = [1, 2, 3]")])
    (lab.server.root / "measurements.csv").write_text("a,b\n1,2\n")
    lab.open(notebook_name)
    lab.editor(0).click()
    lab.page.keyboard.press("Control+Enter")
    lab.show_panel()
    for query, kind in (("@treas", "variable"), ("@measure", "file"), ("@cell", "cell")):
        lab.page.keyboard.type(query)
        expect(lab.panel.locator(".jp-agent-suggestions .jp-mod-active")).to_contain_text(kind)
        lab.page.keyboard.press("Enter")
        expect(lab.panel.locator(".jp-agent-suggestions")).to_have_count(0)
    wanted = ["id=first", "treasure = [1, 2, 3]", "measurements.csv", "treasure: list"]
    script({"text": "Seen.", "expect": {"last_contains": wanted}})
    lab.page.keyboard.type("look")
    lab.page.keyboard.press("Enter")
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-user .jp-agent-chip")).to_have_count(3)
    lab.save()


def test_slash_commands(lab: Lab) -> None:
    lab.show_panel()
    lab.page.keyboard.type("/mo")
    expect(lab.panel.locator(".jp-agent-suggestions li")).to_have_count(2)
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.type("plan")
    lab.page.keyboard.press("Enter")
    expect(lab.panel.get_by_label("Mode", exact=True)).to_have_value("plan")
    lab.page.keyboard.type("/help")
    lab.page.keyboard.press("Enter")
    expect(lab.panel.get_by_role("region", name="Help")).to_be_visible()


def test_restore_takes_back_this_turn_and_later_ones(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, [("first", "code", "x = 1")])
    lab.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    calls: list[Any] = []
    for before, after in (("x = 1", "x = 2"), ("x = 2", "x = 3")):
        operation = {"op": "edit", "cell": "first", "blocks": [{"search": before, "replace": after}]}
        calls += [
            {
                "calls": [
                    {"name": "read_cells", "arguments": {}},
                    {"name": "edit_cells", "arguments": {"ops": [operation]}},
                ]
            },
            {"text": "Ok."},
        ]
    script(*calls)
    lab.ask("One")
    lab.wait_ended()
    lab.ask("Two")
    lab.wait_ended()
    assert lab.sources() == ["x = 3"]
    expect(lab.panel.get_by_role("region", name="Changes to review")).to_contain_text("2 changes")
    lab.panel.locator(".jp-agent-user").first.hover()
    lab.panel.get_by_role("button", name=re.compile("Restore to here")).first.click()
    lab.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.content.model.cells.get(0).sharedModel.getSource() === 'x = 1'"
    )
    lab.wait_ended()
    lab.wait_saved(notebook_name)
    assert lab.server.notebook(notebook_name)["cells"][0]["source"] in ("x = 1", ["x = 1"])


def test_a_very_long_message_is_cut_on_the_screen_only(lab: Lab, script: Script) -> None:
    script({"text": "Read.", "expect": {"last_contains": "the very end"}})
    text = "word " * 40_000 + "the very end"
    lab.field.click()
    lab.page.keyboard.insert_text(text)
    lab.page.keyboard.press("Enter")
    show = lab.panel.get_by_role("button", name=re.compile("Show all"))
    expect(show).to_be_visible()
    lab.wait_ended()
    assert len(lab.panel.locator(".jp-agent-userText").inner_text()) < 5000
    show.click()
    assert lab.panel.locator(".jp-agent-userText").inner_text().endswith("the very end")


def test_without_a_model_the_panel_says_how_to_connect_one(lab: Lab) -> None:
    advice = {"models": [], "current": "", "advice": "No model is connected.\nEither this;\nor that.", "offer": ""}
    lab.page.route("**/jupyter-agent/models*", lambda route: route.fulfill(json=advice))
    lab.reload()
    lab.show_panel()
    expect(lab.panel.get_by_role("note")).to_contain_text("No model is connected.")
    expect(lab.panel.get_by_role("note").locator("p")).to_have_count(3)
    lab.spoiled = True


def test_dark_and_high_contrast_themes_reach_the_panel(lab: Lab) -> None:
    def colours() -> tuple[str, str]:
        style = "panel => [getComputedStyle(panel).backgroundColor, getComputedStyle(panel).color].join()"
        return tuple(lab.panel.evaluate(style).split("),", 1))

    light = colours()
    lab.command("apputils:change-theme", theme="JupyterLab Dark")
    lab.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    dark = colours()
    lab.command("apputils:change-theme", theme="JupyterLab Light")
    assert light != dark
