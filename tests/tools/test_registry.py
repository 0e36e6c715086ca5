"""The table of tools is the tools: nothing declared is missing from it, nothing in it is missing."""

from __future__ import annotations

import importlib

from jupyter_agent.tool import Tool
from jupyter_agent.tools import ALWAYS, DEFERRED, all_tools


def test_the_table_and_the_modules_say_the_same() -> None:
    declared = {
        tool.name: family
        for family in {*ALWAYS.values(), *DEFERRED.values()}
        for tool in vars(importlib.import_module(f"jupyter_agent.tools.{family}")).values()
        if isinstance(tool, Tool)
    }
    assert declared == {**ALWAYS, **DEFERRED}


def test_always_sent_tools_are_marked_so() -> None:
    assert {name for name, tool in all_tools().items() if tool.always} == set(ALWAYS)
    assert list(all_tools())[: len(ALWAYS)] == list(ALWAYS)
