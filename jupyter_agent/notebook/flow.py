"""Data flow of a notebook: which cell needs which other, from the sources alone. Pure; runs nothing, imports nothing.

What cannot be known from the text (star imports, `exec`, `%run`, …) is marked `unknown` on the cell, never guessed.
Calls into libraries are taken to leave their arguments alone unless `flow_known` says otherwise; an edge that rests
on a possibility rather than a certainty has `certain=False`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow_calls import Calls
from jupyter_agent.notebook.flow_cell import scan as scan_cell
from jupyter_agent.notebook.flow_names import BUILTINS, Deferred, Names
from jupyter_agent.notebook.flow_source import PythonSource, Unknown, to_python

T = TypeVar("T")

RANDOM_STATE = "random state"
"""The name under which the process-wide random state stands in edges, once a seed was set."""

NEVER_RERUN = "agent:never-rerun"
SKIP_EXECUTION = "skip-execution"

KEPT = 20_000
"""Characters of a cell up to which its analysis is kept for the next one of the notebook."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`target` needs `name` as `source` left it. Ids of cells; `certain` is false where only a possibility."""

    source: str
    target: str
    name: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class CellFlow:
    """One code cell in its place in the notebook. (`source.tree` is dropped: parse again where it is needed.)

    `reads` come from before the cell, functions it calls included; `maybe_reads` perhaps. `writes` are bound when it
    completes; `changes` are objects changed in place. `needs[name]`: indices (into `Graph.cells`) of the cells that
    made the value read: the one that bound it, then those that changed it since. `undefined`: names read that no
    earlier cell binds; `maybe_undefined`: the same of functions that may run. `seconds`: duration of its
    recorded run, None where not recorded.
    """

    cell: Cell
    source: PythonSource
    names: Names
    position: int
    reads: frozenset[str] = frozenset()
    maybe_reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    maybe_writes: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    maybe_changes: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()
    unknown: tuple[Unknown, ...] = ()
    effects: tuple[str, ...] = ()
    needs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    undefined: frozenset[str] = frozenset()
    maybe_undefined: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return self.cell.id

    @property
    def language(self) -> str:
        return self.source.language

    @property
    def seconds(self) -> float | None:
        return recorded_seconds(self.cell.metadata)

    @property
    def failed(self) -> bool:
        return any(output.get("output_type") == "error" for output in self.cell.outputs)

    @property
    def touches(self) -> frozenset[str]:
        """Names whose value is another after the cell ran, perhaps."""
        return self.writes | self.maybe_writes | self.changes | self.maybe_changes | self.deletes

    @property
    def blocked(self) -> str | None:
        """The tag because of which the cell is not run without asking, if any."""
        return next((tag for tag in self.cell.tags if tag in (NEVER_RERUN, SKIP_EXECUTION)), None)


@dataclass(frozen=True)
class Graph:
    """The code cells in document order and their dependencies."""

    cells: tuple[CellFlow, ...]
    edges: tuple[Edge, ...]
    language: str = "python"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {flow.id: flow for flow in self.cells})
        below: dict[str, list[Edge]] = {}
        above: dict[str, list[Edge]] = {}
        for edge in self.edges:
            below.setdefault(edge.source, []).append(edge)
            above.setdefault(edge.target, []).append(edge)
        object.__setattr__(self, "_below", below)
        object.__setattr__(self, "_above", above)

    def __getitem__(self, cell: str) -> CellFlow:
        """Raises KeyError for an id that is no code cell of the notebook."""
        by_id: dict[str, CellFlow] = self.__dict__["_by_id"]
        return by_id[cell]

    def __contains__(self, cell: object) -> bool:
        return cell in self.__dict__["_by_id"]

    def edges_into(self, cell: str) -> Sequence[Edge]:
        above: dict[str, list[Edge]] = self.__dict__["_above"]
        return above.get(cell, [])

    def edges_out_of(self, cell: str) -> Sequence[Edge]:
        below: dict[str, list[Edge]] = self.__dict__["_below"]
        return below.get(cell, [])

    def dependents(self, cells: Iterable[str], *, certain_only: bool = False) -> list[str]:
        """Ids of the cells that need, directly or through others, one of `cells`, in document order, without these."""
        start = set(cells)
        found = self._reach(start, certain_only, down=True)
        return [flow.id for flow in self.cells if flow.id in found and flow.id not in start]

    def dependencies(self, cells: Iterable[str], *, certain_only: bool = False) -> list[str]:
        """Ids of the cells that `cells` need, directly or through others, in document order, without these."""
        start = set(cells)
        found = self._reach(start, certain_only, down=False)
        return [flow.id for flow in self.cells if flow.id in found and flow.id not in start]

    def _reach(self, start: set[str], certain_only: bool, *, down: bool) -> set[str]:
        found: set[str] = set()
        pending = list(start)
        while pending:
            current = pending.pop()
            for edge in self.edges_out_of(current) if down else self.edges_into(current):
                other = edge.target if down else edge.source
                if other not in found and (edge.certain or not certain_only):
                    found.add(other)
                    pending.append(other)
        return found


def analyse(cells: Sequence[Cell], *, language: str = "python") -> Graph:
    """The graph of the code cells of a notebook whose kernel speaks `language` (`metadata.language_info.name`).

    In a notebook of another language every code cell is marked unknown.
    """
    return walk(scanned(cells, language=language), language=language)


def scanned(cells: Sequence[Cell], *, language: str = "python") -> list[CellFlow]:
    """The code cells with what each says by itself; `walk` puts them into their places."""
    flows: list[CellFlow] = []
    for cell in cells:
        if cell.type != "code":
            continue
        if language.lower() not in ("python", "python3", "ipython"):
            unknown = Unknown(1, f"the data flow of {language} is not followed", reads=True, writes=True)
            source, names = PythonSource(cell.source, language=language), Names(unknown=(unknown,))
        else:
            scan = scan_python if len(cell.source) <= KEPT else scan_python.__wrapped__
            source, names = scan(cell.source)
        flows.append(CellFlow(cell, source, names, len(flows)))
    return flows


@functools.lru_cache(maxsize=4096)
def scan_python(source: str) -> tuple[PythonSource, Names]:
    """What a cell says by itself. Kept, since a notebook is analysed again after each run and edit of one cell."""
    parsed = to_python(source)
    # Thousands of trees kept alive cost more in garbage collection than parsing the few needed again.
    return replace(parsed, tree=None), scan_cell(parsed)


def walk(flows: Sequence[CellFlow], *, language: str = "python") -> Graph:
    """The graph when the cells run in the order given (document order, or that of their execution counts)."""
    state = _State()
    placed: list[CellFlow] = []
    edges: list[Edge] = []
    for position, flow in enumerate(flows):
        done, uncertain = state.enter(replace(flow, position=position))
        for name, sources in done.needs.items():
            for source, certain in zip(sources, uncertain[name], strict=True):
                edges.append(Edge(placed[source].id, done.id, name, certain))
        placed.append(done)
        state.leave(done)
    return Graph(tuple(placed), tuple(edges), language)


class _State:
    """The notebook's namespace, as far as known, between two cells."""

    def __init__(self) -> None:
        self.touches: dict[str, list[tuple[int, bool]]] = {}
        self.imports: dict[str, str] = {}
        self.deferred: dict[str, Deferred] = {}
        self.carries: dict[str, frozenset[str]] = {}
        self.shares: dict[str, dict[str, bool]] = {}
        self.unknown_writer: int | None = None

    def enter(self, flow: CellFlow) -> tuple[CellFlow, dict[str, list[bool]]]:
        """The cell with what it reads and does here; and, per name needed, whether each source is certain."""
        names = flow.names
        imports = {**self.imports, **names.imports} if names.imports else self.imports
        deferred = {**self.deferred, **names.deferred} if names.deferred else self.deferred
        calls = Calls(imports, deferred)
        run, called = self._functions_run(names)
        builtins = BUILTINS - self.touches.keys()
        later = frozenset(name for function in run.values() for name in function.reads) - builtins
        # What these functions set themselves, by `global`, they may set before they read it.
        set_inside = frozenset(name for function in run.values() for name in function.writes)
        now = frozenset(name for each in called for name in run[each].reads) - builtins - set_inside
        reads = names.reads | (names.builtin_reads - builtins) | (now - names.writes - names.maybe_writes)
        maybe_reads = (names.maybe_reads | later) - reads
        changes, maybe_changes, effects = set(names.changes), set[str](), list(names.effects)
        sites = [(call, frozenset[str]()) for call in names.calls]
        sites += [(call, frozenset(function.params)) for function in run.values() for call in function.calls]
        for call, params in sites:
            outcome = calls.outcome(call, params)
            changes |= outcome.changed - params
            maybe_changes |= outcome.maybe - params
            if outcome.effect:
                effects.append(outcome.effect)
            if outcome.randomness == "seed":
                changes.add(RANDOM_STATE)
            elif outcome.randomness == "draw" and RANDOM_STATE in self.touches:
                maybe_reads |= {RANDOM_STATE}
                maybe_changes.add(RANDOM_STATE)
        for function in run.values():
            changes |= function.changes
        maybe_writes = names.maybe_writes | set_inside
        inside = (replace(each, line=1) for function in run.values() for each in function.unknown)
        unknown = tuple(dict.fromkeys((*names.unknown, *inside)))
        needs, certain = self._needs(reads, maybe_reads)
        if names.displays:
            effects.append("shows a value")
        done = replace(
            flow,
            reads=reads,
            maybe_reads=maybe_reads,
            writes=names.writes,
            maybe_writes=maybe_writes - names.writes,
            changes=frozenset(changes),
            maybe_changes=frozenset(maybe_changes - changes),
            deletes=names.deletes,
            unknown=unknown,
            effects=tuple(dict.fromkeys(effects)),
            needs=needs,
            undefined=frozenset(name for name in reads if name not in self.touches),
            maybe_undefined=frozenset(
                name
                for name in later - reads - names.writes - names.maybe_writes - set_inside
                if name not in self.touches
            ),
        )
        return self._with_shared_changes(done), certain

    def _functions_run(self, names: Names) -> tuple[dict[str, Deferred], set[str]]:
        """Functions and classes of earlier cells whose code may run in this cell, by way of the names it reads; and
        the names of those functions that it calls itself (or that these call)."""
        found: dict[str, Deferred] = {}
        pending = [*names.reads, *names.maybe_reads, *(names.builtin_reads & self.touches.keys())]
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            pending += self.carries.get(name, ())
            function = self.deferred.get(name)
            if function is not None:
                found[name] = function
                pending += function.reads
        called: set[str] = set()
        sites = [site.root for site in names.calls if not site.path]
        while sites:
            name = sites.pop()
            if name in found and name not in called and not found[name].is_class:
                called.add(name)
                hidden = found[name].params
                sites += [site.root for site in found[name].calls if not site.path and site.root not in hidden]
        return found, called

    def _needs(
        self, reads: frozenset[str], maybe_reads: frozenset[str]
    ) -> tuple[dict[str, tuple[int, ...]], dict[str, list[bool]]]:
        needs: dict[str, tuple[int, ...]] = {}
        certain: dict[str, list[bool]] = {}
        for names, sure in ((reads, True), (maybe_reads, False)):
            for name in sorted(names):
                touches = self.touches.get(name)
                if touches:
                    needs[name] = tuple(index for index, _ in touches)
                    certain[name] = [sure and each for _, each in touches]
        return needs, certain

    def _with_shared_changes(self, flow: CellFlow) -> CellFlow:
        """Other names of the changed objects change as well."""
        aliases = flow.names.aliases
        if not (self.shares or aliases) or not (flow.changes or flow.maybe_changes):
            return flow
        shares = _symmetric(self.shares, aliases) if aliases else self.shares
        changes, maybe = set(flow.changes), set(flow.maybe_changes)
        for names, sure in ((flow.changes, True), (flow.maybe_changes, False)):
            for name in names:
                for other, same in _reachable(shares, name):
                    (changes if sure and same else maybe).add(other)
        return replace(flow, changes=frozenset(changes), maybe_changes=frozenset(maybe - changes))

    def leave(self, flow: CellFlow) -> None:
        """What the namespace is after the cell."""
        names, position = flow.names, flow.position
        for name in flow.deletes:
            for table in (self.touches, self.imports, self.deferred, self.carries):
                table.pop(name, None)
            self._separate(name)
        for name in flow.writes:
            self._separate(name)
            self.touches[name] = [(position, True)]
        for name in flow.maybe_writes | flow.changes | flow.maybe_changes:
            if name not in flow.writes and (name in self.touches or name in flow.maybe_writes or name == RANDOM_STATE):
                sure = name in flow.changes
                self.touches.setdefault(name, []).append((position, sure))
        for name in flow.writes | flow.maybe_writes:
            self._describe(name, names, replace_all=name in flow.writes)
        for name, others in names.carries.items():
            if name not in flow.writes:
                self.carries[name] = self.carries.get(name, frozenset()) | others
        for name, sources in names.aliases.items():
            for other, same in sources.items():
                self.shares.setdefault(name, {})[other] = same
                self.shares.setdefault(other, {})[name] = same

    def _describe(self, name: str, names: Names, *, replace_all: bool) -> None:
        _update(self.imports, names.imports, name, replace_all)
        _update(self.deferred, names.deferred, name, replace_all)
        _update(self.carries, names.carries, name, replace_all)

    def _separate(self, name: str) -> None:
        for other in self.shares.pop(name, {}):
            self.shares.get(other, {}).pop(name, None)


def _update(table: dict[str, T], values: Mapping[str, T], name: str, replace_all: bool) -> None:
    if name in values:
        table[name] = values[name]
    elif replace_all:
        table.pop(name, None)


def _symmetric(
    first: Mapping[str, Mapping[str, bool]], second: Mapping[str, Mapping[str, bool]]
) -> dict[str, dict[str, bool]]:
    both: dict[str, dict[str, bool]] = {name: dict(others) for name, others in first.items()}
    for name, others in second.items():
        for other, same in others.items():
            both.setdefault(name, {})[other] = same
            both.setdefault(other, {})[name] = same
    return both


def _reachable(shares: Mapping[str, Mapping[str, bool]], name: str) -> Iterator[tuple[str, bool]]:
    """Names that may share the object of `name`, and whether they certainly do."""
    best: dict[str, bool] = {name: True}
    pending = [name]
    while pending:
        current = pending.pop()
        for other, same in shares.get(current, {}).items():
            sure = same and best[current]
            if other not in best or (sure and not best[other]):
                best[other] = sure
                pending.append(other)
    del best[name]
    yield from best.items()


def recorded_seconds(metadata: Mapping[str, Any]) -> float | None:
    """Duration of the last run from `metadata.execution` as JupyterLab records it (ISO 8601), None without one."""
    execution = metadata.get("execution")
    if not isinstance(execution, Mapping):
        return None
    start = _time(execution.get("iopub.execute_input")) or _time(execution.get("iopub.status.busy"))
    end = _time(execution.get("shell.execute_reply")) or _time(execution.get("iopub.status.idle"))
    if start is None or end is None or (start.tzinfo is None) != (end.tzinfo is None) or end < start:
        return None
    return (end - start).total_seconds()


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
