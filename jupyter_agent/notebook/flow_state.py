"""What execution counts say about a notebook's state, and the smallest set of cells to run again. Pure.

Nothing here asks a kernel: a cell counts as run when it has an execution count, and whether its source changed since
is known only to the caller (`changed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from jupyter_agent.notebook.flow import CellFlow, Graph, walk

HiddenKind = Literal["undefined", "gone", "later", "order", "unknown"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A cell whose recorded run rests on something the notebook, run from top to bottom, would not give it.

    Kinds: `undefined` — reads a name that no cell binds, and never ran well; `gone` — the same, but it ran without
    error: a deleted cell or something typed elsewhere bound the name; `later` — only a later cell (`other`) binds it;
    `order` — cells ran in an order other than the document's, so it saw another value (from `other`); `unknown` — only
    code that cannot be followed (`other`) can have bound it.
    """

    cell: str
    name: str
    kind: HiddenKind
    other: str | None
    message: str


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """Cells to run, in document order. `reasons[id]` says why each.

    `seconds`: sum of the recorded durations; `untimed`: cells without a record. `blocked`: cells of the plan that are
    tagged not to be run (id → tag): they are asked for. `uncertain`: cells that are in it only because of a
    possibility (code that cannot be followed, a call that may change its argument).
    """

    cells: tuple[str, ...]
    reasons: dict[str, str]
    seconds: float
    untimed: tuple[str, ...]
    blocked: dict[str, str]
    uncertain: tuple[str, ...]


def never_run(graph: Graph) -> tuple[str, ...]:
    """Non-empty code cells without an execution count."""
    return tuple(flow.id for flow in graph.cells if _unrun(flow))


def repeated_counts(graph: Graph) -> tuple[str, ...]:
    """Cells whose execution count another cell has too: they ran in different lives of the kernel, order unknown."""
    seen: dict[int, list[str]] = {}
    for flow in graph.cells:
        if flow.cell.execution_count is not None:
            seen.setdefault(flow.cell.execution_count, []).append(flow.id)
    return tuple(cell for cells in seen.values() if len(cells) > 1 for cell in cells)


def hidden_state(graph: Graph) -> tuple[Hidden, ...]:
    """Every cell and name whose recorded run does not follow from the cells above it, in document order."""
    binders = _binders(graph)
    executed = _in_execution_order(graph)
    found: list[Hidden] = []
    unknown_writer: str | None = None
    for flow in graph.cells:
        own = flow.names.writes | flow.names.maybe_writes
        for name in sorted(flow.undefined - (own - flow.names.reads)):
            found.append(_undefined(flow, name, binders.get(name, []), unknown_writer))
        if unknown_writer is None:
            for name in sorted(flow.maybe_undefined):
                if name not in binders:
                    message = f"may read {name} in a function it calls or hands on, and no cell binds that"
                    found.append(Hidden(flow.id, name, "undefined", None, message))
        if executed is not None and flow.cell.execution_count is not None:
            found += _out_of_order(graph, flow, executed)
        if any(each.writes for each in flow.unknown):
            unknown_writer = flow.id
    return tuple(found)


def order_violations(graph: Graph) -> tuple[Hidden, ...]:
    """Cells that ran before something they need from above, or after something below changed it."""
    return tuple(each for each in hidden_state(graph) if each.kind in ("order", "later"))


def stale(graph: Graph, changed: Iterable[str] = ()) -> dict[str, str]:
    """Cells that ran, but whose outputs are no longer what the notebook gives → why. `changed`: ids of cells whose
    source is not the one that ran."""
    changed = set(changed)
    hidden = {each.cell: each.message for each in hidden_state(graph) if each.kind != "undefined"}
    reasons: dict[str, str] = {}
    for flow in graph.cells:
        if flow.cell.execution_count is None:
            continue
        if flow.id in changed:
            reasons[flow.id] = "its source changed since it ran"
            continue
        if flow.id in hidden:
            reasons[flow.id] = hidden[flow.id]
            continue
        reason = _stale_above(graph, flow, reasons, changed)
        if reason:
            reasons[flow.id] = reason
    return reasons


def _stale_above(graph: Graph, flow: CellFlow, reasons: dict[str, str], changed: set[str]) -> str | None:
    for edge in graph.edges_into(flow.id):
        source = graph[edge.source]
        maybe = "" if edge.certain else "may "
        if edge.source in reasons or edge.source in changed:
            return f"{maybe}need{'' if maybe else 's'} {edge.name} from cell {edge.source}, which is stale"
        if _unrun(source) and source.blocked is None:
            return f"{maybe}need{'' if maybe else 's'} {edge.name} from cell {edge.source}, which was not run"
    return None


def rerun_plan(
    graph: Graph, changed: Iterable[str] | Mapping[str, str], *, fresh: bool = False, certain_only: bool = False
) -> RerunPlan:
    """The fewest cells whose run, in document order, makes every output true again after `changed` cells changed.

    These are the changed cells, all that depend on them, and whatever has to be run again to give these the state
    they start from: cells never run that they need, and, where another cell (or the cell itself) has since changed an
    object in place or bound the name anew, the cells that made the value. What the kernel holds is told by the
    execution counts.
    `fresh`: the kernel has no state, so everything above that they need belongs to the plan. A mapping gives the
    reason for each cell where it is another than a changed source.
    """
    wanted = {cell for cell in changed if cell in graph}
    given = changed if isinstance(changed, Mapping) else {}
    reasons = {cell: given.get(cell, "its source changed") for cell in wanted}
    for cell in graph.dependents(wanted, certain_only=certain_only):
        reasons[cell] = _because(graph, cell, reasons)
    certain = wanted | set(graph.dependents(wanted, certain_only=True))
    if not certain_only:
        _add_after_unknown(graph, reasons)
    _close(graph, reasons, certain, fresh, certain_only)
    cells = tuple(flow.id for flow in graph.cells if flow.id in reasons)
    seconds = {cell: graph[cell].seconds for cell in cells}
    return RerunPlan(
        cells,
        {cell: reasons[cell] for cell in cells},
        sum(each for each in seconds.values() if each is not None),
        tuple(cell for cell in cells if seconds[cell] is None),
        {cell: tag for cell in cells if (tag := graph[cell].blocked) is not None},
        tuple(cell for cell in cells if cell not in certain),
    )


def _because(graph: Graph, cell: str, reasons: dict[str, str]) -> str:
    for edge in graph.edges_into(cell):
        if edge.source in reasons:
            return f"needs {edge.name} from cell {edge.source}" if edge.certain else (
                f"may need {edge.name} from cell {edge.source}"
            )  # fmt: skip
    return "depends on a changed cell"


def _add_after_unknown(graph: Graph, reasons: dict[str, str]) -> None:
    """A planned cell that may bind any name makes every later cell that reads something suspect; a cell that may read
    any name needs to run after any planned one."""
    suspect: str | None = None
    planned = False
    for flow in graph.cells:
        if suspect is not None and (flow.reads or flow.maybe_reads or flow.unknown):
            reasons.setdefault(flow.id, f"cell {suspect} runs again and may bind any name")
        if planned and any(each.reads for each in flow.unknown):
            reasons.setdefault(flow.id, f"may read any name: {next(u.what for u in flow.unknown if u.reads)}")
        planned = planned or flow.id in reasons
        if flow.id in reasons and any(each.writes for each in flow.unknown):
            suspect = flow.id


def _close(graph: Graph, reasons: dict[str, str], certain: set[str], fresh: bool, certain_only: bool) -> None:
    """Add the cells that make what the planned ones start from, until running the plan gives each what it needs.

    `state` follows, per name, which cells made the value that the kernel holds: first by the execution counts, then as
    the planned cells run in document order.
    """
    touched = [_touched(flow, certain_only) for flow in graph.cells]
    held = {} if fresh else _held(graph, touched)
    complete = False
    while not complete:
        complete = True
        state = dict(held)
        for flow in graph.cells:
            if flow.id not in reasons:
                continue
            for name, index in _missing(graph, flow, state, touched, certain_only):
                other = graph.cells[index]
                if other.id not in reasons:
                    complete = False
                    reasons[other.id] = f"makes {name}, which cell {flow.id} starts from"
                    if flow.id in certain:
                        certain.add(other.id)
            for index in _sharers(graph, flow):
                if graph.cells[index].id not in reasons and not fresh:
                    complete = False
                    reasons[graph.cells[index].id] = f"gives the object of cell {flow.id} another name"
            _touch(state, flow, touched[flow.position])


def _touched(flow: CellFlow, certain_only: bool) -> frozenset[str]:
    return flow.writes | flow.changes | flow.deletes if certain_only else flow.touches


def _touch(state: dict[str, tuple[int, ...]], flow: CellFlow, names: frozenset[str]) -> None:
    for name in names:
        if name in flow.writes:
            state[name] = (flow.position,)
        elif name in flow.deletes:
            state[name] = ()
        else:
            state[name] = (*state.get(name, ()), flow.position)


def _held(graph: Graph, touched: list[frozenset[str]]) -> dict[str, tuple[int, ...]]:
    """Per name the cells that made the value in the kernel, in the order in which they ran."""
    state: dict[str, tuple[int, ...]] = {}
    ran = [flow for flow in graph.cells if flow.cell.execution_count is not None]
    for flow in sorted(ran, key=lambda each: (each.cell.execution_count or 0, each.position)):
        _touch(state, flow, touched[flow.position])
    return state


def _missing(
    graph: Graph,
    flow: CellFlow,
    state: dict[str, tuple[int, ...]],
    touched: list[frozenset[str]],
    certain_only: bool,
) -> Iterator[tuple[str, int]]:
    """The cells that make each name which the kernel will not hold as `flow` needs it."""
    for name, sources in flow.needs.items():
        if certain_only:
            if not any(edge.certain for edge in graph.edges_into(flow.id) if edge.name == name):
                continue
            sources = tuple(index for index in sources if name in touched[index])
        if state.get(name, ()) != sources:
            yield from ((name, index) for index in sources)


def _sharers(graph: Graph, flow: CellFlow) -> Iterator[int]:
    """Run cells below that gave an object which `flow` makes a second name: it would stay with the old object."""
    for edge in graph.edges_out_of(flow.id):
        if edge.name not in flow.writes:
            continue
        other = graph[edge.target]
        shares = any(sources.get(edge.name) for sources in other.names.aliases.values())
        if shares and other.cell.execution_count is not None:
            yield other.position


def _binders(graph: Graph) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for flow in graph.cells:
        for name in flow.writes | flow.maybe_writes:
            found.setdefault(name, []).append(flow.id)
    return found


def _undefined(flow: CellFlow, name: str, binders: list[str], unknown_writer: str | None) -> Hidden:
    others = [cell for cell in binders if cell != flow.id]
    if others:
        return Hidden(flow.id, name, "later", others[0], f"reads {name}, which only cell {others[0]} below binds")
    if unknown_writer is not None:
        message = f"reads {name}, which only cell {unknown_writer} can have bound, and that cannot be followed"
        return Hidden(flow.id, name, "unknown", unknown_writer, message)
    if flow.cell.execution_count is not None and not flow.failed:
        message = f"reads {name}, which no cell binds: it came from a deleted cell or from outside the notebook"
        return Hidden(flow.id, name, "gone", None, message)
    return Hidden(flow.id, name, "undefined", None, f"reads {name}, which no cell binds")


def _in_execution_order(graph: Graph) -> dict[str, tuple[CellFlow, Graph]] | None:
    """Each executed cell as it stood in the order in which the cells ran; None where that was the document's order."""
    executed = [flow for flow in graph.cells if flow.cell.execution_count is not None]
    counts = [flow.cell.execution_count or 0 for flow in executed]
    if all(first < second for first, second in pairwise(counts)):
        return None
    order = sorted(executed, key=lambda flow: (flow.cell.execution_count or 0, flow.position))
    original = walk(order, language=graph.language)
    return {flow.id: (flow, original) for flow in original.cells}


def _out_of_order(graph: Graph, flow: CellFlow, executed: dict[str, tuple[CellFlow, Graph]]) -> list[Hidden]:
    """Names that came from other cells when the cell ran than they would from top to bottom."""
    then, ran = executed[flow.id]
    found: list[Hidden] = []
    for name in sorted(then.reads | then.maybe_reads):
        had = [ran.cells[index].id for index in then.needs.get(name, ())]
        expected = [graph.cells[index].id for index in flow.needs.get(name, ())]
        if not expected or had == expected or (name in flow.undefined):
            continue
        extra = [cell for cell in had if cell not in expected]
        missing = [cell for cell in expected if cell not in had and not _unrun(graph[cell])]
        if extra:
            message = f"ran with {name} from cell {extra[-1]}, not from cell {expected[-1]} as the order says"
            found.append(Hidden(flow.id, name, "order", extra[-1], message))
        elif missing:
            message = f"ran before cell {missing[0]}, from which it needs {name}"
            found.append(Hidden(flow.id, name, "order", missing[0], message))
        elif [cell for cell in expected if cell in had] != had:
            message = f"the cells that make {name} ran in another order ({', '.join(had)})"
            found.append(Hidden(flow.id, name, "order", had[-1], message))
    return found


def _unrun(flow: CellFlow) -> bool:
    return flow.cell.execution_count is None and bool(flow.cell.source.strip())
