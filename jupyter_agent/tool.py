"""`@tool` and the context a tool works in.

How a tool is written: an async function whose first argument is `ctx: ToolContext`; its other arguments, annotated,
are the JSON schema; its docstring is the description the model reads, so it is short. It returns a `ToolResult` (or
text). It reads through the ports in `ctx`, and changes only by building an `Effect`, `await ctx.allow(effect)`
and `await effect.commit()`. It raises `Refused` (errors.py) to decline: the caller turns every AgentError into an error
result with `details.refused = {kind, reason}`.

    @tool(always=True)
    async def read_file(ctx: ToolContext, path: str, start_line: int = 1) -> ToolResult:
        '''Numbered lines of a text file.'''
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_agent.arguments import fit, schema_of
from jupyter_agent.effect import Effect
from jupyter_agent.events import Json, Level

if TYPE_CHECKING:
    from jupyter_agent.kernel.protocol import Execution, Kernel
    from jupyter_agent.notebook.document import Notebook
    from jupyter_agent.shell import Shell
    from jupyter_agent.text import Secrets
    from jupyter_agent.workspace import Workspace

RESULT_LIMIT = 16_000
"""Characters of text in one result unless a tool documents a cap of its own (DESIGN section 4)."""


@dataclass(frozen=True)
class ToolResult:
    """`content`: API content blocks for the model, status first; `details`: data for the screen and for scripts."""

    content: list[Json]
    details: Json = field(default_factory=dict)
    is_error: bool = False

    @classmethod
    def of(cls, text: str, *, is_error: bool = False, **details: Any) -> ToolResult:
        return cls([{"type": "text", "text": text}], details, is_error)


@dataclass
class CellLog:
    """What this conversation did to one notebook's cells, by cell id and source hash (derived from the journal).

    `edited[id]` is the hash our last edit left, `ran[id]` the hash our last successful run executed in the live kernel;
    `created` are the cells we made.
    """

    edited: dict[str, str] = field(default_factory=dict)
    ran: dict[str, str] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)

    def unrun(self) -> set[str]:
        """Ids we edited whose present source was not run since."""
        return {cell for cell, source in self.edited.items() if self.ran.get(cell) != source}


class ToolContext(Protocol):
    """What a tool may reach of its conversation. One instance per tool call."""

    @property
    def call(self) -> str:
        """Id of this tool call."""
        ...

    @property
    def tool(self) -> str: ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def shell(self) -> Shell: ...

    @property
    def secrets(self) -> Secrets: ...

    @property
    def trusted(self) -> bool:
        """Whether the person trusts what the folder configures (git's hooks and pagers, rules files)."""
        ...

    @property
    def kernels_last(self) -> bool:
        """Whether a kernel outlives this call, so that a cell may run on after it."""
        ...

    @property
    def todo(self) -> list[Json]:
        """The task list as `todo` last left it: items {text, status}."""
        ...

    @property
    def executions(self) -> MutableMapping[str, Execution]:
        """Executions that run on after their call returned, by notebook path (`""` for a kernel without one)."""
        ...

    async def notebook(self, path: str | None = None) -> Notebook:
        """The document at `path` (relative to the root), or the conversation's own notebook; its owner is found anew.

        Raises NotebookRefused, also when the conversation has no notebook and no path was given.
        """
        ...

    async def kernel(self, notebook: Notebook | None = None) -> Kernel:
        """The kernel of a notebook (default: the conversation's). Nothing is started yet: the first granted run is what
        starts it, so an effect's preview says so while `state().status` is `none`."""
        ...

    def cell_log(self, path: str | None = None) -> CellLog: ...

    async def allow(self, effect: Effect[Any]) -> None:
        """Ask rules, mode and person for exactly this effect. Raises Denied; returns with the effect granted."""
        ...

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        """A question to the person. Raises Denied where nobody can answer."""
        ...

    def progress(self, text: str, fraction: float | None = None) -> None: ...

    def note(self, level: Level, text: str) -> None:
        """A line for the person that the model does not see."""
        ...

    def keep(self, text: str, label: str) -> str:
        """Store a full text under the conversation and return the handle that `read_output` pages through."""
        ...

    def keep_file(self, path: Path, label: str) -> str:
        """As `keep`, for text already spilled to a file of ours."""
        ...

    def kept(self, handle: str) -> Path:
        """The file behind a handle. Raises BadArguments for an unknown one, naming the known ones."""
        ...

    def find_tools(self, query: str) -> list[Tool]:
        """Deferred tools whose name or description fits, best first."""
        ...

    async def call_tool(self, name: str, arguments: Json) -> ToolResult:
        """Run another tool as if the model had called it: own events, own permission checks."""
        ...

    async def present_plan(self, plan: str) -> str:
        """Show a plan; accepted, the conversation leaves plan mode. Returns the mode now in force. Raises Denied."""
        ...


Function = Callable[..., Awaitable[ToolResult | str]]


@dataclass(frozen=True)
class Tool:
    """A declared tool. `always`: sent with every request; the others are found through `find_tools`."""

    name: str
    description: str
    schema: Json
    function: Function
    always: bool = False
    repair: Callable[[Json], Json] | None = None

    def declaration(self) -> Json:
        """The tool as the Messages API takes it."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}

    async def __call__(self, ctx: ToolContext, arguments: Any) -> ToolResult:
        """Fit the arguments to the schema and run. Raises BadArguments and whatever the function raises."""
        fitted = fit(self.name, self.schema, arguments, self.repair)
        result = await self.function(ctx, **fitted)
        return ToolResult.of(result) if isinstance(result, str) else result


def tool(*, always: bool = False, repair: Callable[[Json], Json] | None = None) -> Callable[[Function], Tool]:
    """Declare an async function as a tool; its name, docstring and annotations are the declaration.

    `repair` gets the raw argument object first: other names that models use for the same thing.
    """

    def declare(function: Function) -> Tool:
        description = inspect.cleandoc(function.__doc__ or "").replace("\n", " ")
        name = function.__name__
        return Tool(name, description, schema_of(function), function, always, repair)

    return declare
