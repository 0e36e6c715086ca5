"""The same extension in Notebook 7: the panel beside the notebook, live edits and runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from lab.conftest import Script
from lab.harness import LabServer, running, write_notebook
from lab.lab import Lab
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.skipif(importlib.util.find_spec("notebook") is None, reason="Notebook 7 is not installed")


@pytest.fixture(scope="module")
def notebook_server(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("notebook7")
    with running(LabServer(folder, app="notebook", environment=model_environment)) as started:
        yield started


@pytest.fixture
def notebook(browser: Browser, notebook_server: LabServer) -> Iterator[Lab]:
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    yield Lab(context.new_page(), notebook_server)
    context.close()


def test_ask_approve_and_see_the_cell_change_and_run(notebook: Lab, script: Script) -> None:
    write_notebook(
        notebook.server.root / "seven.ipynb", [("first", "code", "x = 6"), ("second", "code", "print(x * 7)")]
    )
    operation = {"op": "edit", "cell": "first", "blocks": [{"search": "x = 6", "replace": "x = 60"}]}
    script(
        {"calls": [{"name": "read_cells", "arguments": {}}]},
        {"calls": [{"name": "edit_cells", "arguments": {"ops": [operation]}}]},
        {"calls": [{"name": "run_cells", "arguments": {"cells": "all"}}]},
        {"text": "It is 420."},
    )
    notebook.goto("notebooks/seven.ipynb")
    notebook.page.wait_for_function("() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel")
    notebook.show_panel()
    notebook.ask("Times ten")
    notebook.approve()
    expect(notebook.panel.locator(".jp-agent-approval h4")).to_contain_text("un 2 cells")
    notebook.panel.get_by_role("button", name="Always", exact=True).click()
    expect(notebook.panel.locator(".jp-agent-approval h4")).to_contain_text("Verify")
    notebook.approve()
    notebook.wait_ended()
    assert notebook.sources()[0] == "x = 60"
    assert "420" in notebook.outputs(1)
