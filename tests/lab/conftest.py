"""One server, one browser and one page for all tests; each begins with a fresh conversation and no open documents."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.harness import BROWSER_ARGUMENTS, LabServer, check_bundle, find_browser, free_port, running
from lab.lab import Lab
from playwright.sync_api import Browser, Page, sync_playwright

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    check_bundle()
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
    # "Leave this page?" is asked when something is unsaved: yes.
    opened.on("dialog", lambda dialog: dialog.accept())
    yield opened
    context.close()


@pytest.fixture
def lab(page: Page, server: LabServer, request: pytest.FixtureRequest) -> Iterator[Lab]:
    lab = Lab(page, server)
    lab.begin()
    page.on("pageerror", problems := _Problems())
    yield lab
    page.remove_listener("pageerror", problems)
    page.unroute_all(behavior="ignoreErrors")
    if lab.spoiled or request.node.stash.get(FAILED, False):
        # What a test leaves behind in a page must not be another one's trouble.
        page.goto("about:blank")
    assert problems.texts == [], "errors in the page"


@pytest.fixture
def second(browser: Browser, lab: Lab) -> Iterator[Lab]:
    """Another window of the same person, not yet at any page."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    yield Lab(context.new_page(), lab.server)
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


class _Problems:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, error: Any) -> None:
        if "ResizeObserver loop" not in str(error):
            self.texts.append(f"{error}\n{error.stack}")


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
    return f"{request.node.name.removeprefix('test_')[:40].replace('[', '-').replace(']', '')}.ipynb"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Asynchronous tests before the first that starts synchronous Playwright: afterwards this thread's loop is taken.

    The hang limit is for a busy machine; how long a page takes is not what these tests are about.
    """
    mine = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in mine:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(400))
    mine.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
    items[:] = [*(item for item in items if item not in set(mine)), *mine]
