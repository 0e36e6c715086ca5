"""The turn that repairs a broken notebook, for tests of whole processes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from conversations import notebook_file

Json = dict[str, Any]


def call(name: str, **arguments: Any) -> Json:
    return {"text": f"I call {name}.", "calls": [{"name": name, "arguments": arguments}]}


REPAIR = [
    call("read_cells"),
    call("run_cells", cells="all"),
    {"expect": {"tool_result_contains": "error: NameError"}}
    | call("edit_cells", ops=[{"op": "edit", "cell": "c2", "blocks": [{"search": "lenn", "replace": "len"}]}]),
    call("run_cells", cells=["c2"]),
    {"expect": {"tool_result_contains": ["ok", "2.0"]}, "text": "It was a typo."},
]


def broken(folder: Path) -> Path:
    return notebook_file(folder / "a.ipynb", "x = [1, 2, 3]", "print(sum(x) / lenn(x))")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
