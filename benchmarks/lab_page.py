"""The page stays responsive: no frame over 100 ms while a long answer streams, beside a notebook of 5,000 cells.

A frame's time is the distance between two animation frames. The bundle that a page loads is at most 250 KB.
"""

from __future__ import annotations

from typing import Any

from _harness import Result
from _lab import against_promise, lab_page

PROMISED_FRAME, PROMISED_BUNDLE = 100.0, 250.0
PARAGRAPH = (
    "Here is **what I found** in `cell 3`: the column is read as text, so the sum is a concatenation.\n\n"
    "```python\nframe['price'] = pd.to_numeric(frame['price'], errors='coerce')\nframe.groupby('day').sum()\n```\n\n"
    "| day | price |\n|---|--:|\n| Monday | 3.5 |\n| Tuesday | 4.0 |\n\n- first point\n- second point with $x^2$\n\n"
)
FRAMES = """() => {
  window.frames = [];
  let last = performance.now();
  window.counting = true;
  const step = now => {
    window.frames.push(now - last);
    last = now;
    if (window.counting) { requestAnimationFrame(step); }
  };
  requestAnimationFrame(now => { last = now; requestAnimationFrame(step); });
}"""


def measure() -> list[Result]:
    return [bundle(), *frames()]


def bundle() -> Result:
    from lab.harness import BUNDLE

    size = sum(path.stat().st_size for path in (BUNDLE / "static").glob("*.js"))
    return against_promise("bundle", "KB", [size / 1000], PROMISED_BUNDLE)


def frames() -> list[Result]:
    from lab.harness import free_port, write_notebook

    port = free_port()
    cells = [(f"c{number}", "code", f"value_{number} = {number}\nprint(value_{number})") for number in range(5_000)]
    with lab_page(f"http://127.0.0.1:{port}") as lab:
        lab.show_panel()
        alone = streamed(lab, port)
        write_notebook(lab.server.root / "large.ipynb", cells)
        lab.open("large.ipynb")
        lab.show_panel()
        beside = streamed(lab, port)
    return [
        against_promise("longest frame while 60 KB stream", "ms", [alone], PROMISED_FRAME),
        against_promise("the same beside 5,000 cells", "ms", [beside], PROMISED_FRAME),
    ]


def streamed(lab: Any, port: int) -> float:
    """The longest frame in milliseconds while 60 KB of markdown arrive, as fast as models write at their fastest."""
    from jupyter_agent.testing.scripted import ScriptedServer

    with ScriptedServer([{"text": PARAGRAPH * 150, "pause": 0.002}], port=port):
        lab.page.evaluate(FRAMES)
        lab.ask("Tell me at length")
        lab.wait_ended()
        lab.page.evaluate("() => { window.counting = false; }")
    return float(max(lab.page.evaluate("() => window.frames")))
