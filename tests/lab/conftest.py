"""One server, one browser and one page for all tests; each begins with a fresh conversation and no open documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.harness import BROWSER_ARGUMENTS, BUNDLE, LabServer, find_browser, free_port, running
from lab.lab import Lab
from playwright.sync_api import Browser, Page, sync_playwright

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        message = "no Chromium here; on Debian: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    if not (BUNDLE / "package.json").is_file():
        pytest.fail("the labextension is not built: run `pip install -e .` first")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def model_port() -> int:
    return free_port()


@pytest.fixture(scope="session")
def model_environment(model_port: int) -> dict[str, str]:
    """What makes a server use the scripted model of the test."""
    return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}", "ANTHROPIC_API_KEY": "scripted"}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[LabServer]:
    with running(LabServer(tmp_path_factory.mktemp("lab"), environment=model_environment)) as started:
        yield started


@pytest.fixture(scope="session")
def page(browser: Browser, server: LabServer) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    yield opened
    context.close()


@pytest.fixture
def lab(page: Page, server: LabServer) -> Iterator[Lab]:
    lab = Lab(page, server)
    page.on("pageerror", problems := _Problems())
    page.evaluate("() => { try { localStorage.clear(); sessionStorage.clear(); } catch {} }")
    lab.goto("lab?reset")
    lab.new_conversation()
    yield lab
    page.remove_listener("pageerror", problems)
    page.unroute_all(behavior="ignoreErrors")
    assert problems.texts == [], "errors in the page"


class _Problems:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, error: Any) -> None:
        if "ResizeObserver loop" not in str(error):
            self.texts.append(str(error))


@pytest.fixture
def script(model_port: int) -> Iterator[Script]:
    """`script({...reply}, {...reply})` starts the model that the server talks to."""
    started: list[ScriptedServer] = []

    def start(*lines: Any) -> ScriptedServer:
        model = ScriptedServer(lines, port=model_port).start()
        started.append(model)
        return model

    yield start
    for model in started:
        model.close()
        assert model.failures == []


@pytest.fixture
def notebook_name(server: LabServer, request: pytest.FixtureRequest) -> str:
    """A name of its own for each test."""
    Path(server.root).mkdir(exist_ok=True)
    return f"{request.node.name[:40].replace('[', '-').replace(']', '')}.ipynb"
