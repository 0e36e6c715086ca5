"""Tools about the work itself: the task list, questions, plans, and the way to the tools that are not always sent."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypedDict

from jupyter_agent.errors import BadArguments
from jupyter_agent.events import Json
from jupyter_agent.tool import ToolContext, ToolResult, tool

FOUND = 8
"""Tools shown by one search: their schemas are long."""
_MARKS = {"pending": "[ ]", "in_progress": "[~]", "done": "[x]"}


class TodoItem(TypedDict):
    text: str
    status: Literal["pending", "in_progress", "done"]


def _pending(arguments: Json) -> Json:
    """A list of texts is a list of what is still to do."""
    items = arguments.get("items")
    if not isinstance(items, list):
        return arguments
    fitted = [{"text": item, "status": "pending"} if isinstance(item, str) else item for item in items]
    return {**arguments, "items": fitted}


@tool(always=True, repair=_pending)
async def todo(ctx: ToolContext, items: list[TodoItem]) -> ToolResult:
    """Replace the task list. For work of several steps; keep one item in_progress."""
    ctx.todo[:] = [dict(item) for item in items]
    lines = [f"{_MARKS[item['status']]} {item['text']}" for item in items]
    done = sum(item["status"] == "done" for item in items)
    return ToolResult.of("\n".join([f"ok {done}/{len(items)} done", *lines]), items=ctx.todo[:])


@tool(always=True)
async def ask_user(ctx: ToolContext, question: str, choices: list[str] | None = None) -> ToolResult:
    """Ask the person when only they can decide."""
    if not question.strip():
        raise BadArguments("ask_user needs a question.")
    answer = await ctx.ask(question, choices or [])
    return ToolResult.of(f"ok the person answered: {answer}", answer=answer)


@tool(always=True)
async def find_tools(ctx: ToolContext, query: str = "") -> ToolResult:
    """Search further tools (plans, new notebooks, background commands, …); returns their schemas."""
    found = ctx.find_tools(query)
    if not found:
        names = ", ".join(tool.name for tool in ctx.find_tools(""))
        return ToolResult.of(f"ok nothing fits {query!r}; the further tools are: {names}", tools=[])
    shown = [tool.declaration() for tool in found[:FOUND]]
    rest = f"\nFurther: {', '.join(tool.name for tool in found[FOUND:])}" if len(found) > FOUND else ""
    lines = "\n".join(json.dumps(declaration) for declaration in shown)
    count = f"{len(found)} tool{'' if len(found) == 1 else 's'}"
    first = f"ok {count}; call_tool(name, arguments) calls one"
    return ToolResult.of(f"{first}\n{lines}{rest}", tools=[tool.name for tool in found])


@tool(always=True)
async def call_tool(ctx: ToolContext, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
    """Call a tool found with find_tools."""
    return await ctx.call_tool(name, arguments or {})


@tool()
async def present_plan(
    ctx: ToolContext, plan: Annotated[str, "Markdown: steps, cells and files touched"]
) -> ToolResult:
    """Show a plan to the person for acceptance: the way out of plan mode."""
    if not plan.strip():
        raise BadArguments("present_plan needs the plan's text.")
    mode = await ctx.present_plan(plan)
    return ToolResult.of(f"ok the plan was accepted; the mode is now {mode}: carry it out", mode=mode)
