"""What `%load_ext` registers: the rewriting of cells, completeness, loading twice, unloading, and no heavy imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

CALL = "await get_ipython().jupyter_agent"


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "jupyter_agent")
    yield made
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%agent\nDo it.", f"{CALL}.cell('', 'Do it.\\n')\n"),
        ("%%agent --mode plan\nIt's\n  indented\n", f"{CALL}.cell('--mode plan', \"It's\\n  indented\\n\")\n"),
        ("\n\n%%agent\nDo it.", f"{CALL}.cell('', 'Do it.\\n')\n"),
        ('%agent It\'s a "request"', f"{CALL}.line(' It\\'s a \"request\"')\n"),
        ("x = 1\n%agent go\ny = 2", f"x = 1\n{CALL}.line(' go')\ny = 2\n"),
        ("if x:\n    %agent go", f"if x:\n    {CALL}.line(' go')\n"),
        ("for x in y:\n    z\n    %agent go (\nw", f"for x in y:\n    z\n    {CALL}.line(' go (')\nw\n"),
    ],
)
def test_requests_become_awaited_calls(shell: Any, cell: str, expected: str) -> None:
    assert shell.transform_cell(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        'text = """\n%agent go\n"""\n',
        "numbers = [\n1,\n# %agent go\n]\n",
        "text = '%agent go'\n",
        "# %agent go\n",
        "agent = 1\n",
        "x = 5 %agent\n",
    ],
)
def test_what_is_no_request_stays(shell: Any, cell: str) -> None:
    assert shell.transform_cell(cell) == cell


def test_other_magics_and_other_cell_magics_are_left_alone(shell: Any) -> None:
    assert "run_line_magic('agents'" in shell.transform_cell("%agents go")
    assert "run_cell_magic('bash'" in shell.transform_cell("%%bash\n%agent go")
    mixed = shell.transform_cell("files = !ls\n%agent go\n%time 1")
    assert f"{CALL}.line(' go')" in mixed
    assert "run_line_magic('time'" in mixed


def test_a_cell_is_complete_when_ipython_says_so_of_any_cell_magic(shell: Any) -> None:
    assert shell.check_complete("%%agent\nDo it")[0] == "incomplete"
    assert shell.check_complete("%%agent\nDo it\n\n")[0] == "complete"
    assert shell.check_complete("%agent it's done")[0] == "complete"


def test_loading_twice_is_loading_once(shell: Any) -> None:
    before = len(shell.input_transformers_cleanup), len(shell.configurables)
    shell.run_line_magic("load_ext", "jupyter_agent")
    shell.run_line_magic("reload_ext", "jupyter_agent")
    assert (len(shell.input_transformers_cleanup), len(shell.configurables)) == before
    assert shell.transform_cell("%agent go").count("jupyter_agent") == 1


def test_where_it_cannot_be_awaited_it_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("agent", "go")
    assert "on a line of its own" in capsys.readouterr().out


def test_loading_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
        "import traitlets.config\nbefore = set(sys.modules)\nshell.run_line_magic('load_ext', 'jupyter_agent')\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if not name.startswith("jupyter_agent")]
    ours = [name for name in done.stdout.split() if name.startswith("jupyter_agent")]
    assert set(ours) <= {"jupyter_agent", "jupyter_agent.magic", "jupyter_agent.magic.entry"}
    assert len(loaded) < 10, loaded
