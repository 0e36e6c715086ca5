"""Keeping outputs or variables on this machine: what the person switched off never becomes part of a request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jupyter_agent.atomic import replace_file
from jupyter_agent.effect import Effect
from jupyter_agent.errors import Denied
from jupyter_agent.notebook.document import Cell, CellsChanged, EditOutcome, Notebook, Operation, Output
from jupyter_agent.tool import ToolResult

FILE = "withheld.json"
"""In a conversation's folder, where something is kept back: it stays so in every later process."""
OUTPUT_TOOLS = frozenset({"run_cells", "run_code"})
"""Tools whose result holds outputs behind its first line, the status."""
_OFF = "{what} are switched off for the model: they stay on this machine. Work without them, or ask the person."


class WithoutOutputs:
    """A notebook as the model may see it: the same cells, without what they put out."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    @property
    def path(self) -> str | None:
        return self._notebook.path

    @property
    def backend(self) -> Literal["memory", "file", "shared", "lab", "ipython", "contents"]:
        return self._notebook.backend

    async def cells(self) -> tuple[Cell, ...]:
        return tuple(replace(cell, outputs=()) for cell in await self._notebook.cells())

    async def metadata(self) -> Mapping[str, Any]:
        return await self._notebook.metadata()

    async def edit(self, operations: Sequence[Operation]) -> Effect[EditOutcome]:
        return await self._notebook.edit(operations)

    async def set_outputs(
        self,
        cell: str,
        outputs: Sequence[Output],
        execution_count: int | None,
        *,
        timing: Mapping[str, str] | None = None,
    ) -> None:
        await self._notebook.set_outputs(cell, outputs, execution_count, timing=timing)

    def watch(self) -> AsyncIterator[CellsChanged]:
        return self._notebook.watch()

    async def save(self) -> None:
        await self._notebook.save()

    async def close(self) -> None:
        await self._notebook.close()


@dataclass(frozen=True)
class Withhold:
    """What is kept from the model."""

    outputs: bool = False
    variables: bool = False

    def __or__(self, other: Withhold) -> Withhold:
        return Withhold(self.outputs or other.outputs, self.variables or other.variables)

    def notebook(self, notebook: Notebook) -> Notebook:
        return WithoutOutputs(notebook) if self.outputs else notebook

    def check(self, tool: str) -> None:
        """Raises Denied for a tool that would only show what is kept back."""
        if self.variables and tool == "inspect_variables":
            raise Denied(_OFF.format(what="Variables"))
        if self.outputs and tool == "read_output":
            raise Denied(_OFF.format(what="Outputs"))

    def result(self, tool: str, result: ToolResult) -> ToolResult:
        """The result with outputs taken out: of a run, only its status line is left."""
        if not self.outputs or tool not in OUTPUT_TOOLS:
            return result
        status = str(result.content[0].get("text", "")).split("\n", 1)[0] if result.content else ""
        cells = [{**cell, "outputs": []} for cell in result.details.get("cells", [])]
        details = {**result.details, **({"cells": cells} if cells else {})}
        return ToolResult(
            [{"type": "text", "text": f"{status}\n(outputs are kept from you)"}], details, result.is_error
        )


NOTHING_WITHHELD = Withhold()


def read_withheld(folder: Path) -> Withhold:
    """What was kept back in the conversation of this folder; everything where that cannot be read."""
    try:
        stored = json.loads((folder / FILE).read_bytes())
        return Withhold(bool(stored["outputs"]), bool(stored["variables"]))
    except FileNotFoundError:
        return NOTHING_WITHHELD
    except (OSError, ValueError, TypeError, KeyError):
        return Withhold(outputs=True, variables=True)


def write_withheld(folder: Path, withhold: Withhold) -> None:
    """Raises WorkspaceRefused where the folder takes no file."""
    replace_file(folder / FILE, json.dumps(asdict(withhold)).encode(), expected_sha256=None, mode=0o600)
