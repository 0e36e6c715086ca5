"""What goes wrong in the middle of work is a sentence with a way on, and nothing of the person's is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from lab.conftest import Script
from lab.harness import LabServer, write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, begin, edit, run
from playwright.sync_api import Browser, Route, expect


@pytest.fixture
def own(browser: Browser, tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[Lab]:
    """A page at a server that only this test uses, and may end."""
    server = LabServer(tmp_path_factory.mktemp("own"), environment=model_environment).start()
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    lab = Lab(context.new_page(), server)
    lab.goto("lab?reset")
    yield lab
    context.close()
    server.stop()


def test_the_server_ends_in_the_middle_and_comes_back(own: Lab, script: Script) -> None:
    model = script({"text": "Half a reply, and then", "pause_until": "never"}, {"text": "Both messages arrived."})
    own.show_panel()
    own.ask("Begin")
    expect(own.panel.locator(".jp-agent-reply")).to_contain_text("Half a reply")
    assert own.server.process is not None
    own.server.process.kill()
    own.server.process.wait()
    model.gate("never").open()
    banner = own.panel.locator(".jp-agent-banner")
    expect(banner).to_contain_text("connection to the server is broken")
    expect(banner.get_by_role("button", name="Try now")).to_be_visible()
    # JupyterLab itself says that its server is gone, in a dialog in front of everything.
    dialog = own.page.locator(".jp-Dialog")
    own.page.add_locator_handler(dialog, lambda: dialog.get_by_role("button").last.click())
    own.field.fill("Are you there?")
    own.field.press("Enter")
    expect(own.panel.locator(".jp-agent-user.jp-mod-pending")).to_contain_text("Will be sent when the server is back")
    own.server.start()
    own.wait_sent("Are you there?")
    own.wait_ended()
    expect(banner).to_have_count(0)
    assert "Both messages arrived." in own.transcript()
    sent = [message["text"] for message in json.loads(_journal(own)) if message["type"] == "user"]
    assert sent == ["Begin", "Are you there?"]


def test_signed_out_says_so_and_signing_in_goes_on(own: Lab, script: Script) -> None:
    script({"text": "Hello."}, {"text": "Hello again."})
    own.show_panel()
    own.ask("Hello")
    own.wait_ended()
    own.server.stop()
    own.server.token = "another secret"
    own.page.context.clear_cookies()
    own.server.start()
    banner = own.panel.locator(".jp-agent-banner")
    expect(banner).to_contain_text("no longer signed in")
    own.goto("lab")
    own.show_panel()
    assert "Hello." in own.transcript()
    own.ask("And now?")
    own.wait_ended()
    assert "Hello again." in own.transcript()


def _journal(lab: Lab) -> str:
    (path,) = (lab.server.data / "jupyter_agent" / "conversations").glob("*/journal.jsonl")
    return f"[{','.join(path.read_text().splitlines())}]"


def test_a_kernel_that_dies_is_told_and_the_turn_goes_on(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, [("dies", "code", "import os\nos.kill(os.getpid(), 9)")])
    lab.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    script({"calls": [READ]}, {"calls": [run("dies")]}, {"text": "It died.", "expect": {"tool_result_error": True}})
    lab.ask("Run it")
    lab.wait_ended()
    failed = lab.panel.locator(".jp-agent-toolError")
    expect(failed).to_contain_text(re.compile("kernel", re.IGNORECASE))
    assert "It died." in lab.transcript()
    lab.spoiled = True


@pytest.mark.parametrize("where", ["renamed.ipynb", "folder/moved.ipynb"])
def test_a_notebook_renamed_or_moved_in_mid_turn(lab: Lab, script: Script, notebook_name: str, where: str) -> None:
    begin(lab, notebook_name)
    (lab.server.root / "folder").mkdir(exist_ok=True)
    (lab.server.root / where).unlink(missing_ok=True)
    model = script(
        {"calls": [READ]},
        {"calls": [edit("first", "x = 1", "x = 2")], "pause_until": "renamed", "pause_at": "headers"},
        {"text": "Done."},
    )
    lab.ask("Change it")
    lab.page.evaluate(
        "async ([from, to]) => { await window.jupyterapp.serviceManager.contents.rename(from, to); }",
        [notebook_name, where],
    )
    lab.page.wait_for_function("path => window.jupyterapp.shell.currentWidget.context.path === path", arg=where)
    model.gate("renamed").open()
    lab.wait_ended()
    assert lab.sources()[1] == "x = 2\n# here", "the turn follows its notebook"
    assert not (lab.server.root / notebook_name).exists(), "nothing is written where it was"


def test_a_notebook_deleted_in_mid_turn_is_a_sentence(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, CELLS)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    path = {"path": notebook_name}
    change = edit("first", "x = 1", "x = 2")
    change["arguments"] |= path
    model = script(
        {"calls": [{"name": "read_cells", "arguments": path}]},
        {"calls": [change], "pause_until": "deleted", "pause_at": "headers"},
        {"text": "It is gone.", "expect": {"tool_result_error": True}},
    )
    lab.ask("Change it")
    expect(lab.panel.locator(".jp-agent-tool.jp-mod-ok")).to_have_count(1)
    (lab.server.root / notebook_name).unlink()
    model.gate("deleted").open()
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-toolError")).to_contain_text("no such file")
    assert not (lab.server.root / notebook_name).exists()


def test_a_notebook_that_cannot_be_saved_is_a_sentence(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name)
    refusal = {"status": 403, "json": {"message": f"Permission denied: {notebook_name}"}}

    def refuse(route: Route) -> None:
        route.fulfill(**refusal) if route.request.method == "PUT" else route.continue_()

    lab.page.route(re.compile(f"api/contents/{re.escape(notebook_name)}"), refuse)
    script({"calls": [READ]}, {"calls": [edit("first", "x = 1", "x = 2")]}, {"text": "Done."})
    lab.ask("Change it")
    lab.wait_ended()
    expect(lab.panel.locator(".jp-agent-note")).to_contain_text("could not be saved")
    assert lab.sources()[1] == "x = 2\n# here", "the change is in the open document, to be saved elsewhere"
    lab.spoiled = True


def test_five_thousand_cells(lab: Lab, script: Script, notebook_name: str) -> None:
    # Mostly text, because what changed is also verified in a fresh kernel at the end.
    cells = [(f"c{number}", "code" if number > 4_990 else "markdown", f"x = {number}") for number in range(5_000)]
    write_notebook(lab.server.root / notebook_name, cells)
    lab.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    script(
        {"calls": [READ]},
        {"calls": [edit("c4999", "x = 4999", "print(x)"), run("c4998", "c4999")]},
        {"text": "The last cell prints."},
    )
    lab.ask("Print in the last cell")
    lab.wait_ended()
    sources = lab.sources()
    assert (len(sources), sources[-1]) == (5_000, "print(x)")
    assert saved_output(lab, notebook_name, -1) == "4998\n"


def test_a_megabyte_of_output(lab: Lab, script: Script, notebook_name: str) -> None:
    flood = "for number in range(10_000):\n    print(str(number).rjust(99))\nprint('the end')"
    write_notebook(lab.server.root / notebook_name, [("flood", "code", flood)])
    lab.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    script(
        {"calls": [READ]}, {"calls": [run("flood")]}, {"text": "A lot.", "expect": {"tool_result_contains": "the end"}}
    )
    lab.ask("Run it")
    lab.wait_ended()
    assert "the end" in lab.outputs(0)
    assert saved_output(lab, notebook_name, 0).endswith("the end\n")


def saved_output(lab: Lab, name: str, index: int) -> str:
    lab.wait_saved(name)
    outputs = lab.server.notebook(name)["cells"][index]["outputs"]
    return "".join("".join(output.get("text", "")) for output in outputs)
