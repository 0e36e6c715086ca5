"""Tab completion behind `%agent`: subcommands, options and their values, tools, variables, conversations."""

from __future__ import annotations

from typing import Any

from jupyter_agent.magic.options import COMMANDS, MODES, OPTIONS


def complete(shell: Any, line: str, symbol: str) -> list[str]:
    """Completions of the last word of `line`; `symbol` is what IPython takes for that word."""
    words = line.split(" ")
    word, before = words[-1], [w for w in words[:-1] if w]
    found = [candidate for candidate in _candidates(shell, word, before) if candidate.startswith(word)]
    # IPython replaces only `symbol`, its own idea of the word (`turns` of `--max-turns`).
    cut = len(word) - len(symbol) if word.endswith(symbol) else 0
    return [candidate[cut:] for candidate in found]


def _candidates(shell: Any, word: str, before: list[str]) -> list[str]:
    last = before[-1] if before else ""
    if last in ("--mode", "mode"):
        return list(MODES)
    if last == "resume":
        from jupyter_agent.journal import conversation_folders
        from jupyter_agent.storage import conversations_folder

        return [folder.name for folder in conversation_folders(conversations_folder())]
    if word.startswith("-"):
        return list(OPTIONS)
    variables = [name for name in shell.user_ns if not name.startswith("_") and name not in shell.user_ns_hidden]
    first = list(COMMANDS) if len(before) <= 1 else []
    return first + sorted(variables) + _tools_and_cells(shell)


def _tools_and_cells(shell: Any) -> list[str]:
    agent = shell.jupyter_agent.agent
    return [*agent.tool_names(), *agent.cell_ids]
