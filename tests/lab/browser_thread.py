"""One page of a real browser on an event loop of its own, for tests that have an event loop themselves.

Synchronous Playwright keeps its thread's event loop running, so it does not go together with asynchronous tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from lab.harness import BROWSER_ARGUMENTS
from playwright.async_api import Page, async_playwright

T = TypeVar("T")


class BrowserThread:
    """`run` awaits a coroutine there and returns its result here."""

    page: Page

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def start(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for it, from a thread without a loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def evaluate(self, expression: str, argument: Any = None) -> Any:
        return await self.run(self.page.evaluate(expression, argument))


@contextlib.contextmanager
def browser_page(path: str, prepare: Callable[[Page], Coroutine[Any, Any, None]]) -> Iterator[BrowserThread]:
    """A page of the browser at `path`, after `prepare` was awaited on it."""
    browser = BrowserThread()
    thread = threading.Thread(target=browser.loop.run_forever, name="browser", daemon=True)
    thread.start()
    stack = contextlib.AsyncExitStack()

    async def open_page() -> None:
        browser.page = await stack.enter_async_context(_page(path))
        await prepare(browser.page)

    try:
        browser.start(open_page())
        yield browser
    finally:
        browser.start(stack.aclose())
        browser.loop.call_soon_threadsafe(browser.loop.stop)
        thread.join()
        browser.loop.close()


@contextlib.asynccontextmanager
async def _page(path: str) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        try:
            page = await started.new_page(viewport={"width": 1200, "height": 800})
            page.set_default_timeout(90_000)
            yield page
        finally:
            await started.close()
