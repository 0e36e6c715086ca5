"""The shapes in which one cell's reads, bindings and changes are described: data only."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_agent.notebook import flow_known as known
from jupyter_agent.notebook.flow_source import Unknown

BUILTINS = frozenset(dir(builtins)) | known.SHELL_NAMES


@dataclass(frozen=True, slots=True)
class CallSite:
    """`root.path…(arguments)`: `root` is "" where the callee does not start with a name.

    `arguments` pairs a position or keyword with the name of the object passed; `dropped`: the result is not used;
    `indirect`: the call is on the result of another call; `inplace`: `inplace=` is given and not False.
    """

    root: str
    path: tuple[str, ...]
    arguments: tuple[tuple[int | str, str], ...]
    dropped: bool
    indirect: bool
    inplace: bool
    line: int


@dataclass(frozen=True, slots=True)
class Deferred:
    """What happens, in the notebook's namespace, when a function or a class's methods run.

    `calls` may have names of `params` as root or argument; `changed_params` are changed by the body directly.
    """

    params: tuple[str, ...]
    is_class: bool
    reads: frozenset[str]
    writes: frozenset[str]
    changes: frozenset[str]
    changed_params: frozenset[str]
    calls: tuple[CallSite, ...]
    unknown: tuple[Unknown, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """One cell. `reads` need a value from before the cell; `maybe_reads` only on some paths, or only if defined.

    `writes` are bound whenever the cell completes, `maybe_writes` perhaps. `builtin_reads` are builtins read, which
    another cell may have bound anew. `changes` holds names whose object is changed by statements (items, attributes,
    augmented assignment). `aliases[n]`: names that n may share its object with; true for a plain `n = m`.
    `carries[n]`: names whose functions n may call later. `imports[n]`: the dotted thing that n was imported as.
    """

    reads: frozenset[str] = frozenset()
    maybe_reads: frozenset[str] = frozenset()
    builtin_reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    maybe_writes: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    calls: tuple[CallSite, ...] = ()
    deferred: Mapping[str, Deferred] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    carries: Mapping[str, frozenset[str]] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[Unknown, ...] = ()
    displays: bool = False
    effects: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    """First line on which each name is read."""
