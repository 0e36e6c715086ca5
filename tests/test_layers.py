"""Layers, lazy imports and sizes of the package, read from its syntax trees: no module is imported here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import jupyter_agent

ROOT = Path(jupyter_agent.__path__[0])

RANKS = {
    **dict.fromkeys(["errors", "events", "text", "storage"], 0),
    **dict.fromkeys(["effect", "edit", "atomic", "arguments"], 1),
    **dict.fromkeys(["workspace", "shell", "notebook", "kernel", "models"], 2),
    **dict.fromkeys(["permission", "checkpoint", "budget", "repetition", "context"], 3),
    **dict.fromkeys(["journal", "spill", "summary", "trust"], 3),
    **dict.fromkeys(["tool", "tools", "refactor"], 4),
    **dict.fromkeys(["loop", "conversation", "call", "check", "compaction", "evidence"], 5),
    **dict.fromkeys(["connecting", "host", "undo", "withhold"], 5),
    "testing": 6,
    **dict.fromkeys(["magic", "cli", "mcp", "acp", "server", "__main__", ""], 7),
}
"""First component below `jupyter_agent` (`""` is the package's own `__init__`) to its rank."""

PORTS = 2
SURFACES = 7
SURFACE_LIBRARIES = {"tornado", "IPython"}
LAZY_LIBRARIES = {"anthropic", "nbformat", "tree_sitter", "rich", "jedi"}
MODULE_LINES = 450
FUNCTION_LINES = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> dict[str, ast.Module]:
    """Dotted name below `jupyter_agent` (`""` for its `__init__`) to the parsed module."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def imported(name: str, tree: ast.AST, *, is_package: bool) -> Iterator[str]:
    """Absolute names of everything imported anywhere in the module, relative imports resolved."""
    package = ["jupyter_agent", *name.split(".")] if name else ["jupyter_agent"]
    if not is_package:
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *([node.module] if node.module else [])]
            # `from jupyter_agent import x` may name a module: keep the last part.
            yield from (".".join([*base, alias.name]) for alias in node.names)


def layer_violations(name: str, tree: ast.AST, *, is_package: bool = False) -> list[str]:
    """Imports of `name` that its rank does not allow.

    Equal ranks may know each other (tools/ and tool.py, loop and conversation) except among the ports.
    """
    room = name.split(".")[0]
    rank = RANKS[room]
    violations = []
    for target in imported(name, tree, is_package=is_package):
        parts = target.split(".")
        if parts[0] != "jupyter_agent":
            continue
        other = parts[1] if len(parts) > 1 and parts[1] in RANKS else ""
        if other == room:
            continue
        allowed = RANKS[other] < rank or (RANKS[other] == rank and rank != PORTS)
        if not allowed:
            violations.append(f"{name or '__init__'} (rank {rank}) imports {target} (rank {RANKS[other]})")
    return violations


def module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run on import: not function bodies, nor blocks under TYPE_CHECKING."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.stmt):
            yield node
        pending.extend(ast.iter_child_nodes(node))


def eager_imports(name: str, tree: ast.Module) -> list[str]:
    """Libraries imported at module level that this module's rank must import where they are used."""
    banned = LAZY_LIBRARIES | (SURFACE_LIBRARIES if RANKS[name.split(".")[0]] < SURFACES else set())
    found = set()
    for node in module_level(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return [f"{name or '__init__'} imports {library} at module level" for library in sorted(found & banned)]


def long_functions(name: str, tree: ast.Module) -> list[str]:
    """Functions longer than the limit, their decorators and docstring not counted."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            length = (node.end_lineno or node.lineno) - body[0].lineno + 1 if body else 0
            if length > FUNCTION_LINES:
                found.append(f"{name}.{node.name}: {length} lines")
    return found


def test_every_module_has_a_rank() -> None:
    unknown = {name for name in modules() if name.split(".")[0] not in RANKS and not name.startswith("demo")}
    assert not unknown, f"give these a rank in tests/test_layers.py and DESIGN's table: {sorted(unknown)}"


def test_modules_import_only_from_lower_ranks() -> None:
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.rglob("__init__.py")}
    violations = [
        line for name, tree in modules().items() for line in layer_violations(name, tree, is_package=name in packages)
    ]
    assert not violations, "\n".join(violations)


def test_heavy_libraries_are_imported_where_used() -> None:
    eager = [line for name, tree in modules().items() for line in eager_imports(name, tree)]
    assert not eager, "\n".join(eager)


def test_every_module_says_what_it_promises() -> None:
    # An empty package marker promises nothing.
    silent = [name for name, tree in modules().items() if tree.body and not ast.get_docstring(tree)]
    assert not silent, f"modules without a docstring: {silent}"


def test_modules_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    long = {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > MODULE_LINES}
    assert not long, f"over {MODULE_LINES} lines, so more than one job each: {long}"


def test_functions_are_short() -> None:
    long = [line for name, tree in modules().items() for line in long_functions(name, tree)]
    assert not long, f"over {FUNCTION_LINES} lines:\n" + "\n".join(long)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("errors", "from jupyter_agent import effect"),
        ("notebook.file", "from jupyter_agent.kernel.protocol import Kernel"),
        ("notebook.file", "import jupyter_agent.workspace.paths"),
        ("notebook.file", "from ..models import protocol"),
        ("kernel.client", "def later():\n    from jupyter_agent.tools import cells"),
        ("edit.engine", "from jupyter_agent.workspace import paths"),
        ("loop", "from jupyter_agent.magic import x"),
        ("loop", "from jupyter_agent import load_ipython_extension"),
    ],
)
def test_planted_layer_violation_is_seen(name: str, source: str) -> None:
    assert layer_violations(name, ast.parse(source))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("notebook.file", "from jupyter_agent.errors import NotebookRefused\nfrom .document import Cell"),
        ("conversation", "from jupyter_agent.loop import run"),
        (
            "tools.cells",
            "from jupyter_agent.tool import tool\nfrom jupyter_agent.kernel.protocol import Kernel",
        ),
        ("cli", "from jupyter_agent import conversation\nimport rich_like"),
    ],
)
def test_allowed_imports_are_not_flagged(name: str, source: str) -> None:
    assert not layer_violations(name, ast.parse(source))


def test_planted_eager_import_is_seen() -> None:
    assert eager_imports("kernel.client", ast.parse("try:\n    import tornado.web\nexcept ImportError:\n    pass"))
    assert eager_imports("cli", ast.parse("from rich.console import Console"))
    assert not eager_imports("magic", ast.parse("from IPython.core.magic import Magics"))
    assert not eager_imports("kernel.client", ast.parse("def f():\n    import nbformat"))
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import anthropic"
    assert not eager_imports("models.client", ast.parse(lazy))


def test_planted_long_function_is_seen() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(FUNCTION_LINES + 1))
    assert long_functions("m", ast.parse(f"class A:\n  def f(self):\n{body}"))
    assert not long_functions("m", ast.parse('def f():\n    """' + "line\n" * 80 + '    """\n    return 1'))
