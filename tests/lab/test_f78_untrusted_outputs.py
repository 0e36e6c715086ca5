"""A notebook from elsewhere stays untrusted, however often the agent edits it: its outputs' code never runs."""

from __future__ import annotations

import json

from lab.conftest import Script
from lab.harness import write_notebook
from lab.lab import Lab
from lab.steps import CELLS, READ, edit
from playwright.sync_api import expect

HOSTILE = "<p id='hostile'>seen</p><img src='x' onerror='window.hit = 1'><script>window.hit = 1</script>"
TRUST = "() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells).map(cell => cell.trusted)"


def test_f78_twenty_edits_do_not_make_it_trusted(lab: Lab, script: Script, notebook_name: str) -> None:
    path = lab.server.root / notebook_name
    write_notebook(path, [*CELLS, ("hostile", "code", "shown = 'elsewhere'")])
    raw = json.loads(path.read_text())
    raw["cells"][3]["execution_count"] = 1
    raw["cells"][3]["outputs"] = [
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": HOSTILE, "text/plain": "plain"}},
        {"output_type": "display_data", "metadata": {}, "data": {"application/javascript": "window.hit = 1"}},
    ]
    path.write_text(json.dumps(raw))
    lab.open(notebook_name)
    lab.show_panel()
    lab.panel.get_by_label("Mode", exact=True).select_option(label="Accept edits")
    assert lab.page.evaluate(TRUST)[3] is False
    edits = [edit("first", "# here", f"# here {n}\n# here") for n in range(19)]
    tag = {"op": "set_tags", "cell": "hostile", "tags": ["seen"]}
    edits.append({"name": "edit_cells", "arguments": {"ops": [tag]}})
    script({"calls": [READ]}, {"calls": edits[:10]}, {"calls": edits[10:]}, {"text": "Done."})
    lab.ask("Edit it twenty times")
    lab.wait_ended()
    assert lab.sources()[1].count("# here") == 20
    assert lab.page.evaluate(TRUST)[3] is False
    lab.wait_saved(notebook_name)
    lab.reload()
    lab.open(notebook_name)
    assert lab.page.evaluate(TRUST)[3] is False
    expect(lab.cell(3).locator(".jp-OutputArea-output").first).to_be_visible()
    assert lab.page.evaluate("() => window.hit") is None
