"""The tool that shows how cells depend on each other. It never touches a kernel."""

from __future__ import annotations

from typing import Literal

from jupyter_agent.text import clip
from jupyter_agent.tool import RESULT_LIMIT, ToolContext, ToolResult, tool
from jupyter_agent.tools.cells import language_of


@tool()
async def notebook_graph(
    ctx: ToolContext, path: str | None = None, format: Literal["text", "mermaid"] = "text"
) -> ToolResult:
    """What each cell reads, binds and changes, which cells it needs, hidden state, stale, dead and copied cells, what
    to rerun at what cost; or a Mermaid diagram."""
    from jupyter_agent.notebook.flow import analyse
    from jupyter_agent.notebook.flow_render import describe, to_mermaid, to_text

    notebook = await ctx.notebook(path)
    cells = await notebook.cells()
    changed = ctx.cell_log(path).unrun() if notebook.path is not None else set()
    graph = analyse(cells, language=language_of(await notebook.metadata()))
    facts = describe(graph, changed)
    plan = facts["rerun"]["cells"]
    text = to_text(graph, changed) if format == "text" else to_mermaid(graph, changed)
    status = f"ok {len(graph.cells)} code cells, {len(graph.edges)} dependencies, {len(plan)} to rerun"
    room = RESULT_LIMIT - len(status) - 1
    details = {"path": notebook.path, **facts}
    if len(text.encode("utf-8", "surrogatepass")) > room:
        details["handle"] = ctx.keep(text, "graph")
        text = clip(text, room, handle=details["handle"])
    return ToolResult.of(f"{status}\n{text}", **details)
