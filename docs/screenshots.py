"""Takes the README's screenshots, and others to look at: a real JupyterLab, a scripted model, a real kernel.

    python docs/screenshots.py [FOLDER]

Without FOLDER the README's are renewed; else all scenes are put there.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from lab.harness import BROWSER_ARGUMENTS, LabServer, find_browser, free_port, running, write_notebook  # noqa: E402
from lab.lab import Lab  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import expect, sync_playwright  # noqa: E402

from jupyter_agent.testing.scripted import ScriptedServer  # noqa: E402

NAME = "prices.ipynb"
CSV = (
    "day,price\n" + "".join(f"2026-10-{day:02d},{3 + day * 0.07:.2f}\n" for day in range(1, 29)) + "2026-10-29,closed\n"
)
CELLS = [
    ("title", "markdown", "# Bread prices in October\n\nOne price a day, as the shop wrote it down."),
    ("read", "code", "import pandas as pd\n\nprices = pd.read_csv('prices.csv', parse_dates=['day'])\nprices.tail(3)"),
    ("clean", "code", "prices['price'] = [float(price) for price in prices['price']]"),
    ("mean", "code", "prices.groupby(prices.day.dt.isocalendar().week).price.mean().round(2)"),
]
READ: dict[str, Any] = {"name": "read_cells", "arguments": {}}
FIX: dict[str, Any] = {
    "op": "edit",
    "cell": "clean",
    "blocks": [
        {
            "search": "prices['price'] = [float(price) for price in prices['price']]",
            "replace": "# On some days the shop wrote a word.\n"
            "prices['price'] = pd.to_numeric(prices['price'], errors='coerce')\n"
            "prices = prices.dropna(subset='price')",
        }
    ],
}
LOOK = {"name": "run_code", "arguments": {"code": "prices[pd.to_numeric(prices.price, errors='coerce').isna()]"}}
SCRIPT = [
    {"text": "I look at the notebook and at what does not convert.", "calls": [READ]},
    {"calls": [LOOK]},
    {
        "text": "One of 29 rows holds the word `closed`. I convert the column and leave that day out.",
        "calls": [{"name": "edit_cells", "arguments": {"ops": [FIX]}}],
    },
    {"calls": [{"name": "run_cells", "arguments": {"cells": ["read", "clean", "mean"]}}]},
    {
        "text": "The weekly means are there now, from 28 of 29 days:\n\n"
        "| week | mean |\n|---|--:|\n| 40 | 3.18 |\n| 41 | 3.56 |\n| 42 | 4.05 |\n| 43 | 4.54 |\n| 44 | 4.89 |\n\n"
        "October 29 is left out because the file says `closed`. If that day should count as *open, price unknown*, "
        "interpolate instead: `prices.price.interpolate()`."
    },
]
README_SCENES = ("approval", "done-dark")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    port = free_port()
    environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "scripted"}
    with (
        tempfile.TemporaryDirectory() as temporary,
        running(LabServer(Path(temporary), environment=environment)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_browser(), args=BROWSER_ARGUMENTS)
        lab = Lab(browser.new_page(viewport={"width": 1180, "height": 760}), server)

        def shoot(scene: str) -> None:
            lab.page.mouse.move(5, 755)
            if folder is not None:
                lab.page.screenshot(path=folder / f"{scene}.png")
            elif scene in README_SCENES:
                taken = io.BytesIO(lab.page.screenshot())
                # A clone should not carry more of a picture than a reader sees of it.
                Image.open(taken).quantize(128).save(ROOT / "docs" / f"{scene}.png", optimize=True)

        (server.root / "prices.csv").write_text(CSV)
        write_notebook(server.root / NAME, CELLS)
        scenes(lab, port, shoot)
        browser.close()


def theme(lab: Lab, name: str) -> None:
    lab.command("apputils:change-theme", theme=f"JupyterLab {name}")
    lab.page.wait_for_function("name => document.body.dataset.jpThemeName === `JupyterLab ${name}`", arg=name)
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)
    lab.page.wait_for_load_state("networkidle")


def scenes(lab: Lab, port: int, shoot: Any) -> None:
    lab.goto("lab?reset")
    lab.open(NAME)
    lab.command("application:toggle-left-area")
    lab.command("notebook:run-all-cells")
    expect(lab.page.get_by_role("button", name="Fix with agent")).to_be_visible()
    lab.save()
    lab.show_panel()
    shoot("empty")
    theme(lab, "Dark")
    shoot("empty-dark")
    theme(lab, "Light")
    with ScriptedServer(SCRIPT, port=port):
        lab.ask("The conversion fails. Repair it, then give me the weekly means.")
        expect(lab.panel.locator(".jp-agent-approval h4")).to_contain_text("un code")
        shoot("approval-code")
        lab.approve()
        expect(lab.panel.locator(".jp-agent-approval .jp-agent-diff")).to_be_visible()
        shoot("approval")
        theme(lab, "Dark")
        shoot("approval-dark")
        lab.approve()
        expect(lab.panel.locator(".jp-agent-approval h4")).to_contain_text("un 3 cells")
        lab.panel.get_by_role("button", name="Always", exact=True).click()
        for _ in range(3):
            button = lab.panel.get_by_role("button", name="Approve", exact=True)
            ended = lab.panel.locator(".jp-agent-turn[data-ended=true]")
            expect(button.or_(ended).first).to_be_visible()
            if button.count():
                button.first.click()
        lab.wait_ended()
    expect(lab.panel.locator("table")).to_be_visible()
    shoot("done-dark")
    theme(lab, "Light")
    shoot("done")
    lab.panel.get_by_role("region", name="Changes to review").get_by_role("button").first.click()
    lab.panel.locator(".jp-agent-changeName").first.click()
    lab.panel.locator(".jp-agent-toolHead").first.click()
    shoot("review")
    lab.panel.get_by_role("button", name="Earlier conversations").click()
    expect(lab.panel.locator(".jp-agent-history li")).not_to_have_count(0)
    shoot("history")
    lab.page.keyboard.press("Escape")
    lab.new_conversation()
    lab.field.click()
    lab.page.keyboard.type("@pri")
    expect(lab.panel.locator(".jp-agent-suggestions")).to_be_visible()
    shoot("mention")
    lab.page.keyboard.press("Escape")
    lab.field.fill("")
    broken = {"fault": {"status": 401, "message": "invalid x-api-key"}, "repeat": "forever"}
    with ScriptedServer([broken], port=port, check_on_exit=False):
        lab.ask("Go on")
        lab.wait_ended()
    shoot("error")
    theme(lab, "Dark")
    shoot("error-dark")
    lab.command("docmanager:save")


if __name__ == "__main__":
    main()
