"""The page stays responsive: no frame over 100 ms while a long answer streams, beside a notebook of 5,000 cells.

A frame's time is the distance between two animation frames. Beside the notebook, the page's longest frame without an
answer is given too: JupyterLab makes the cells one by one in the page's pauses, each in 60 ms (an editor asks for the
fonts, for which the styles of 5,000 cells are computed). The bundle that a page loads is at most 250 KB.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from _harness import Result
from _lab import against_promise, lab_page

PROMISED_FRAME, PROMISED_BUNDLE = 100.0, 250.0
PARAGRAPH = (
    "Here is **what I found** in `cell 3`: the column is read as text, so the sum is a concatenation.\n\n"
    "```python\nframe['price'] = pd.to_numeric(frame['price'], errors='coerce')\nframe.groupby('day').sum()\n```\n\n"
    "| day | price |\n|---|--:|\n| Monday | 3.5 |\n| Tuesday | 4.0 |\n\n- first point\n- second point with $x^2$\n\n"
)
ROUNDS = 3
FRAMES = """() => {
  const turn = [...document.getElementsByClassName('jp-agent-turn')].pop();
  const transcript = document.querySelector('.jp-agent-transcript');
  window.seen = new Promise(done => {
    let longest = 0, last = 0, changed = Infinity;
    const observer = new MutationObserver(() => { changed = performance.now(); });
    const step = now => {
      longest = last ? Math.max(longest, now - last) : 0;
      last = now;
      if (turn.dataset.ended === 'true' && now - changed > 1000) {
        observer.disconnect();
        const { scrollHeight, scrollTop, clientHeight } = transcript;
        done({ longest, below: scrollHeight - scrollTop - clientHeight });
      } else {
        requestAnimationFrame(step);
      }
    };
    observer.observe(turn, { childList: true, subtree: true, characterData: true });
    requestAnimationFrame(step);
  });
}"""
"""Counts from before the first piece of the answer until a second after the last of it is drawn, in the page alone: an
expectation of Playwright that waits stops the page for 130 ms to describe what it sees instead."""


STILL = """() => new Promise(done => {
  let longest = 0, first = 0, last = 0;
  const step = now => {
    first ||= now;
    longest = last ? Math.max(longest, now - last) : 0;
    last = now;
    if (now - first > 5000) { done(longest); } else { requestAnimationFrame(step); }
  };
  requestAnimationFrame(step);
})"""
"""The longest of five seconds in which nothing of ours happens."""


def measure() -> list[Result]:
    return [bundle(), *frames()]


def bundle() -> Result:
    from lab.harness import BUNDLE

    size = sum(path.stat().st_size for path in (BUNDLE / "static").glob("*.js"))
    return against_promise("bundle", "KB", [size / 1000], PROMISED_BUNDLE)


def frames() -> list[Result]:
    alone, still, beside = zip(*(in_new_page() for _ in range(ROUNDS)), strict=True)
    return [
        against_promise("longest frame while 60 KB stream", "ms", alone, PROMISED_FRAME),
        against_promise("the same beside 5,000 cells", "ms", beside, PROMISED_FRAME),
        against_still(beside, still),
    ]


def against_still(frames: Sequence[float], still: Sequence[float]) -> Result:
    ratios = [ours / theirs for ours, theirs in zip(frames, still, strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4, method="inclusive")
    ours, theirs = statistics.median(frames), statistics.median(still)
    return Result("the same", "5,000 cells, no answer", ours, theirs, ratio, low, high, limit=None, rounds=len(ratios))


def in_new_page() -> tuple[float, float, float]:
    """The longest frames in milliseconds where nothing was loaded or drawn before.

    While an answer streams; beside the notebook while nothing of ours happens; beside the notebook while one streams.
    """
    from lab.harness import free_port, write_notebook

    port = free_port()
    cells = [(f"c{number}", "code", f"value_{number} = {number}\nprint(value_{number})") for number in range(5_000)]
    with lab_page(f"http://127.0.0.1:{port}") as lab:
        lab.show_panel()
        alone = streamed(lab, port)
        write_notebook(lab.server.root / "large.ipynb", cells)
        lab.open("large.ipynb")
        lab.show_panel()
        return alone, float(lab.page.evaluate(STILL)), streamed(lab, port)


def streamed(lab: Any, port: int) -> float:
    """The longest frame in milliseconds while 60 KB of markdown arrive, as fast as models write at their fastest."""
    from jupyter_agent.testing.scripted import ScriptedServer

    line = {"text": PARAGRAPH * 150, "pause": 0.002, "pause_until": "go"}
    with ScriptedServer([line], port=port) as model:
        lab.new_conversation()
        lab.ask("Tell me at length")
        lab.page.evaluate(FRAMES)
        model.gate("go").open()
        seen = lab.page.evaluate("() => window.seen")
    if seen["below"] > 1:
        raise RuntimeError(f"The panel stopped following the answer {seen['below']:.0f} pixels before its end.")
    return float(seen["longest"])
