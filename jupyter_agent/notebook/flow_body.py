"""Bodies of functions and classes while they are being read, and which objects an expression may share: pure."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from jupyter_agent.notebook.flow_names import CallSite, Deferred
from jupyter_agent.notebook.flow_source import Unknown


@dataclass
class Frame:
    """One Python scope: `names` resolve here. A class's grow as its body binds them and are seen only in it."""

    kind: str
    names: set[str]
    globals: set[str] = field(default_factory=set)


@dataclass
class Body:
    """A function or class whose code runs later, while it is being read."""

    params: tuple[str, ...] = ()
    is_class: bool = False
    frame: Frame | None = None
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    changed_locals: set[str] = field(default_factory=set)
    aliases: dict[str, dict[str, bool]] = field(default_factory=dict)
    calls: list[CallSite] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)

    def origins(self, name: str) -> set[str]:
        """Parameters and globals whose object the local `name` may be; `name` itself where it is not a plain local."""
        found: set[str] = set()
        pending, seen = [name], set[str]()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            is_local = self.frame is not None and current in self.frame.names
            if not is_local or current in self.params:
                found.add(current)
            pending += self.aliases.get(current, ())
        return found

    def finish(self) -> Deferred:
        changed = {origin for name in self.changed_locals for origin in self.origins(name)}
        calls: list[CallSite] = []
        for call in self.calls:
            arguments = tuple((slot, origin) for slot, name in call.arguments for origin in sorted(self.origins(name)))
            roots = sorted(self.origins(call.root)) if call.root else [""]
            for root in roots or [""]:
                calls.append(CallSite(root, call.path, arguments, call.dropped, call.indirect, call.inplace, call.line))
        return Deferred(
            self.params,
            self.is_class,
            frozenset(self.reads),
            frozenset(self.writes),
            frozenset(self.changes | (changed - set(self.params))),
            frozenset(changed & set(self.params)),
            tuple(calls),
            tuple(self.unknown),
        )


def shared(value: ast.AST, element: bool) -> dict[str, bool]:
    """Names whose object the value is (True) or may be part of, view of, or hold (False)."""
    if isinstance(value, ast.Name):
        return {value.id: not element}
    if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred | ast.Await):
        return dict.fromkeys(shared(value.value, True), False)
    parts: list[ast.AST] = []
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        parts = list(value.elts)
    elif isinstance(value, ast.Dict):
        parts = list(value.values)
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp):
        parts = list(value.values)
    elif isinstance(value, ast.NamedExpr):
        parts = [value.value, value.target]
    elif isinstance(value, ast.Call) and _holds_arguments(value, element):
        parts = [*value.args, *(keyword.value for keyword in value.keywords)]
        if isinstance(value.func, ast.Attribute) and not value.func.attr[:1].isupper():
            parts.append(value.func)
    return {name: False for part in parts for name in shared(part, True)}


def _holds_arguments(call: ast.Call, element: bool) -> bool:
    """Calls whose result keeps hold of what they were given: constructors by convention, iteration helpers, and (for
    an element) methods of an object: `for k, v in d.items()`."""
    function = call.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in ("DataFrame", "Series", "Counter", "Path"):
        return False  # These copy what they are given.
    if name[:1].isupper() or name in ("zip", "enumerate", "reversed", "iter", "map", "filter", "partial", "cast"):
        return True
    return element and name in ("items", "values", "ravel", "flatten", "parameters", "flat", "children", "modules")


def is_annotation(node: ast.FunctionDef | ast.AsyncFunctionDef, part: ast.AST) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    return part is node.returns or any(argument and argument.annotation is part for argument in arguments)


def merge(into: Body, body: Body) -> None:
    """A method belongs to its class: what it changes through its parameters is not followed further."""
    deferred = body.finish()
    into.reads |= deferred.reads
    into.writes |= deferred.writes
    into.changes |= deferred.changes
    into.calls += [call for call in deferred.calls if call.root not in body.params]
    into.unknown += deferred.unknown


def united(parts: list[Deferred]) -> Deferred:
    if len(parts) == 1:
        return parts[0]
    return Deferred(
        (),
        any(part.is_class for part in parts),
        frozenset[str]().union(*(part.reads for part in parts)),
        frozenset[str]().union(*(part.writes for part in parts)),
        frozenset[str]().union(*(part.changes for part in parts)),
        frozenset(),
        tuple(call for part in parts for call in part.calls if call.root not in part.params),
        tuple(unknown for part in parts for unknown in part.unknown),
    )
