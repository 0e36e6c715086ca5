"""Two browser windows have the notebook open: one of them is asked, so a cell runs once."""

from __future__ import annotations

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from lab.steps import READ, edit, run

COUNT = "with open('runs.txt', 'a') as file:\n    file.write('x')"


def test_n35_a_cell_runs_once_and_is_edited_in_one_window(
    lab: Lab, second: Lab, script: Script, notebook_name: str
) -> None:
    write_notebook(lab.server.root / notebook_name, [("count", "code", COUNT)])
    (lab.server.root / "runs.txt").unlink(missing_ok=True)
    lab.open(notebook_name)
    second.goto("lab?reset")
    second.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    script(
        {"calls": [READ]},
        {"calls": [run("count"), edit("count", "'x'", "'y'"), run("count")]},
        {"text": "Done."},
    )
    lab.ask("Run, edit, run")
    lab.wait_ended()
    assert (lab.server.root / "runs.txt").read_text() == "xy"
    edited = [page.sources()[0].count("'y'") for page in (lab, second)]
    assert sorted(edited) == [0, 1], "one window is the owner"
