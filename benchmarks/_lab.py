"""What the lab's benchmarks share: a real JupyterLab in a real Chromium, and results against a promised figure."""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _harness import Result

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def against_promise(name: str, unit: str, values: Sequence[float], promise: float) -> Result:
    """The median of `values` against the promised figure; `limit` 1 means that the promise is kept."""
    return against(name, f"{promise:g} {unit}", values, promise, limit=1.0)


def against(name: str, what: str, values: Sequence[float], baseline: float, *, limit: float | None = None) -> Result:
    """The median of `values` against one figure for all of them."""
    ratios = [value / baseline for value in values]
    low, ratio, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return Result(name, what, statistics.median(values), baseline, ratio, low, high, limit, len(values))


@contextlib.contextmanager
def lab_page(model_url: str = "http://127.0.0.1:9", *, collaboration: bool = False) -> Iterator[Any]:
    """A `Lab` (tests/lab/lab.py) at its start; `collaboration`: notebooks are shared by jupyter-collaboration."""
    from lab.harness import BROWSER_ARGUMENTS, LabServer, check_bundle, find_browser, running
    from lab.lab import Lab
    from playwright.sync_api import sync_playwright

    check_bundle()
    environment = {"ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": "scripted"}
    with (
        tempfile.TemporaryDirectory(prefix="lab-") as folder,
        running(LabServer(Path(folder), environment=environment, collaboration=collaboration)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_browser(), args=BROWSER_ARGUMENTS)
        lab = Lab(browser.new_page(viewport={"width": 1400, "height": 900}), server)
        lab.goto("lab?reset")
        yield lab
        browser.close()
