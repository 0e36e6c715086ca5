"""`jupyter-agent tool edit_file` on 5,000 lines, the whole process: at most 5 × `ast.parse` of the file in Python."""

from __future__ import annotations

import _pydecimal
import json
import os
import sys
import tempfile
from pathlib import Path

from _harness import Result, command, paired

LINES = 5_000


def real_source() -> str:
    """The first 5,000 lines or a little less of a module of the standard library, cut between two methods."""
    lines = Path(str(_pydecimal.__file__)).read_text().splitlines(keepends=True)[:LINES]
    last = max(number for number, line in enumerate(lines) if line.startswith("    def "))
    return "".join(lines[:last])


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.py"
        path.write_text(real_source())
        line = next(line for line in path.read_text().splitlines() if line.strip().startswith("def sqrt("))
        edits = [line, line.replace("sqrt(", "square_root(")]

        def edit() -> object:
            old, new = edits
            edits.reverse()
            arguments = json.dumps({"path": path.name, "blocks": [{"search": old, "replace": new}]})
            program = [sys.executable, "-m", "jupyter_agent", "tool", "edit_file", arguments, "--mode", "accept-edits"]
            # Installed programs have their bytecode beside them; where writing it is switched off, each start compiles.
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            return command(program, cwd=folder, env=environment)()

        parse = command([sys.executable, "-c", "import ast; ast.parse(open('module.py').read())"], cwd=folder)
        return [paired("tool edit_file, 5,000 lines", "python: ast.parse of it", edit, parse, limit=5.0, rounds=15)]
