"""An edit of an open notebook shows within 20 ms; a trivial cell is added and run within 60 ms (medians, localhost).

The edit is timed from the request to the server until the editor's DOM has changed, in a page's own notebook and in one
that jupyter-collaboration shares; adding and running by the times of the tools' events, so that the model's turn-taking
is left out: in a page that shows the notebook, which has to draw it, and in a notebook that no page has open. How long
JupyterLab takes by itself to add and run a cell in its page stands beside that.
"""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

from _harness import Result
from _lab import against_promise, beside, lab_page

EDITS, RUNS = 60, 30
WATCH = """() => {
  window.changes = [];
  const editor = document.querySelector('.jp-Notebook .cm-content');
  new MutationObserver(() => window.changes.push(performance.timeOrigin + performance.now()))
    .observe(editor, { subtree: true, childList: true, characterData: true });
}"""
NAME, CLOSED = "bench.ipynb", "closed.ipynb"


ALONE = """async count => {
  const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
  const shared = content.model.sharedModel;
  const times = [];
  for (let number = 0; number < count; number++) {
    const began = performance.now();
    shared.insertCell(shared.cells.length, { cell_type: 'code', source: '1 + 1', metadata: {}, id: `alone-${number}` });
    const cell = content.widgets[content.widgets.length - 1];
    await cell.constructor.execute(cell, sessionContext, {});
    times.push(performance.now() - began);
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  return times;
}"""
"""What JupyterLab does when a person adds a cell and runs it."""


def measure() -> list[Result]:
    from lab.harness import free_port, write_notebook

    port = free_port()
    cells = [("first", "code", "x = 0")]
    with lab_page(f"http://127.0.0.1:{port}") as lab:
        write_notebook(lab.server.root / NAME, cells)
        lab.open(NAME)
        results = [
            against_promise("edit request to changed DOM", "ms", edits(lab), 20),
            against_promise("add and run a trivial cell, open", "ms", open_runs := runs(lab, port, NAME), 60),
        ]
        alone = lab.page.evaluate(ALONE, RUNS)[1:]
        results.append(beside("the same", "JupyterLab alone", open_runs, alone))
        write_notebook(lab.server.root / CLOSED, cells)
        results.append(against_promise("add and run a trivial cell, closed", "ms", runs(lab, port, CLOSED), 60))
    with lab_page(collaboration=True) as lab:
        write_notebook(lab.server.root / NAME, cells)
        lab.open(NAME)
        results.append(against_promise("edit request to changed DOM, shared", "ms", edits(lab), 20))
    return results


def edits(lab: Any) -> list[float]:
    """Milliseconds of each edit."""
    lab.page.evaluate(WATCH)
    kernel = next(s["kernel"]["id"] for s in lab.server.get("api/sessions") if s["path"].endswith(NAME))
    times = []
    source = "x = 0"
    for number in range(1, EDITS + 1):
        changed = f"x = {number}"
        request = {
            "kernel": kernel,
            "path": str(lab.server.root.resolve() / NAME),
            "action": "change",
            "order": ["first"],
            "known": ["first"],
            "insert": {},
            "seen": {},
            "set": {"first": {"source": changed}},
            "expected": {"first": source},
        }
        lab.page.evaluate("() => { window.changes.length = 0; }")
        began = time.time() * 1000
        lab.server.request("POST", "jupyter-agent/bridge", request)
        lab.page.wait_for_function("() => window.changes.length > 0")
        times.append(lab.page.evaluate("() => window.changes[0]") - began)
        source = changed
    return times


def runs(lab: Any, port: int, name: str) -> list[float]:
    """Milliseconds of each pair of calls: insert a cell at the end of the notebook `name`, run it."""
    from lab.steps import journal

    from jupyter_agent.testing.scripted import ScriptedServer

    insert = {"op": "insert", "type": "code", "source": "1 + 1"}
    script: list[dict[str, Any]] = [{"calls": [{"name": "read_cells", "arguments": {"path": name}}]}]
    for _ in range(RUNS):
        script.append({"calls": [{"name": "edit_cells", "arguments": {"ops": [insert], "path": name}}]})
        run = {"name": "run_cells", "arguments": {"cells": ["{{regex:id=(\\S+)}}"], "path": name}}
        script.append({"calls": [run]})
    lab.show_panel()
    lab.new_conversation()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    with ScriptedServer([*script, {"text": "Done."}], port=port):
        lab.ask("Add and run cells")
        # Not by looking at the page, since looking is work for the very thread that is measured.
        while journal(lab)[-1]["type"] != "stop":
            time.sleep(0.2)
        lab.wait_ended()
    took = []
    # The agent's own closing checks are calls too, under ids of their own.
    calls = [event for event in journal(lab) if event.get("call", "").startswith("toolu_")]
    for event, after in pairwise([event for event in calls if event["type"] in ("tool_start", "tool_result")]):
        if event["type"] == "tool_start" and after["type"] == "tool_result" and event["name"] != "read_cells":
            assert not after["is_error"], json.dumps(after["content"])
            took.append((after["time"] - event["time"]) * 1000)
    pairs = [add + run for add, run in zip(took[::2], took[1::2], strict=True)]
    # The first run also waits for the kernel's first answer to us.
    return pairs[1:]
