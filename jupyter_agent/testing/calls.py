"""Tool calls as a model makes them, in a real conversation over real files: for tests of tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jupyter_agent.budget import Budget
from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.conversation import Conversation, Settings
from jupyter_agent.host import LocalHost
from jupyter_agent.journal import Journal
from jupyter_agent.permission.gate import Asker
from jupyter_agent.permission.modes import Mode
from jupyter_agent.tool import Tool, ToolResult


@asynccontextmanager
async def conversation_on(
    root: Path,
    tools: Mapping[str, Tool],
    *,
    folder: Path,
    notebook: Path | None = None,
    mode: Mode = "accept-edits",
    asker: Asker | None = None,
    ledger: bool = False,
) -> AsyncIterator[Conversation]:
    """A conversation without a model; `folder` is where its journal and its undo store go."""
    settings = Settings(root.resolve(), notebook.resolve() if notebook else None, mode, ledger=ledger)
    with Journal.open(folder) as journal:
        conversation = Conversation(journal, settings, LocalHost(settings.root), tools, Budget(), asker=asker)
        conversation.begin_turn()
        try:
            yield conversation
        finally:
            await conversation.close()


async def call(conversation: Conversation, tool: str, **arguments: Any) -> ToolResult:
    """One call, journalled, with its permission checks."""
    return await run_call(conversation, new_call_id(), tool, arguments)


def text_of(result: ToolResult) -> str:
    """The text blocks of a result, one below the other."""
    return "\n".join(block["text"] for block in result.content if block["type"] == "text")
