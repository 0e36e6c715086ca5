"""JupyterLab in a browser page, as a test drives it: everything a person does is a real click or key press."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from lab.harness import LabServer
    from playwright.sync_api import Locator, Page

TIMEOUT = 90_000
"""Milliseconds that Playwright waits for a condition: a hang limit on a machine that is busy elsewhere."""

CLOSE_ALL = """async () => {
  const app = window.jupyterapp;
  for (const dialog of document.querySelectorAll('.jp-Dialog .jp-mod-reject')) {
    dialog.click();
  }
  for (const widget of [...app.shell.widgets('main')]) {
    if (widget.context) {
      widget.dispose();
    }
  }
  await app.serviceManager.sessions.shutdownAll();
}"""
"""Closes documents without saving them, and ends their kernels."""


class Lab:
    """One page. Methods wait for conditions, never for time."""

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page, self.server = page, server
        self.spoiled = False
        """Set by a test whose page is of no use to the next one; the page is loaded anew then."""
        page.set_default_timeout(TIMEOUT)
        expect.set_options(timeout=TIMEOUT)

    # ------------------------------------------------------------------------------------------------- the page

    def begin(self) -> None:
        """As after a first start: nothing open, no kernel, a new conversation in the default mode, an empty field.

        Loads JupyterLab only where this page does not show it yet, since that takes longer than most tests.
        """
        if not self.page.url.startswith(f"{self.server.url}lab"):
            self.goto("lab?reset")
        self.page.evaluate(CLOSE_ALL)
        self.new_conversation()
        left_over = self.panel.locator(".jp-agent-composer .jp-agent-chip .jp-agent-iconButton, .jp-agent-help button")
        while left_over.count():
            left_over.first.click()
        if self.field.input_value():
            self.field.fill("")
        self.panel.get_by_label("Mode", exact=True).select_option(label="Review")

    def goto(self, path: str = "lab") -> None:
        """Load JupyterLab; a path such as `lab/tree/nb.ipynb` opens a notebook."""
        separator = "&" if "?" in path else "?"
        self.page.goto(f"{self.server.url}{path}{separator}token={self.server.token}")
        self.wait_started()

    def reload(self) -> None:
        # JupyterLab opens again what was open, some of it late: nothing for the next test.
        self.spoiled = True
        self.page.reload()
        self.wait_started()

    def wait_started(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate("() => window.jupyterapp.restored.then(() => undefined)")
        # The launcher or the restored document takes the focus a moment later: nobody types before that.
        self.page.wait_for_function("() => Boolean(window.jupyterapp.shell.currentWidget)")
        self.page.evaluate("() => new Promise(done => requestIdleCallback(() => requestIdleCallback(done)))")

    def command(self, name: str, **arguments: Any) -> Any:
        """Run a command of the application; its result where it is JSON."""
        return self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }", [name, arguments]
        )

    # -------------------------------------------------------------------------------------------------- notebooks

    def open(self, path: str) -> None:
        """Open a notebook and wait for its kernel."""
        self.command("docmanager:open", path=path)
        self.page.wait_for_function(
            """path => {
              const widgets = [...window.jupyterapp.shell.widgets('main')];
              const panel = widgets.find(widget => widget.context?.path === path);
              return panel?.context.isReady && panel.sessionContext?.session?.kernel?.status === 'idle';
            }""",
            arg=path,
        )

    def sources(self) -> list[str]:
        """Sources of the current notebook's cells, from its model."""
        return self.page.evaluate(
            "() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells)"
            ".map(cell => cell.sharedModel.getSource())"
        )

    def outputs(self, index: int) -> str:
        """What a cell's outputs show."""
        return self.cell(index).locator(".jp-OutputArea-output").all_inner_texts().__str__()

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook:visible .jp-Cell").nth(index)

    def editor(self, index: int) -> Locator:
        return self.cell(index).locator(".cm-content")

    def save(self) -> None:
        self.command("docmanager:save")

    def wait_saved(self, path: str) -> None:
        """Wait until the page has written what it shows of an open notebook: that follows a turn's end."""
        self.page.wait_for_function(
            """path => {
              const widgets = [...window.jupyterapp.shell.widgets('main')];
              return widgets.find(widget => widget.context?.path === path).context.model.dirty === false;
            }""",
            arg=path,
        )

    # -------------------------------------------------------------------------------------------------- the panel

    @property
    def panel(self) -> Locator:
        return self.page.locator("#jupyter-agent-panel")

    @property
    def field(self) -> Locator:
        return self.panel.get_by_role("combobox", name="Message to the agent")

    def show_panel(self) -> None:
        # JupyterLab itself focuses something when it has started, a moment after it says so: ask until it stays.
        for timeout in (1_000, *[3_000] * 20):
            self.page.bring_to_front()
            self.command("jupyter-agent:focus")
            with contextlib.suppress(AssertionError):
                expect(self.field).to_be_focused(timeout=timeout)
                return
        focused = self.page.evaluate("() => document.activeElement?.outerHTML.slice(0, 300)")
        dialogs = self.page.locator(".jp-Dialog").all_inner_texts()
        raise AssertionError(f"the field does not get the focus: {focused} has it; dialogs: {dialogs}")

    def new_conversation(self) -> None:
        self.command("jupyter-agent:new-conversation")
        expect(self.panel.locator(".jp-agent-empty")).to_be_visible()

    def open_newest(self) -> None:
        """Load JupyterLab and open the newest conversation through the history."""
        self.goto("lab?reset")
        self.show_panel()
        self.panel.get_by_role("button", name="Earlier conversations").click()
        self.panel.locator(".jp-agent-history li button").first.click()

    def ask(self, text: str) -> None:
        """Type a message, send it, and wait until the server has it."""
        self.field.click()
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Enter")
        self.wait_sent(text)

    def wait_sent(self, text: str) -> None:
        message = self.panel.locator(".jp-agent-user:not(.jp-mod-pending)").last
        expect(message.locator(".jp-agent-userText")).to_have_text(text)

    def approve(self) -> None:
        self.panel.get_by_role("button", name="Approve", exact=True).first.click()

    def turns(self) -> Locator:
        return self.panel.locator(".jp-agent-turn")

    def wait_ended(self) -> None:
        """Wait until the last turn has ended."""
        expect(self.turns().last).to_have_attribute("data-ended", "true", timeout=2 * TIMEOUT)
        expect(self.panel.get_by_role("button", name="Stop", exact=True)).to_have_count(0)

    def transcript(self) -> str:
        return self.panel.locator(".jp-agent-transcript").inner_text()
