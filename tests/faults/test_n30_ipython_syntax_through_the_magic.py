"""n30 in the magic: magics and `!` are no syntax errors, and line numbers stay those of the cell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conversations import notebook_file
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


SOURCE = "%matplotlib inline\nfiles = !ls\n!echo shelled\nvalue = 1"


def test_n30_edits_and_runs_of_ipython_syntax(kernel: Front) -> None:
    notebook_file(kernel.folder / "m.ipynb", SOURCE)
    blocks = [{"search": "value = 1", "replace": "value = 2"}]
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": blocks}])
    script = [
        call("read_cells"),
        edit,
        {"expect": {"tool_result_contains": "syntax ok"}} | call("run_cells", cells="all"),
        {"expect": {"tool_result_contains": ["ok", "shelled"]}}
        | call("run_code", code="%%time\nvalue = 3\n\nvalue + missing"),
        {"expect": {"tool_result_contains": ["NameError", "run_code line 4"]}, "text": "Known."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new --mode accept-edits --notebook m.ipynb\nEdit it.")
    assert ran.status == "ok", ran.text
    assert "shelled" in ran.text
    assert kernel.value("len(files) > 0")
    assert "SyntaxError" not in ran.text


def test_n30_the_magic_itself_among_other_magics(kernel: Front) -> None:
    """A cell with `%agent` on a line of its own keeps its other magics and its own line numbers."""
    with model(kernel, [{"text": "Said."}]):
        ran = kernel.run("before = !echo one\n%agent --new It's a request, isn't it?\nafter = 1\n1/0")
    assert "Said." in ran.text
    assert kernel.value("(list(before), after)") == (["one"], 1)
    assert "line 4" in ran.text
