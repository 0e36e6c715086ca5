"""order-cells and remove-dead: cells moved or taken out where the data flow proves that nothing else changes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.notebook.cells import moved_ids
from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import RANDOM_STATE, CellFlow, Graph, analyse
from jupyter_agent.notebook.flow_clones import dead_cells
from jupyter_agent.notebook.flow_names import BUILTINS
from jupyter_agent.notebook.flow_state import hidden_state
from jupyter_agent.refactor.common import Params, check_history, find, listed
from jupyter_agent.refactor.plan import Context, Plan, make_plan, refused


def order_cells(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Move the fewest cells so that each one stands below what it needs.

    Refused where more than one order would do: a name that several cells bind, a cell that cannot be followed in the
    way, or cells that need each other.
    """
    graph = _python_graph(cells, context, "order-cells")
    # What a star import above may have bound is where it belongs.
    wrong = [each for each in hidden_state(graph) if each.kind not in ("undefined", "unknown")]
    for each in wrong:
        if each.kind != "later":
            raise refused(f"cell {each.cell} {each.message}. Which value is meant cannot be told; decide it by hand.")
    if not wrong:
        return make_plan(cells, cells, notes=["every cell already stands below what it needs"])
    check_history(cells, "moving cells")
    pairs = _constraints(graph, {(each.cell, each.name) for each in wrong})
    order = _fewest_moves(graph, pairs)
    if analysed := [each for each in hidden_state(_in_order(cells, order)) if each.kind in ("later", "gone")]:
        first = analysed[0]
        raise refused(f"moved so, cell {first.cell} {first.message}. Order these cells by hand.")
    moved = set(moved_ids([flow.id for flow in graph.cells], order))
    after = _with_moves(cells, order, moved)
    notes = [f"cell {cell} moves to stand where what it needs is there" for cell in order if cell in moved]
    return make_plan(cells, after, notes=notes)


def _python_graph(cells: Sequence[Cell], context: Context, recipe: str) -> Graph:
    if context.language != "python":
        raise refused(f"{recipe} follows the data flow of Python only, and this notebook is in {context.language}.")
    graph = analyse(cells)
    for flow in graph.cells:
        if flow.source.error is not None:
            raise refused(f"cell {flow.id} has a syntax error, so its data flow is unknown. Repair it before {recipe}.")
    return graph


def _constraints(graph: Graph, wrong: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs (above, below) that any order must respect: the new ones, and all that hold now and matter."""
    binders: dict[str, list[str]] = {}
    for flow in graph.cells:
        for name in flow.writes | flow.maybe_writes:
            binders.setdefault(name, []).append(flow.id)
    pairs: set[tuple[str, str]] = set()
    for cell, name in wrong:
        if len(binders[name]) > 1:
            listed_cells = ", ".join(binders[name])
            raise refused(
                f"cell {cell} reads {name}, which cells {listed_cells} bind; which of them is meant cannot be told. "
                "Move the right one by hand."
            )
        pairs.add((binders[name][0], cell))
    for place, above in enumerate(graph.cells):
        for below in graph.cells[place + 1 :]:
            if _must_stay(above, below):
                pairs.add((above.id, below.id))
    return pairs


def _must_stay(above: CellFlow, below: CellFlow) -> bool:
    """Whether exchanging two cells could change what either does."""
    if above.unknown or below.unknown:
        return True
    reads_above = above.reads | above.maybe_reads | _builtins_read(above)
    reads_below = below.reads | below.maybe_reads | _builtins_read(below)
    # A name that `above` reads and nothing above it binds is the very thing to be put right: not a constraint.
    missing = above.undefined | above.maybe_undefined
    clash = (above.touches & (below.touches | reads_below)) | (reads_above & (below.touches - missing))
    if clash - ({RANDOM_STATE} if RANDOM_STATE not in above.touches else set()):
        return True
    return _acts(above) and _acts(below)


def _builtins_read(flow: CellFlow) -> frozenset[str]:
    return flow.names.builtin_reads & BUILTINS


def _acts(flow: CellFlow) -> bool:
    """Whether a cell does something outside the namespace whose order with others may matter."""
    quiet = ("shows a value", "calls print()", "calls display()")
    return any(each not in quiet for each in flow.effects)


def _fewest_moves(graph: Graph, pairs: set[tuple[str, str]]) -> list[str]:
    """Of the two stable topological orders (from the top, from the bottom) the one that moves fewer cells."""
    ids = [flow.id for flow in graph.cells]
    down = _topological(ids, pairs)
    up = _topological(ids[::-1], {(below, above) for above, below in pairs})[::-1]
    return min(down, up, key=lambda order: len(moved_ids(ids, order)))


def _topological(ids: Sequence[str], pairs: set[tuple[str, str]]) -> list[str]:
    """The order that keeps to `ids` as far as it can: what is needed is fetched just before the first that needs it."""
    needs: dict[str, list[str]] = {cell: [] for cell in ids}
    for first, second in pairs:
        needs[second].append(first)
    place = {cell: number for number, cell in enumerate(ids)}
    done: list[str] = []
    state: dict[str, int] = {}
    for root in ids:
        stack = [(root, False)]
        while stack:
            cell, finished = stack.pop()
            if finished:
                state[cell] = 2
                done.append(cell)
                continue
            if state.get(cell) == 2:
                continue
            if state.get(cell) == 1:
                raise refused(f"cell {cell} and others need each other, so no order is right. Split one of them.")
            state[cell] = 1
            stack.append((cell, True))
            for other in sorted(needs[cell], key=lambda each: -place[each]):
                if state.get(other) == 1:
                    raise refused(f"cells {other} and {cell} need each other, so no order is right. Split one of them.")
                if state.get(other) is None:
                    stack.append((other, False))
    return done


def _in_order(cells: Sequence[Cell], order: Sequence[str]) -> Graph:
    by_id = {cell.id: cell for cell in cells}
    return analyse([by_id[cell] for cell in order])


def _with_moves(cells: Sequence[Cell], order: Sequence[str], moved: set[str]) -> list[Cell]:
    """Moved cells stand directly before the code cell that follows them in `order`, or after the last one."""
    by_id = {cell.id: cell for cell in cells}
    after = [cell for cell in cells if cell.id not in moved]
    for number in range(len(order) - 1, -1, -1):
        cell = order[number]
        if cell not in moved:
            continue
        if number + 1 < len(order):
            place = next(i for i, each in enumerate(after) if each.id == order[number + 1])
        else:
            place = len(after)
        after.insert(place, by_id[cell])
    return after


def remove_dead(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Delete code cells that have no effect and whose names nothing needs.

    Cells that hold only comments are deleted when `cells` names them: comments may be meant for a reader.
    """
    graph = _python_graph(cells, context, "remove-dead")
    dead = {each.cell: each.reason for each in dead_cells(graph)}
    wanted = listed(params, "cells", "cell")
    for cell_id in wanted:
        find(cells, cell_id)
        if cell_id not in dead:
            raise refused(f"cell {cell_id} is not dead: {_why_alive(graph, cell_id, dead)}. Leave it out of cells.")
    notes: list[str] = []
    chosen = set(wanted) or {cell for cell in dead if not _only_comments(graph[cell])}
    for cell in dead:
        if cell not in chosen and not wanted:
            notes.append(f"cell {cell} holds only comments; name it in cells to delete it")
    chosen = _closed(graph, chosen, dead)
    if not chosen:
        return make_plan(cells, cells, notes=[*notes, "no cell is dead"])
    check_history(cells, "deleting cells")
    after = [cell for cell in cells if cell.id not in chosen]
    notes = [f"cell {cell} is deleted: {dead[cell]}" for cell in dead if cell in chosen] + notes
    return make_plan(cells, after, notes=notes)


def _closed(graph: Graph, chosen: set[str], dead: dict[str, str]) -> set[str]:
    """Only cells that no cell which stays needs."""
    while True:
        needed = {edge.source for edge in graph.edges if edge.target not in chosen}
        smaller = chosen - needed
        if smaller == chosen:
            return chosen
        chosen = smaller


def _only_comments(flow: CellFlow) -> bool:
    source = flow.cell.source
    return bool(source.strip()) and all(
        not line.strip() or line.lstrip().startswith("#") for line in source.split("\n")
    )


def _why_alive(graph: Graph, cell_id: str, dead: dict[str, str]) -> str:
    if cell_id not in graph:
        return "it is not a code cell"
    flow = graph[cell_id]
    if flow.cell.outputs:
        return "it has outputs"
    if flow.unknown:
        return f"it cannot be followed ({flow.unknown[0].what})"
    if flow.effects:
        return f"it has an effect ({flow.effects[0]})"
    users = [edge for edge in graph.edges_out_of(cell_id) if edge.target not in dead]
    if users:
        return f"cell {users[0].target} needs {users[0].name} from it"
    return "something may need it"
