"""Cells of an open notebook run through its page: input(), displays, Stop and the queue are JupyterLab's own."""

from __future__ import annotations

from pathlib import Path

from lab.conftest import Script
from lab.harness import wait_for, write_notebook
from lab.lab import Lab
from playwright.sync_api import expect

COUNTING = "import time\nfor n in range(15):\n    print('line', n, flush=True)\n    time.sleep(0.2)\n"


def begin(lab: Lab, name: str, *sources: str) -> None:
    """Open a notebook with these code cells, named `c0`, `c1`, …, and the panel in a mode that asks nothing."""
    write_notebook(lab.server.root / name, [(f"c{n}", "code", source) for n, source in enumerate(sources)])
    lab.open(name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")


def run(*cells: str, timeout: float = 60.0) -> dict[str, object]:
    return {"calls": [{"name": "run_cells", "arguments": {"cells": list(cells), "timeout": timeout}}]}


def text_of(lab: Lab, name: str, index: int) -> str:
    """The stream text of a saved cell."""
    outputs = lab.server.notebook(name)["cells"][index]["outputs"]
    return "".join("".join(output.get("text", "")) for output in outputs)


def test_input_is_asked_in_the_cell_and_the_model_is_told(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, "who = input('Who is it? ')\nprint('Hello', who)")
    model = script(
        run("c0", timeout=1),
        {
            "expect": {"tool_result_contains": "cell c0 asks the person for input"},
            "calls": [{"name": "control_kernel", "arguments": {"action": "wait"}}],
        },
        {"text": "Greeted."},
    )
    lab.ask("Greet")
    box = lab.cell(0).locator(".jp-Stdin-input")
    box.click()
    wait_for(lambda: len(model.messages) >= 2, "the model was told that the cell waits")
    lab.page.keyboard.type("Ada")
    lab.page.keyboard.press("Enter")
    lab.wait_ended()
    expect(lab.cell(0).locator(".jp-OutputArea-output").last).to_contain_text("Hello Ada")
    wait_for(lambda: "Hello Ada" in text_of(lab, notebook_name, 0), "the outputs are saved")


def test_displays_errors_and_counts_are_as_from_a_persons_run(lab: Lab, script: Script, notebook_name: str) -> None:
    shown = (
        "from IPython.display import display, clear_output\nprint('gone')\nclear_output()\n"
        "handle = display('first', display_id=True)\nhandle.update('second')\n6 * 7"
    )
    begin(lab, notebook_name, shown, "1 / 0", "print('after')")
    script(
        {"calls": [{"name": "run_cells", "arguments": {"cells": "all", "stop_on_error": False}}]},
        {"text": "Ran.", "expect": {"tool_result_contains": "ZeroDivisionError"}},
    )
    lab.ask("Run all")
    lab.wait_ended()
    assert lab.outputs(0) == "[\"'second'\", '42']"
    assert "ZeroDivisionError" in lab.outputs(1)
    saved = lab.server.notebook(notebook_name)["cells"]
    assert [output["output_type"] for output in saved[0]["outputs"]] == ["display_data", "execute_result"]
    assert saved[1]["outputs"][0]["ename"] == "ZeroDivisionError"
    assert text_of(lab, notebook_name, 2) == "after\n"
    counts = [cell["execution_count"] for cell in saved]
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]
    for number, count in enumerate(counts):
        # Only cells in sight are drawn.
        lab.page.evaluate("n => window.jupyterapp.shell.currentWidget.content.scrollToItem(n)", number)
        prompt = lab.page.locator(f".jp-Cell[data-windowed-list-index='{number}'] .jp-InputPrompt")
        expect(prompt).to_have_text(f"[{count}]:")
    assert "tags" not in saved[1]["metadata"]


def test_n38_a_failing_cell_of_ours_leaves_the_persons_queue(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, "import time\ntime.sleep(3)\n1 / 0", "print('mine')")
    script(run("c0"), {"text": "It failed."})
    lab.ask("Run the first")
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
    lab.editor(1).click()
    lab.page.keyboard.press("Control+Enter")
    lab.wait_ended()
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text("mine\n", use_inner_text=True)


def test_stop_interrupts_the_cell(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, "print('started', flush=True)\nimport time\ntime.sleep(600)")
    script(run("c0"))
    lab.ask("Run it")
    expect(lab.cell(0).locator(".jp-OutputArea-output").first).to_contain_text("started")
    lab.panel.get_by_role("button", name="Stop", exact=True).click()
    lab.wait_ended()
    expect(lab.cell(0).locator(".jp-OutputArea-output").last).to_contain_text("KeyboardInterrupt")


def test_a_tab_closed_while_its_cell_runs_loses_no_output(lab: Lab, script: Script, notebook_name: str) -> None:
    begin(lab, notebook_name, COUNTING)
    script(run("c0"), {"text": "Counted."})
    lab.ask("Count")
    expect(lab.cell(0).locator(".jp-OutputArea-output")).to_contain_text("line 1")
    lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    lab.wait_ended()
    everything = "".join(f"line {n}\n" for n in range(15))
    wait_for(lambda: text_of(lab, notebook_name, 0) == everything, "all lines are in the file")


def test_a_page_that_goes_away_while_its_cell_runs_loses_no_output(
    lab: Lab, script: Script, notebook_name: str
) -> None:
    begin(lab, notebook_name, COUNTING)
    model = script(run("c0"), {"text": "Counted.", "pause_until": "looked", "pause_at": "headers"})
    lab.ask("Count")
    expect(lab.cell(0).locator(".jp-OutputArea-output")).to_contain_text("line 1")
    lab.page.goto("about:blank")
    everything = "".join(f"line {n}\n" for n in range(15))
    wait_for(lambda: text_of(lab, notebook_name, 0) == everything, "all lines are in the file", timeout=60)
    model.gate("looked").open()
    assert Path(lab.server.root / notebook_name).is_file()
