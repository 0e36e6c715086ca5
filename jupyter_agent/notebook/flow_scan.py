"""The walk behind `flow_cell.scan`: one visitor over the statements of a cell, in order. Pure."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from jupyter_agent.notebook import flow_known as known
from jupyter_agent.notebook import flow_scope as scope
from jupyter_agent.notebook.flow_body import Body, Frame, is_annotation, merge, shared, united
from jupyter_agent.notebook.flow_expressions import Expressions
from jupyter_agent.notebook.flow_names import BUILTINS, Deferred
from jupyter_agent.notebook.flow_source import Unknown


class Scan(Expressions):
    """Reads one cell's statements; `defined` is what is bound for certain at this point, None where not reached."""

    def finished(self) -> dict[str, Deferred]:
        """The functions and classes bound when the cell ends; several under one name are united."""
        return {name: united([body.finish() for body in bodies]) for name, bodies in self.bodies.items()}

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._local_lines and statement.lineno in self._local_lines:
                self._local_statement(statement)
            else:
                self.visit(statement)

    def _local_statement(self, statement: ast.stmt) -> None:
        """`%timeit x = f()`: what it binds is gone afterwards."""
        before, bound = (None if self.defined is None else set(self.defined)), set(self.bound)
        self.visit(statement)
        self.defined, self.bound = before, bound

    def _branches(self, branches: Sequence[Callable[[], None]]) -> None:
        """Run each alternative from the same state; afterwards only what all of them bind is bound for certain."""
        start = self.defined
        ends: list[set[str]] = []
        for branch in branches:
            self.defined = None if start is None else set(start)
            branch()
            if self.defined is not None:
                ends.append(self.defined)
        self.defined = set.intersection(*ends) if ends else None

    def _if(self, node: ast.If) -> None:
        self.visit(node.test)
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.block(node.body)
            return
        self._branches([lambda: self.block(node.body), lambda: self.block(node.orelse)])

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._value(node.iter)

        def body() -> None:
            self._assign_to(node.target, node.iter, element=True)
            self.block(node.body)

        self._loop(body, node.orelse, endless=False)

    def _while(self, node: ast.While) -> None:
        self.visit(node.test)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(lambda: self.block(node.body), node.orelse, endless)

    def _loop(self, body: Callable[[], None], orelse: list[ast.stmt], endless: bool) -> None:
        """The body may run zero times, unless the loop is `endless` (its condition is a true constant)."""
        start = None if self.defined is None else set(self.defined)
        body()
        if not endless or self.defined is None:
            self.defined = start
        self.block(orelse)

    def _try(self, node: ast.Try) -> None:
        before = None if self.defined is None else set(self.defined)

        def body() -> None:
            self.block(node.body)
            self.block(node.orelse)

        def handler(handler: ast.ExceptHandler) -> Callable[[], None]:
            def run() -> None:
                self.visit_all([handler.type])
                if handler.name:
                    self.store(handler.name)
                self.block(handler.body)
                if handler.name and self.defined is not None:
                    self.defined.discard(handler.name)

            return run

        self._branches([body, *(handler(each) for each in node.handlers)])
        if node.finalbody:
            after = self.defined
            self.defined = None if before is None else set(before)
            self.block(node.finalbody)
            added = (self.defined or set()) - (before or set())
            self.defined = None if after is None else after | added

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._value(item.context_expr)
            if item.optional_vars is not None:
                self._assign_to(item.optional_vars, item.context_expr, element=True)
        self.block(node.body)

    def _match(self, node: ast.Match) -> None:
        self.visit(node.subject)

        def case(case: ast.match_case) -> Callable[[], None]:
            def run() -> None:
                self._pattern(case.pattern)
                self.visit_all([case.guard])
                self.block(case.body)

            return run

        cases = [case(each) for each in node.cases]
        last = node.cases[-1]
        irrefutable = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        self._branches(cases if irrefutable else [*cases, lambda: None])

    def _pattern(self, node: ast.AST) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.MatchAs | ast.MatchStar) and child.name:
                self.store(child.name)
            elif isinstance(child, ast.MatchMapping) and child.rest:
                self.store(child.rest)
            elif isinstance(child, ast.expr) and isinstance(child, ast.Name):
                self.load(child.id, child.lineno)

    def _leave(self, node: ast.AST) -> None:
        """`raise`, `return`, `break`, `continue`: what follows in this branch is not reached."""
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        if self._body is None:
            self.defined = None

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = scope.imported_name(alias)
            self.store(name)
            self._note_import(name, alias.name if alias.asname else name, alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if module == "__future__":
            self._future_annotations |= any(alias.name == "annotations" for alias in node.names)
        for alias in node.names:
            if alias.name == "*":
                what = f"from {module} import * may bind any name"
                (self._body or self).unknown.append(Unknown(node.lineno, what, reads=False, writes=True))
                continue
            self.store(alias.asname or alias.name)
            self._note_import(alias.asname or alias.name, f"{module}.{alias.name}", module)

    def _note_import(self, name: str, target: str, module: str) -> None:
        if self._body is None and not self._is_local(name):
            self.imports[name] = target
            if module.split(".")[0] not in known.KNOWN_LIBRARIES:
                self.effects.append(f"import {module}")

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            for name in scope.stored_names(target):
                if self._is_local(name) or self._body is not None:
                    continue
                self.load(name, node.lineno)
                self.deleted.add(name)
                self.bound.discard(name)
                if self.defined is not None:
                    self.defined.discard(name)
            if isinstance(target, ast.Attribute | ast.Subscript):
                self.visit(target)
                self.change(scope.root_name(target))

    def _global(self, node: ast.Global) -> None:
        if self._frames:
            self._frames[-1].globals.update(node.names)

    # Assignment

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Lambda) and all(isinstance(target, ast.Name) for target in node.targets):
            self.visit_all(scope.outer_parts(node.value))
            body = self._function_body(node.value)
            for target in node.targets:
                self._assign_to(target, None)
                self._remember(target, body)
            return
        self._value(node.value)
        for target in node.targets:
            self._assign_to(target, node.value)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                self._share_results(target, node.value)

    def _share_results(self, target: ast.Tuple, call: ast.Call) -> None:
        """`fig, ax = plt.subplots()`: drawing on one changes the other."""
        if self._body is None and (scope.dotted(call.func) or ("",))[-1] in ("subplots", "subplot_mosaic"):
            first, *others = scope.stored_names(target)
            for name in others:
                self.aliases.setdefault(name, {})[first] = False

    def _remember(self, target: ast.AST, body: Body | None) -> None:
        if body is not None and self._body is None and isinstance(target, ast.Name) and not self._is_local(target.id):
            self.bodies[target.id] = [body]

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        if not self._future_annotations:
            self.visit(node.annotation)
        if node.value is not None:
            self._value(node.value)
            self._assign_to(node.target, node.value)

    def _aug_assign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            name = node.target.id
            self.load(name, node.lineno)
            self.change(name)
            aliases, carries = self.aliases.get(name), self.carries.get(name)
            self.store(name)
            if aliases and not self._is_local(name):
                self.aliases[name] = aliases
            if carries and not self._is_local(name):
                self.carries[name] = carries
        else:
            self._assign_to(node.target, None)

    def _type_alias(self, node: ast.AST) -> None:
        self.store(node.name.id)  # type: ignore[attr-defined]

    def _named(self, node: ast.NamedExpr) -> None:
        self._value(node.value)
        self._assign_to(node.target, node.value)

    def _assign_to(self, target: ast.AST, value: ast.AST | None, *, element: bool = False) -> None:
        """Bind or change `target`; `element`: it gets an element of `value`, or what entering `value` gave."""
        if isinstance(target, ast.Name):
            sources = shared(value, element) if value is not None else {}
            carried, bodies = self._handed if value is not None else (set[str](), [])
            sources.pop(target.id, None)
            self.store(target.id)
            table = self.aliases if self._body is None else self._body.aliases
            if sources and (self._body is not None or not self._is_local(target.id)):
                table[target.id] = {**table.get(target.id, {}), **sources} if self._body else sources
            if self._body is None and not self._is_local(target.id):
                if carried:
                    self.carries[target.id] = carried
                if bodies:
                    self.bodies[target.id] = bodies
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            plain = len(parts) == len(target.elts) and not element
            for index, item in enumerate(target.elts):
                self._assign_to(item, parts[index] if plain else value, element=element or not plain)
        elif isinstance(target, ast.Starred):
            self._assign_to(target.value, value, element=True)
        else:
            self.visit(target)
            self.change(scope.root_name(target))
            name = scope.root_name(target)
            if name and value is not None:
                self._stored_inside(name, value)

    def _stored_inside(self, name: str, value: ast.AST) -> None:
        """`box.item = value`: a later change through `box` may change what was put in, and the reverse."""
        table = self.aliases if self._body is None else self._body.aliases
        if self._body is None and self._is_local(name):
            return
        for source in shared(value, element=True):
            if source != name:
                table.setdefault(name, {}).setdefault(source, False)
        if self._body is None:
            self.carries.setdefault(name, set()).update(self._handed[0])

    def _value(self, value: ast.AST) -> None:
        """Read the right side of an assignment. `_handed` becomes what the target gets hold of: names that are handed
        on rather than called (a class that is called hands on its methods), and bodies of lambdas."""
        names, lambdas = len(self._loaded), len(self._lambdas)
        self.visit(value)
        handed = {name for name, called in self._loaded[names:] if not called or name[:1].isupper()}
        self._handed = (handed - BUILTINS, self._lambdas[lambdas:])

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        with self._scope(Frame("comprehension", scope.type_parameters(node))):
            for part in scope.outer_parts(node):
                if not (self._future_annotations and is_annotation(node, part)):
                    self.visit(part)
        body = self._function_body(node)
        if self._body is not None:
            self.store(node.name)
            return
        if self._class_body is not None:
            merge(self._class_body, body)
            self.store(node.name)
            return
        others = self.bodies.get(node.name, []) if node.name not in (self.defined or ()) else []
        self.store(node.name)
        self.bodies[node.name] = [*others, body]
        if any(scope.dotted(decorator) not in _QUIET_DECORATORS for decorator in node.decorator_list):
            # A decorator may call the function at once (`@interact`, `@app.route`): what it reads may be read now.
            undefined = body.reads - (self.defined or set()) - BUILTINS - {node.name}
            self.maybe_reads |= undefined - self.bound
            self.carries[node.name] = {name for d in node.decorator_list if (name := scope.root_name(d))}

    def _class(self, node: ast.ClassDef) -> None:
        with self._scope(Frame("comprehension", scope.type_parameters(node))):
            self.visit_all(scope.outer_parts(node))
        outer = self._class_body
        body = self._body if self._body is not None else (outer or Body(is_class=True))
        if self._body is None:
            self._class_body = body
        self._frames.append(Frame("class", set()))
        self.block(node.body)
        self._frames.pop()
        self._class_body = outer
        self.store(node.name)
        if self._body is None and outer is None:
            self.bodies[node.name] = [body]
            bases = {name for base in node.bases if (name := scope.root_name(base))}
            if bases - BUILTINS:
                self.carries[node.name] = bases - BUILTINS


_QUIET_DECORATORS = {
    ("staticmethod",), ("classmethod",), ("property",), ("dataclass",), ("lru_cache",), ("cache",), ("contextmanager",),
    ("functools", "lru_cache"), ("functools", "cache"), ("functools", "wraps"), ("contextlib", "contextmanager"),
    ("dataclasses", "dataclass"),
}  # fmt: skip

Scan.handlers = {
    ast.Load: Scan._constant, ast.Store: Scan._constant, ast.Name: Scan._name, ast.Constant: Scan._constant,
    ast.Expr: Scan._expression, ast.Call: Scan._call,
    ast.Attribute: Scan._attribute, ast.Lambda: Scan._lambda, ast.NamedExpr: Scan._named,
    ast.ListComp: Scan._comprehension, ast.SetComp: Scan._comprehension, ast.DictComp: Scan._comprehension,
    ast.GeneratorExp: Scan._comprehension, ast.Assign: Scan._assign, ast.AnnAssign: Scan._ann_assign,
    ast.AugAssign: Scan._aug_assign, ast.If: Scan._if, ast.For: Scan._for, ast.AsyncFor: Scan._for,
    ast.While: Scan._while, ast.Try: Scan._try, ast.TryStar: Scan._try, ast.With: Scan._with,
    ast.AsyncWith: Scan._with, ast.Match: Scan._match, ast.Raise: Scan._leave, ast.Return: Scan._leave,
    ast.Break: Scan._leave, ast.Continue: Scan._leave, ast.Import: Scan._import, ast.ImportFrom: Scan._import_from,
    ast.Delete: Scan._delete, ast.Global: Scan._global, ast.FunctionDef: Scan._function,
    ast.AsyncFunctionDef: Scan._function, ast.ClassDef: Scan._class,
}  # fmt: skip
if hasattr(ast, "TypeAlias"):
    Scan.handlers[ast.TypeAlias] = Scan._type_alias
