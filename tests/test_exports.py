"""What the package promises to other people's code, exactly, and that importing it costs nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

EXPORTS = {
    "jupyter_agent": {"__version__", "load_ipython_extension", "unload_ipython_extension"},
    "jupyter_agent.edit": {
        "Block",
        "EditRefused",
        "EditResult",
        "Hunk",
        "Place",
        "Tier",
        "edit",
        "edit_bytes",
        "edit_text",
        "parse_blocks",
    },
}

HOOKS = {"_jupyter_labextension_paths", "_jupyter_server_extension_points"}
"""Names that Jupyter looks up; private by their underscore, public by contract."""

HEAVY = ["anthropic", "nbformat", "tree_sitter", "rich", "jedi", "jupyter_client", "tornado", "IPython", "asyncio"]


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_are_exact(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) == EXPORTS[name]
    assert all(hasattr(module, exported) for exported in module.__all__)
    # A name without an underscore that is defined here and not exported was forgotten in one place or the other.
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name and not isinstance(value, ModuleType)
    }
    assert defined <= EXPORTS[name]


def test_jupyters_hooks_are_there() -> None:
    import jupyter_agent

    assert all(callable(getattr(jupyter_agent, hook)) for hook in HOOKS)
    (paths,) = jupyter_agent._jupyter_labextension_paths()
    assert paths["dest"] == "jupyter-agent-live"


def loaded_by(statement: str) -> set[str]:
    """Which of the heavy libraries a fresh interpreter has loaded after `statement`."""
    script = f"import sys\n{statement}\nprint(*(sys.modules.keys() & set({HEAVY!r})))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import jupyter_agent") == set()


@pytest.mark.parametrize("module", ["conversation", "loop", "edit", "refactor.verify", "tools", "cli"])
def test_the_core_loads_heavy_libraries_only_when_used(module: str) -> None:
    assert loaded_by(f"import jupyter_agent.{module}") <= {"asyncio"}


def test_a_heavy_import_would_be_seen() -> None:
    assert "rich" in loaded_by("import jupyter_agent, rich")
