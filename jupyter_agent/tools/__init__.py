"""The tools, a module per family. `all_tools()` is the registry of a conversation."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from jupyter_agent.tool import Tool

FAMILIES = ("cells", "running", "files", "search", "shell", "graph", "refactoring", "working")
"""Modules of this package; every `Tool` at their top level is one of ours."""

ORDER = (
    *("read_cells", "edit_cells", "run_cells", "read_output", "run_code", "inspect_variables", "control_kernel"),
    *("read_file", "edit_file", "write_file", "search_code", "find_files", "run_bash"),
    *("todo", "ask_user", "find_tools", "call_tool"),
)
"""The tools that are always sent, in the order in which they are sent: a constant prefix keeps prompt caches."""


def all_tools() -> Mapping[str, Tool]:
    """Every tool by name, the always-sent ones first."""
    modules = [importlib.import_module(f"{__name__}.{family}") for family in FAMILIES]
    found = {tool.name: tool for module in modules for tool in vars(module).values() if isinstance(tool, Tool)}
    rest = sorted(found.keys() - set(ORDER))
    return {name: found[name] for name in [*ORDER, *rest]}
