"""The tools, a module per family. `all_tools()` is the registry of a conversation; a family is imported when used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from jupyter_agent.tool import Tool

ALWAYS = {
    "read_cells": "cells",
    "edit_cells": "cells",
    "run_cells": "running",
    "read_output": "running",
    "run_code": "running",
    "inspect_variables": "running",
    "control_kernel": "running",
    "read_file": "files",
    "edit_file": "files",
    "write_file": "files",
    "search_code": "search",
    "find_files": "search",
    "run_bash": "shell",
    "todo": "working",
    "ask_user": "working",
    "find_tools": "working",
    "call_tool": "working",
}
"""Always-sent tools and their families (modules of this package), in the order in which they are sent: a constant
prefix keeps prompt caches."""

DEFERRED = {
    "check_command": "shell",
    "create_notebook": "cells",
    "notebook_graph": "graph",
    "present_plan": "working",
    "refactor_notebook": "refactoring",
    "repair_notebook": "cells",
    "stop_command": "shell",
    "verify_notebook": "refactoring",
}
"""Tools found through `find_tools`, by name."""


class Registry(Mapping[str, Tool]):
    """Tools by name. A single call then costs the start-up of its own family only."""

    def __init__(self, families: Mapping[str, str]) -> None:
        self._families = families

    def __getitem__(self, name: str) -> Tool:
        tool = getattr(importlib.import_module(f"{__name__}.{self._families[name]}"), name)
        assert isinstance(tool, Tool)
        return tool

    def __iter__(self) -> Iterator[str]:
        return iter(self._families)

    def __len__(self) -> int:
        return len(self._families)

    def __contains__(self, name: object) -> bool:
        return name in self._families


def all_tools() -> Registry:
    """Every tool by name, the always-sent ones first."""
    return Registry({**ALWAYS, **DEFERRED})
