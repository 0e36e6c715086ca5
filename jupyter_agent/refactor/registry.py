"""The recipes by name, with their parameters and what they promise: what the command line and the tool offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from jupyter_agent.errors import UsageError
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor.common import Params
from jupyter_agent.refactor.plan import Context, Plan
from jupyter_agent.refactor.recipe_extract import extract_function
from jupyter_agent.refactor.recipe_imports import hoist_imports
from jupyter_agent.refactor.recipe_lint import fix_lint
from jupyter_agent.refactor.recipe_module import extract_module
from jupyter_agent.refactor.recipe_order import order_cells, remove_dead
from jupyter_agent.refactor.recipe_rename import rename
from jupyter_agent.refactor.recipe_script import to_script
from jupyter_agent.refactor.recipe_split import merge_cells, split_cell
from jupyter_agent.refactor.recipe_values import parameterize, strip_outputs

Run = Callable[[Sequence[Cell], Params, Context], Plan]


@dataclass(frozen=True)
class Parameter:
    """One `--set name=value`; `example` is a value as a person would write it."""

    name: str
    doc: str
    required: bool = False
    example: str = ""


@dataclass(frozen=True)
class Recipe:
    """`run` is pure: it reads cells and gives a plan, or raises NotebookRefused with a sentence."""

    name: str
    run: Run
    parameters: tuple[Parameter, ...] = ()
    python_only: bool = True

    @property
    def doc(self) -> str:
        """What the recipe promises, for a person."""
        lines = [line.strip() for line in (self.run.__doc__ or "").strip().split("\n")]
        return " ".join(line for line in lines if line)

    @property
    def summary(self) -> str:
        return (self.run.__doc__ or "").strip().split("\n")[0]


_CELL = Parameter("cell", "id of the cell", True, "a1b2c3d4")
_CELLS = Parameter("cells", "ids of the cells, comma-separated", True, "a1b2c3d4,e5f6a7b8")
_SOME = replace(_CELLS, required=False, doc="ids of the cells, comma-separated (default: all)")

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("split-cell", split_cell,
               (_CELL, Parameter("at", "first lines of the new cells, from 1, comma-separated", True, "4,9"))),
        Recipe("merge-cells", merge_cells, (_CELLS,), python_only=False),
        Recipe("extract-function", extract_function,
               (replace(_CELL, required=False), replace(_CELLS, required=False),
                Parameter("name", "name of the function", True, "load_prices"),
                Parameter("lines", "first and last line, where not the whole cell is meant", example="2-5"),
                Parameter("arguments", "names for constants that differ between copies", example="ticker"))),
        Recipe("extract-module", extract_module,
               (_CELLS, Parameter("path", "the new file, beside the notebook", True, "prices.py"))),
        Recipe("rename", rename,
               (Parameter("old", "the variable's name now", True, "df2"),
                Parameter("new", "its new name", True, "prices"),
                Parameter("text", "true: also words in comments, strings and markdown code", example="true"))),
        Recipe("hoist-imports", hoist_imports),
        Recipe("order-cells", order_cells),
        Recipe("remove-dead", remove_dead, (_SOME,)),
        Recipe("parameterize", parameterize,
               (replace(_CELL, required=False, doc="id of a cell of constants, to be tagged"),
                Parameter("name", "constants to move to a parameters cell, comma-separated", example="rate,years"))),
        Recipe("to-script", to_script, (Parameter("path", "the new file (default: as the notebook)", example="a.py"),)),
        Recipe("strip-outputs", strip_outputs, (_SOME,), python_only=False),
        Recipe("fix-lint", fix_lint),
    )
}  # fmt: skip
"""All recipes by their name on the command line."""


def check(name: str, given: Params) -> Recipe:
    """The recipe `name`, once its parameters are known to be those it takes. Raises UsageError."""
    recipe = RECIPES.get(name)
    if recipe is None:
        raise UsageError(f"There is no recipe {name!r}. The recipes are: {', '.join(RECIPES)}.")
    known = {parameter.name: parameter for parameter in recipe.parameters}
    for key in given:
        if key not in known:
            takes = ", ".join(known) or "none"
            raise UsageError(f"{name} has no parameter {key!r}. Its parameters: {takes}.")
    aliases = {"cell": "cells", "cells": "cell"}
    for parameter in recipe.parameters:
        other = aliases.get(parameter.name, "")
        if parameter.required and not given.get(parameter.name) and not (other in known and given.get(other)):
            raise UsageError(
                f"{name} needs {parameter.name}: {parameter.doc}, for example {parameter.name}={parameter.example}."
            )
    return recipe


def plan(name: str, cells: Sequence[Cell], params: Params | None = None, context: Context | None = None) -> Plan:
    """The plan of recipe `name`. Pure, except that `fix-lint` runs ruff on text (up to a minute: call it off the loop).

    Raises UsageError for an unknown recipe or parameter or a missing one, NotebookRefused (kinds `recipe`,
    `unknown_cell`) with the reason where the recipe declines; then there is nothing to undo.
    """
    given = dict(params or {})
    recipe = check(name, given)
    ordered = tuple(cell if cell.index == index else replace(cell, index=index) for index, cell in enumerate(cells))
    return recipe.run(ordered, given, context or Context())
