"""What one cell reads, binds and changes, without its neighbours: pure over its source.

Module-level code is followed in order (branches, loops and `try` included), so a name the cell binds itself before
reading it is no read; bodies of functions count when they are called.
"""

from __future__ import annotations

import ast

from jupyter_agent.notebook.flow_names import Names
from jupyter_agent.notebook.flow_scan import Scan
from jupyter_agent.notebook.flow_source import PythonSource, Unknown


def scan(source: PythonSource) -> Names:
    """The names of one cell; of a cell that is not Python, or does not parse, only what its magics name."""
    if source.tree is None:
        unknown = source.unknown
        if source.error is not None:
            unknown = (*unknown, Unknown(source.error_line or 1, f"syntax error: {source.error}", True, True))
        effects = tuple(dict.fromkeys(magic.name for magic in source.magics))
        return Names(source.reads, source.soft_reads, writes=source.writes, unknown=unknown, effects=effects)
    visitor = Scan(source.local_lines)
    for name in sorted(source.reads):
        visitor.load(name, 1)
    for name in source.setup:
        visitor.store(name)
    visitor.block(source.tree.body)
    return _names(visitor, source)


def _names(visitor: Scan, source: PythonSource) -> Names:
    bound = visitor.defined if visitor.defined is not None else visitor.bound
    writes, maybe = frozenset(bound), frozenset(visitor.bound - bound)
    if source.local:
        writes, maybe = frozenset(), frozenset()
    tree = source.tree
    last = tree.body[-1] if tree is not None and tree.body else None
    displays = isinstance(last, ast.Expr) and not _is_silenced(source.text)
    deletes = frozenset(visitor.deleted - bound) | source.deletes
    effects = (*visitor.effects, *(magic.name for magic in source.magics))
    return Names(
        reads=frozenset(visitor.reads),
        maybe_reads=frozenset(visitor.maybe_reads - visitor.reads) | source.soft_reads,
        builtin_reads=frozenset(visitor.builtin_reads),
        writes=writes | source.writes,
        maybe_writes=maybe - source.writes,
        deletes=deletes,
        changes=frozenset(visitor.changed),
        calls=tuple(visitor.calls),
        deferred={} if source.local else visitor.finished(),
        aliases=visitor.aliases,
        carries={name: frozenset(names) for name, names in visitor.carries.items()},
        imports=visitor.imports,
        unknown=(*source.unknown, *visitor.unknown),
        displays=displays,
        effects=tuple(dict.fromkeys(effects)),
        lines=visitor.lines,
    )


def _is_silenced(text: str) -> bool:
    """Whether the last line of code ends in `;`, which tells IPython not to show the value."""
    for line in reversed(text.split("\n")):
        code = line.split("#")[0].rstrip() if line.count('"') + line.count("'") == 0 else line.rstrip()
        if code:
            return code.endswith(";")
    return False
