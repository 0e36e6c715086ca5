"""The panel in a JupyterHub user's own server, reached as a person does: through the hub's login, by cookies alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from lab.steps import READ, edit
from playwright.sync_api import Browser, expect
from server.hub import PASSWORD, JupyterHub, User, jupyterhub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[JupyterHub]:
    with jupyterhub(tmp_path_factory.mktemp("hub"), model_environment) as started:
        yield started


def test_ask_and_see_the_cell_change_after_the_hubs_login(browser: Browser, hub: JupyterHub, script: Script) -> None:
    alice: User = hub.user("alice")
    write_notebook(alice.root / "hers.ipynb", [("first", "code", "x = 1")])
    script({"calls": [READ]}, {"calls": [edit("first", "x = 1", "x = 2")]}, {"text": "It is two."})
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    page = context.new_page()
    lab = Lab(page, alice)  # type: ignore[arg-type]
    page.goto(f"{alice.url}lab?reset")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    lab.wait_started()
    lab.open("hers.ipynb")
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    lab.ask("Make it two")
    lab.wait_ended()
    assert "It is two." in lab.transcript()
    assert lab.sources() == ["x = 2"]
    lab.reload()
    lab.show_panel()
    expect(lab.turns().last).to_contain_text("It is two.")
    context.close()
