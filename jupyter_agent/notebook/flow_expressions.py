"""Expressions of a cell: names looked up, calls noted, bodies of lambdas read. The lower half of the scan; pure."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from jupyter_agent.notebook import flow_known as known
from jupyter_agent.notebook import flow_scope as scope
from jupyter_agent.notebook.flow_body import Body, Frame, shared
from jupyter_agent.notebook.flow_names import BUILTINS, CallSite
from jupyter_agent.notebook.flow_source import Unknown

Handler = Callable[[Any, Any], None]


class Expressions:
    """Reads expressions in order; see the fields of `flow_names.Names` for what is collected."""

    handlers: ClassVar[dict[type, Handler]] = {}

    def __init__(self, local_lines: frozenset[int] = frozenset()) -> None:
        self.reads: set[str] = set()
        self.maybe_reads: set[str] = set()
        self.builtin_reads: set[str] = set()
        self.bound: set[str] = set()
        self.defined: set[str] | None = set()
        self.deleted: set[str] = set()
        self.changed: set[str] = set()
        self.calls: list[CallSite] = []
        self.bodies: dict[str, list[Body]] = {}
        self.aliases: dict[str, dict[str, bool]] = {}
        self.carries: dict[str, set[str]] = {}
        self.imports: dict[str, str] = {}
        self.unknown: list[Unknown] = []
        self.effects: list[str] = []
        self.lines: dict[str, int] = {}
        self._frames: list[Frame] = []
        self._body: Body | None = None
        self._class_body: Body | None = None
        self._local_lines = local_lines
        self._future_annotations = False
        self._ran: set[int] = set()
        self._loaded: list[tuple[str, bool]] = []
        self._lambdas: list[Body] = []
        self._handed: tuple[set[str], list[Body]] = (set(), [])

    # Names

    def load(self, name: str, line: int, *, called: bool = False) -> None:
        if self._is_local(name):
            return
        if self._body is not None:
            self._body.reads.add(name)
            return
        self._loaded.append((name, called))
        self.lines.setdefault(name, line)
        if self.defined is None or name in self.defined:
            self._expand(name, line, called)
        elif name in self.bound:
            self.maybe_reads.add(name)
            self._expand(name, line, called)
        elif name not in BUILTINS or name in self.deleted:
            self.reads.add(name)
        else:
            self.builtin_reads.add(name)

    def _expand(self, name: str, line: int, called: bool) -> None:
        """A function of this very cell is called (or handed on): what its body reads may be read now."""
        pending, seen = [name], set[str]()
        while pending:
            current = pending.pop()
            if current in seen or current not in self.bodies:
                continue
            seen.add(current)
            for body in self.bodies[current]:
                self._run(body, line, called and not body.is_class)
                pending += body.reads

    def _run(self, body: Body, line: int, certain: bool) -> None:
        defined = self.defined if self.defined is not None else self.bound
        for name in body.reads - defined:
            if name in BUILTINS and name not in self.deleted:
                self.builtin_reads.add(name)
                continue
            self.lines.setdefault(name, line)
            (self.reads if certain and name not in self.bound else self.maybe_reads).add(name)
        self.changed |= body.changes
        self.bound |= body.writes
        if id(body) not in self._ran:
            self._ran.add(id(body))
            deferred = body.finish()
            self.changed |= deferred.changes
            self.calls += [call for call in deferred.calls if call.root not in body.params]
            self.unknown += deferred.unknown

    def store(self, name: str) -> None:
        for frame in reversed(self._frames):
            if name in frame.globals:
                break
            if frame.kind == "comprehension":
                if name in frame.names:
                    return
                continue
            if frame.kind == "class":
                frame.names.add(name)
            return
        if self._body is not None:
            self._body.writes.add(name)
            return
        self.bound.add(name)
        if self.defined is not None:
            self.defined.add(name)
        for table in (self.bodies, self.aliases, self.carries, self.imports):
            table.pop(name, None)

    def _is_local(self, name: str) -> bool:
        innermost = True
        for frame in reversed(self._frames):
            if name in frame.globals:
                return False
            if name in frame.names and (frame.kind != "class" or innermost):
                return True
            innermost = innermost and frame.kind == "comprehension"
        return False

    def change(self, name: str | None) -> None:
        """The object that `name` refers to is changed in place."""
        if name is None:
            return
        if self._body is not None:
            if self._is_local(name):
                if self._body.frame is not None and name in self._body.frame.names:
                    self._body.changed_locals.add(name)
            else:
                self._body.changes.add(name)
        elif not self._is_local(name):
            self.changed.add(name)

    # Walking

    def visit(self, node: ast.AST) -> None:
        handler = self.handlers.get(node.__class__)
        if handler is not None:
            handler(self, node)
            return
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # Scopes inside expressions

    def _function_body(self, node: scope.FunctionNode) -> Body:
        """Read a function's body. Inside another function's it belongs to the outer one, which is returned."""
        bindings = scope.function_bindings(node)
        frame = Frame("function", bindings.names, bindings.globals)
        outer = self._body
        body = outer or Body(scope.parameters(node), False, frame)
        statements = [node.body] if isinstance(node, ast.Lambda) else node.body
        class_body, self._class_body = self._class_body, None
        self._body = body
        self._frames.append(frame)
        self.visit_all(statements)
        self._frames.pop()
        self._body, self._class_body = outer, class_body
        return body

    def _lambda(self, node: ast.Lambda) -> None:
        self.visit_all(scope.outer_parts(node))
        body = self._function_body(node)
        if self._body is None:
            self._lambdas.append(body)
            for name in sorted(body.reads):
                self.load(name, node.lineno, called=True)
            self._run(body, node.lineno, certain=True)

    def _comprehension(self, node: scope.ComprehensionNode) -> None:
        self.visit(node.generators[0].iter)
        with self._scope(Frame("comprehension", scope.comprehension_targets(node))):
            for index, generator in enumerate(node.generators):
                if index:
                    self.visit(generator.iter)
                self.visit(generator.target)
                self.visit_all(generator.ifs)
            if isinstance(node, ast.DictComp):
                self.visit(node.key)
                self.visit(node.value)
            else:
                self.visit(node.elt)

    @contextmanager
    def _scope(self, frame: Frame) -> Iterator[None]:
        self._frames.append(frame)
        yield
        self._frames.pop()

    # Expressions

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.load(node.id, node.lineno)

    def _constant(self, node: ast.AST) -> None:
        pass

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._call(node.value, dropped=True)
        elif isinstance(node.value, ast.Await) and isinstance(node.value.value, ast.Call):
            self._call(node.value.value, dropped=True)
        else:
            self.visit(node.value)

    def _call(self, node: ast.Call, dropped: bool = False) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            self.load(function.id, function.lineno, called=True)
        else:
            self.visit(function)
        self.visit_all(node.args)
        self.visit_all(keyword.value for keyword in node.keywords)
        self._note_unknown(node)
        site = self._call_site(node, dropped)
        (self._body or self).calls.append(site)

    def _call_site(self, node: ast.Call, dropped: bool) -> CallSite:
        root = scope.root_name(node.func)
        path = scope.dotted(node.func)
        last = (node.func.attr,) if isinstance(node.func, ast.Attribute) else ()
        slots: list[tuple[int | str, ast.AST]] = [*enumerate(node.args)]
        slots += [(keyword.arg or "**", keyword.value) for keyword in node.keywords]
        hidden = self._hidden
        arguments = [(slot, name) for slot, value in slots for name in shared(value, True) if not hidden(name)]
        inplace = any(
            keyword.arg == "inplace" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
            for keyword in node.keywords
        )
        indirect = path is None and scope.goes_through_call(node.func)
        visible = "" if root is None or hidden(root) or (path is None and not last) else root
        return CallSite(visible, path[1:] if path else last, tuple(arguments), dropped, indirect, inplace, node.lineno)

    def _hidden(self, name: str) -> bool:
        """A name of an inner scope, which means nothing outside it. Locals of the outermost function stay visible:
        they are traced to its parameters."""
        if not self._is_local(name):
            return False
        return self._body is None or self._body.frame is None or name not in self._body.frame.names

    def _note_unknown(self, node: ast.Call) -> None:
        found: tuple[str, bool, bool] | None = None
        function = node.func
        if isinstance(function, ast.Name) and not self._is_local(function.id):
            found = known.UNKNOWN_CALLS.get(function.id)
            if function.id in ("vars", "dir") and not node.args:
                found = (f"{function.id}() may read any name", True, False)
        elif isinstance(function, ast.Attribute) and function.attr in known.SHELL_ATTRIBUTES:
            inner: ast.AST = function.value
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if isinstance(inner, ast.Call) and scope.dotted(inner.func) in _SHELLS:
                found = (f"get_ipython().{function.attr}() may read and bind any name", True, True)
        if found is not None:
            what, reads, writes = found
            (self._body or self).unknown.append(Unknown(node.lineno, what, reads, writes))

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr in ("user_ns", "user_global_ns"):
            what = f"get_ipython().{node.attr} may read and bind any name"
            (self._body or self).unknown.append(Unknown(node.lineno, what, True, True))
        self.visit(node.value)


_SHELLS = (("get_ipython",), ("IPython", "get_ipython"), ("InteractiveShell", "instance"))
