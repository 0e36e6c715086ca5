"""Recipes in a row as one plan: each step works on what the step before left, and only the whole is proved and applied.

Pure, as the recipes are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jupyter_agent.errors import NotebookRefused, UsageError
from jupyter_agent.notebook.document import Cell
from jupyter_agent.refactor import registry
from jupyter_agent.refactor.plan import Context, FileWrite, Plan, make_plan

Groups = Sequence[tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True)
class Step:
    """One recipe with its parameters."""

    recipe: str
    params: Mapping[str, str]


def parse_steps(recipes: str, settings: Sequence[str]) -> tuple[Step, ...]:
    """`RECIPE[,RECIPE…]` and `K=V` settings. In a row of several, `N.K=V` means step N, counted from 1; a bare `K=V`
    means the only step that takes K.

    Raises UsageError for unknown recipes and parameters, naming those there are, and where the step is not clear.
    """
    names = [recipe.name for recipe in named(recipes)]
    given: list[dict[str, str]] = [{} for _ in names]
    for setting in settings:
        place, key, value = _setting(setting, names)
        if key in given[place]:
            raise UsageError(f"{key} of {names[place]} was set twice. Set it once.")
        given[place][key] = value
    for name, params in zip(names, given, strict=True):
        registry.check(name, params)
    return tuple(Step(name, params) for name, params in zip(names, given, strict=True))


def named(recipes: str) -> list[registry.Recipe]:
    """The recipes of `RECIPE[,RECIPE…]`. Raises UsageError naming those there are."""
    names = [name.strip() for name in recipes.split(",") if name.strip()]
    unknown = next((name for name in names if name not in registry.RECIPES), None)
    if unknown is not None or not names:
        what = f"There is no recipe {unknown!r}." if names else "No recipe was named."
        raise UsageError(f"{what} The recipes are: {', '.join(registry.RECIPES)}.")
    return [registry.RECIPES[name] for name in names]


def _setting(setting: str, names: Sequence[str]) -> tuple[int, str, str]:
    """(index of the step, key, value)."""
    left, equals, value = setting.partition("=")
    if not equals or not left.strip():
        raise UsageError(f"--set {setting}: write it as --set KEY=VALUE, for example --set name=load_prices.")
    number, dot, key = left.strip().partition(".")
    if dot and number.isdigit():
        if not 1 <= int(number) <= len(names):
            raise UsageError(f"--set {setting}: there is no step {number}; the steps are 1 to {len(names)}.")
        return int(number) - 1, key, value
    key = left.strip()
    takers = [place for place, name in enumerate(names) if key in _parameters(name)]
    if len(names) == 1 or not takers:
        takers = takers or [0]
    if len(takers) > 1:
        choices = " or ".join(f"{place + 1}.{key}" for place in takers)
        raise UsageError(f"--set {setting}: several steps take {key}. Write {choices} for the one that is meant.")
    return takers[0], key, value


def _parameters(recipe: str) -> set[str]:
    return {parameter.name for parameter in registry.RECIPES[recipe].parameters}


def plan_steps(cells: Sequence[Cell], steps: Sequence[Step], context: Context) -> Plan:
    """The plan that does all steps at once. `fix-lint` runs ruff: call it off the loop.

    Raises what `registry.plan` raises, naming the step where there are several; then nothing is to be done.
    """
    present = tuple(cells)
    files: list[FileWrite] = []
    notes: list[str] = []
    cleared: list[str] = []
    layers: list[tuple[tuple[Cell, ...], Plan]] = []
    for number, step in enumerate(steps, 1):
        known = context.existing | {file.path.split("/")[0] for file in files} | {file.path for file in files}
        try:
            made = registry.plan(step.recipe, present, step.params, replace(context, existing=known))
        except NotebookRefused as refusal:
            if len(steps) == 1:
                raise
            raise NotebookRefused(refusal.kind, f"step {number}, {step.recipe}: {refusal.message}") from None
        layers.append((present, made))
        present = made.after
        files += made.files
        cleared += made.cleared
        notes += [f"{step.recipe}: {note}" if len(steps) > 1 else note for note in made.notes]
    if len(layers) == 1:
        return layers[0][1]
    kept = {cell.id for cell in present}
    groups = _composed(layers)
    return make_plan(
        cells, present, files=files, notes=notes, groups=groups, cleared=[each for each in cleared if each in kept]
    )


def _composed(layers: Sequence[tuple[tuple[Cell, ...], Plan]]) -> Groups:
    """Which ids before the first step correspond to which after the last one: what any step ties together stays so."""
    parent: dict[tuple[int, str], tuple[int, str]] = {}

    def root(node: tuple[int, str]) -> tuple[int, str]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for depth, (before, made) in enumerate(layers):
        for old, new in complete_groups(before, made):
            nodes = [*((depth, each) for each in old), *((depth + 1, each) for each in new)]
            for node in nodes[1:]:
                parent[root(node)] = root(nodes[0])
    members: dict[tuple[int, str], tuple[list[str], list[str]]] = {}
    first, last = layers[0][0], layers[-1][1].after
    for cell in first:
        members.setdefault(root((0, cell.id)), ([], []))[0].append(cell.id)
    for cell in last:
        members.setdefault(root((len(layers), cell.id)), ([], []))[1].append(cell.id)
    return [group for group in members.values() if group[0] != group[1] and all(group)]


def complete_groups(before: Sequence[Cell], plan: Plan) -> Groups:
    """The plan's groups and, for the cells they do not name, those that correspond by id: as `verify` takes them."""
    old_named = {each for old, _ in plan.groups for each in old}
    new_named = {each for _, new in plan.groups for each in new}
    after = {cell.id for cell in plan.after}
    own = [
        ([cell.id], [cell.id])
        for cell in before
        if cell.id in after and cell.id not in old_named and cell.id not in new_named
    ]
    return [*plan.groups, *own]
