"""n41: what looks into a kernel is stdlib-only text: it works in an environment that has nothing of ours."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

from jupyter_agent.kernel.inspection import describe_source

PROGRAM = """
import json, sys
namespace = {"x": 1, "words": ["a"] * 1000, "text": "y" * 10_000, "_hidden": 1}
module = {"__name__": "described"}
exec(sys.stdin.read(), module)
before, loaded = set(namespace), set(sys.modules)
print(module["describe_json"](namespace, None, True))
assert set(namespace) == before
assert set(sys.modules) == loaded, set(sys.modules) - loaded
"""


def test_n41_the_text_runs_in_a_bare_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM],
        input=describe_source(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [entry["name"] for entry in json.loads(done.stdout)] == ["text", "words", "x"]


def test_n41_the_text_imports_only_the_standard_library() -> None:
    tree = ast.parse(describe_source(), feature_version=(3, 8))
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= set(sys.stdlib_module_names)
