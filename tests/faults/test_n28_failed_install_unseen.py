"""n28: a pip install that fails inside a cell ends without an exception; the result says that it failed, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversations import conversation, notebook_file

from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.tools.installs import failed_install

MISSING = "%pip install --no-index --disable-pip-version-check no-such-package-anywhere"


async def test_n28_a_failed_install_is_an_error(tmp_path: Path) -> None:
    notebook = notebook_file(tmp_path / "a.ipynb", MISSING, "print('text of a good run')")
    async with conversation(tmp_path, notebook=notebook) as (made, _, _server):
        made.begin_turn()
        for name, arguments in (("run_cells", {"cells": ["c1"]}), ("run_code", {"code": MISSING})):
            result = await run_call(made, new_call_id(), name, arguments)
            text = result.content[0]["text"]
            assert result.is_error
            assert text.startswith("error: InstallFailed: ERROR: No matching distribution found"), text
        good = await run_call(made, new_call_id(), "run_cells", {"cells": ["c2"]})
        assert "text of a good run" in str(good.content)


def said(*lines: str) -> list[dict[str, object]]:
    return [{"output_type": "stream", "name": "stdout", "text": "\n".join(lines) + "\n"}]


@pytest.mark.parametrize(
    "code", ["%pip install x", "!pip install x", "!python -m pip install x", "%conda install x", "!uv add x"]
)
def test_n28_ways_to_install(code: str) -> None:
    assert failed_install(code, said("ERROR: no")) == "ERROR: no"


def test_n28_what_is_no_failure() -> None:
    assert failed_install("print('ERROR: x')", said("ERROR: x")) is None
    assert failed_install("%pip install x", said("Requirement already satisfied: x")) is None
    conflict = "ERROR: pip's dependency resolver does not currently take into account all packages"
    assert failed_install("%pip install x", said(conflict, "Successfully installed x-1.0")) is None
