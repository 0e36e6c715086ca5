"""Which names a Python scope binds: pure functions over `ast`, shared by the scan of names and by the recipes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Bindings:
    """Names bound in one scope itself; those declared `global` or `nonlocal` are not among `names`."""

    names: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)


def parameters(node: FunctionNode) -> tuple[str, ...]:
    """Names of all parameters: positional ones first, in order."""
    args = node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if args.vararg:
        names.append(args.vararg.arg)
    names += [arg.arg for arg in args.kwonlyargs]
    if args.kwarg:
        names.append(args.kwarg.arg)
    return tuple(names)


def function_bindings(node: FunctionNode) -> Bindings:
    bindings = Bindings({*parameters(node), *type_parameters(node)})
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for child in body:
        _collect(child, bindings)
    bindings.names -= bindings.globals | bindings.nonlocals
    return bindings


def type_parameters(node: ast.AST) -> set[str]:
    """Names of the type parameters of `def f[T]` and `class C[T]` (Python ≥ 3.12)."""
    return {parameter.name for parameter in getattr(node, "type_params", ())}


def block_bindings(body: list[ast.stmt]) -> Bindings:
    """Names that statements bind in the scope they stand in (of a module or class body)."""
    bindings = Bindings()
    for statement in body:
        _collect(statement, bindings)
    return bindings


def comprehension_targets(node: ComprehensionNode) -> set[str]:
    return {name for generator in node.generators for name in stored_names(generator.target)}


def stored_names(target: ast.AST) -> Iterator[str]:
    """Names bound by an assignment target (not those whose items or attributes it sets)."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from stored_names(element)
    elif isinstance(target, ast.Starred):
        yield from stored_names(target.value)


def imported_name(alias: ast.alias) -> str:
    """The name that `import a.b` or `from m import a as b` binds."""
    return alias.asname or alias.name.split(".")[0]


def root_name(node: ast.AST) -> str | None:
    """The name at the start of `a.b[c].d(…).e`, None when it starts otherwise."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Await):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.NamedExpr):
            return node.target.id
        else:
            return node.id if isinstance(node, ast.Name) else None


def goes_through_call(node: ast.AST) -> bool:
    """Whether `a.b().c` has a call on the way from its root."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Call | ast.Await)


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """("np", "random", "seed") of `np.random.seed`; None for anything but names joined by dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return tuple(reversed(parts))


def _collect(node: ast.AST, bindings: Bindings) -> None:
    """Add what `node` binds in its own scope, without entering nested scopes (but entering comprehensions for `:=`)."""
    stack: list[tuple[ast.AST, bool]] = [(node, False)]
    while stack:
        current, in_comprehension = stack.pop()
        kind = type(current)
        if kind is ast.Name:
            if not in_comprehension and not isinstance(current.ctx, ast.Load):  # type: ignore[attr-defined]
                bindings.names.add(current.id)  # type: ignore[attr-defined]
            continue
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bindings.names.add(current.name)
            stack += [(child, in_comprehension) for child in outer_parts(current)]
            continue
        if kind is ast.Lambda:
            stack += [(child, in_comprehension) for child in outer_parts(current)]
            continue
        if isinstance(current, ast.NamedExpr):
            bindings.names.add(current.target.id)
            stack.append((current.value, in_comprehension))
            continue
        _declare(current, bindings)
        inside = in_comprehension or isinstance(current, COMPREHENSIONS)
        stack += [(child, inside) for child in ast.iter_child_nodes(current)]


def _declare(node: ast.AST, bindings: Bindings) -> None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        bindings.names.update(imported_name(alias) for alias in node.names if alias.name != "*")
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        if node.name:
            bindings.names.add(node.name)
    elif isinstance(node, ast.MatchMapping):
        if node.rest:
            bindings.names.add(node.rest)
    elif isinstance(node, ast.Global):
        bindings.globals.update(node.names)
    elif isinstance(node, ast.Nonlocal):
        bindings.nonlocals.update(node.names)


def outer_parts(node: ast.AST) -> list[ast.AST]:
    """The parts of a definition that are evaluated in the scope around it."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
        parts += [default for default in node.args.kw_defaults if default]
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        parts += [argument.annotation for argument in arguments if argument and argument.annotation]
        return [*parts, *([node.returns] if node.returns else [])]
    return []
