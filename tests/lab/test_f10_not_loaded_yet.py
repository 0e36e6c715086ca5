"""f10: a notebook that a page shows empty because it is still loading is never what is edited or written."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, edit
from playwright.sync_api import Route, expect


def test_f10_a_notebook_that_is_still_loading_loses_nothing(lab: Lab, script: Script, notebook_name: str) -> None:
    write_notebook(lab.server.root / notebook_name, CELLS)
    held: list[Route] = []
    lab.page.route(f"**/api/contents/{notebook_name}?*content=1*", lambda route: held.append(route))
    lab.page.evaluate("path => void window.jupyterapp.commands.execute('docmanager:open', {path})", notebook_name)
    expect(lab.page.locator(".jp-NotebookPanel")).to_have_count(1)
    lab.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.context?.isReady === false")
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    model = script({"calls": [READ]}, {"calls": [edit("first", "x = 1", "x = 2")]}, {"text": "Done."})
    lab.ask("Change x")
    expect(lab.panel.locator(".jp-agent-tool")).to_have_count(1)
    assert held, "the page waits for the notebook, and the agent for the page"
    for route in held:
        route.continue_()
    lab.wait_ended()
    assert "print('value', x)" in str(model.messages[1]["messages"][-1]), "the whole notebook was read"
    assert lab.sources() == ["# Title", "x = 2\n# here", "print('value', x)"]
    lab.wait_saved(notebook_name)
    assert [cell["source"] for cell in lab.server.notebook(notebook_name)["cells"]] == [
        ["# Title"],
        ["x = 2\n", "# here"],
        ["print('value', x)"],
    ]
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
