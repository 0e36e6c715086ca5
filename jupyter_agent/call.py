"""One tool call: the `ToolContext` a tool sees, and the run of a call from arguments to a journalled result."""

from __future__ import annotations

import difflib
import re
import time
import uuid
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_agent.effect import Effect
from jupyter_agent.errors import AgentError, BadArguments, Denied, EditRefused, Refused, Stopped
from jupyter_agent.events import Json, Level, Note, Progress, ToolFinished, ToolStart
from jupyter_agent.tool import CellLog, Tool, ToolResult

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation
    from jupyter_agent.kernel.protocol import Execution, Kernel
    from jupyter_agent.notebook.document import Notebook
    from jupyter_agent.shell import Shell
    from jupyter_agent.text import Secrets
    from jupyter_agent.workspace import Workspace


class CallContext:
    """Implements `ToolContext` over a conversation, for one call."""

    def __init__(self, conversation: Conversation, call: str, tool: str) -> None:
        self._conversation = conversation
        self.call = call
        self.tool = tool

    @property
    def workspace(self) -> Workspace:
        return self._conversation.workspace

    @property
    def shell(self) -> Shell:
        return self._conversation.shell

    @property
    def secrets(self) -> Secrets:
        return self._conversation.secrets

    @property
    def trusted(self) -> bool:
        return self._conversation.settings.trusted

    @property
    def kernels_last(self) -> bool:
        return self._conversation.settings.kernel_life != "call"

    @property
    def todo(self) -> list[Json]:
        return self._conversation.todo

    @property
    def executions(self) -> MutableMapping[str, Execution]:
        return self._conversation.executions

    async def notebook(self, path: str | None = None) -> Notebook:
        return await self._conversation.notebook(path)

    async def kernel(self, notebook: Notebook | None = None) -> Kernel:
        return await self._conversation.kernel(notebook)

    def cell_log(self, path: str | None = None) -> CellLog:
        return self._conversation.cell_log(path)

    async def allow(self, effect: Effect[Any]) -> None:
        await self._conversation.gate.allow(self.tool, effect)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        return await self._conversation.ask_person(self.tool, question, choices)

    def progress(self, text: str, fraction: float | None = None) -> None:
        self._conversation.publish(Progress(call=self.call, text=text, fraction=fraction))

    def note(self, level: Level, text: str) -> None:
        self._conversation.publish(Note(level=level, text=text))

    def keep(self, text: str, label: str) -> str:
        return self._conversation.spill.keep(self.secrets.mask(text), label)

    def keep_file(self, path: Path, label: str) -> str:
        return self._conversation.spill.keep_file(path, label)

    def kept(self, handle: str) -> Path:
        return self._conversation.spill.path(handle)

    def find_tools(self, query: str) -> list[Tool]:
        return rank_tools(query, [tool for tool in self._conversation.tools.values() if not tool.always])

    async def call_tool(self, name: str, arguments: Json) -> ToolResult:
        if name == self.tool:
            raise BadArguments(f"{name} cannot call itself. Name the tool you want as `name`.")
        return await run_call(self._conversation, f"inner:{self.call}", name, arguments)

    async def present_plan(self, plan: str) -> str:
        return await self._conversation.present_plan(self.tool, plan)


async def run_call(conversation: Conversation, call: str, name: str, arguments: Any) -> ToolResult:
    """Run one call; its start and its result are journalled. Never raises but for cancellation and Stopped."""
    shown = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    conversation.publish(ToolStart(call=call, name=name, arguments=shown))
    started = time.monotonic()
    try:
        result = await _result_of(conversation, call, name, arguments)
    except Stopped as error:
        result = failure(error)
        _finish(conversation, call, name, result, started)
        raise
    _finish(conversation, call, name, result, started)
    return result


def _finish(conversation: Conversation, call: str, name: str, result: ToolResult, started: float) -> None:
    conversation.publish(
        ToolFinished(
            call=call,
            name=name,
            content=result.content or [{"type": "text", "text": "(nothing)"}],
            details=result.details,
            is_error=result.is_error,
            seconds=round(time.monotonic() - started, 3),
        )
    )


async def _result_of(conversation: Conversation, call: str, name: str, arguments: Any) -> ToolResult:
    tool = conversation.tools.get(name)
    if tool is None:
        near = difflib.get_close_matches(name, conversation.tools, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else " find_tools searches what there is."
        return failure(BadArguments(f"There is no tool {name!r}.{hint}", kind="unknown_tool"))
    withhold = conversation.settings.withhold
    try:
        withhold.check(name)
        return withhold.result(name, await tool(CallContext(conversation, call, name), arguments))
    except Stopped:
        raise
    except AgentError as error:
        if isinstance(error, Denied) and error.asked:
            conversation.refused_asks += 1
        return failure(error)
    except RecursionError:
        return failure(AgentError(f"{name}: the input is nested too deeply to be handled."))
    except (OSError, UnicodeError) as error:
        return failure(AgentError(f"{name} failed: {error}"))
    except Exception as error:
        # A fault of ours must reach the person as a sentence and leave the conversation usable; the log has the rest.
        conversation.log.exception("tool %s failed", name)
        return failure(
            AgentError(f"{name} failed by a fault of its own ({type(error).__name__}: {error}).", kind="bug")
        )


def failure(error: AgentError) -> ToolResult:
    """An error as a tool result: status and sentence first, then what helps to go on; `details` name a refusal."""
    status = "refused" if isinstance(error, Refused) else "error"
    parts = [f"{status}: {error.message}"]
    if isinstance(error, EditRefused):
        if error.places:
            lines = ", ".join(f"{p.start}-{p.end}" if p.end > p.start else str(p.start) for p in error.places)
            one = len(error.places) == 1 and error.places[0].end <= error.places[0].start
            parts.append(f"It matches at line{'' if one else 's'} {lines}.")
        if error.closest:
            parts.append(f"The closest region now:\n{error.closest}")
    content = getattr(error, "content", "")
    if content:
        parts.append(content)
    details: Json = {status: {"kind": error.kind, "reason": error.message}}
    return ToolResult([{"type": "text", "text": "\n".join(parts)}], details, is_error=True)


def rank_tools(query: str, tools: Sequence[Tool]) -> list[Tool]:
    """Tools whose name or description holds words of the query, best first; all of them for an empty query."""
    words = set(re.findall(r"[a-z]+", query.lower()))

    def score(tool: Tool) -> int:
        name, text = tool.name.lower(), tool.description.lower()
        return sum(3 * (word in name) + (word in text) for word in words)

    ranked = sorted(tools, key=score, reverse=True)
    return [tool for tool in ranked if score(tool)] if words else ranked


def new_call_id() -> str:
    """An id for a call the program makes itself."""
    return f"own:{uuid.uuid4().hex[:12]}"
