"""What a call does to the objects it is given, as far as the notebook's own code and the tables tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jupyter_agent.notebook import flow_known as known
from jupyter_agent.notebook.flow_names import CallSite, Deferred

Randomness = Literal["", "seed", "draw"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`changed` objects are changed for certain, `maybe` perhaps. `effect`: what else it does ("" for nothing that
    another cell or a reader could see); `randomness`: how it uses the process-wide random state."""

    changed: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    effect: str = ""
    randomness: Randomness = ""


NOTHING = Outcome()


class Calls:
    """Judges calls with the imports and functions known at one place of the notebook."""

    def __init__(self, imports: Mapping[str, str], deferred: Mapping[str, Deferred]) -> None:
        self._imports = imports
        self._deferred = deferred
        self._active: set[int] = set()

    def outcome(self, site: CallSite, locals_: frozenset[str] = frozenset()) -> Outcome:
        """`locals_`: parameters that hide the notebook's names in the function the call stands in."""
        root = site.root
        text = ".".join((root or "…", *site.path)) + "()"
        arguments = frozenset(name for _, name in site.arguments)
        if root and root not in locals_:
            if root in self._imports:
                return self._library(site, f"{self._imports[root]}{''.join('.' + part for part in site.path)}", text)
            if not site.path and root in self._deferred:
                return self._own(site, self._deferred[root], text)
            if not site.path and (builtin := _builtin(root, arguments)) is not None:
                return builtin
        if site.path and root:
            return self._method(site, arguments, text)
        if site.path and not root and site.path[-1] in known.PURE_METHODS and not site.inplace:
            return NOTHING
        return Outcome(maybe=arguments | ({root} if root else frozenset()), effect=f"calls {text}")

    def _library(self, site: CallSite, full: str, text: str) -> Outcome:
        module, last = full.split(".")[0], full.rsplit(".", 1)[-1]
        arguments = frozenset(name for _, name in site.arguments)
        randomness: Randomness = ""
        if last in known.SEEDS:
            randomness = "seed"
        elif last in known.RANDOM_METHODS and ("random" in full or full.startswith("torch.")):
            randomness = "draw"
        if last in known.MUTATING_FUNCTIONS:
            return Outcome(frozenset(name for slot, name in site.arguments if slot in (0, "a", "x")) or arguments,
                           effect="" if module in known.PURE_MODULES else f"calls {text}",
                           randomness=randomness)  # fmt: skip
        maybe = frozenset() if module in known.KNOWN_LIBRARIES else arguments
        pure = module in known.PURE_MODULES or full in known.PURE_FUNCTIONS
        return Outcome(maybe=maybe, effect="" if pure and not site.indirect else f"calls {text}", randomness=randomness)

    def _method(self, site: CallSite, arguments: frozenset[str], text: str) -> Outcome:
        method, root = site.path[-1], frozenset({site.root})
        if site.inplace:
            return Outcome(root)
        if method in known.DRAWING_METHODS:
            return Outcome(root if site.root.startswith(("ax", "fig")) else frozenset(), effect=f"calls {text}")
        if method in known.MUTATING_METHODS:
            effect = "" if method in known.CONTAINER_METHODS else f"calls {text}"
            others = arguments if method in ("fit", "train") and "train" in site.root.lower() else frozenset[str]()
            return Outcome(frozenset(), root | others, effect) if site.indirect else Outcome(root, others, effect)
        if method in known.PURE_METHODS:
            return NOTHING
        return Outcome(maybe=root | arguments, effect=f"calls {text}")

    def _own(self, site: CallSite, function: Deferred, text: str) -> Outcome:
        """A function of the notebook: what its body does to the parameters, it does to the arguments."""
        if function.is_class:
            return Outcome(maybe=frozenset(name for _, name in site.arguments), effect=f"calls {text}")
        changed, maybe, effect, randomness = self.parameters(function)
        hit: set[str] = set()
        perhaps: set[str] = set()
        for slot, name in site.arguments:
            parameter = _parameter(function, slot)
            if parameter is None:
                perhaps.update({name} if changed or maybe else ())
            elif parameter in changed:
                hit.add(name)
            elif parameter in maybe:
                perhaps.add(name)
        said = f"calls {text}" if effect else ""
        return Outcome(frozenset(hit), frozenset(perhaps), said, randomness)

    def parameters(self, function: Deferred) -> tuple[frozenset[str], frozenset[str], bool, Randomness]:
        """Parameters changed for certain and perhaps, whether the body has other effects, and its randomness."""
        if id(function) in self._active:
            return frozenset(), frozenset(), False, ""
        self._active.add(id(function))
        params = frozenset(function.params)
        changed, maybe = set(function.changed_params), set[str]()
        effect = bool(function.writes or function.changes or function.unknown)
        randomness: Randomness = ""
        for call in function.calls:
            outcome = self.outcome(call, params)
            changed |= outcome.changed & params
            maybe |= outcome.maybe & params
            effect = effect or bool(outcome.effect) or bool((outcome.changed | outcome.maybe) - params)
            randomness = "seed" if "seed" in (randomness, outcome.randomness) else outcome.randomness or randomness
        self._active.discard(id(function))
        return frozenset(changed), frozenset(maybe - changed), effect, randomness


def _builtin(name: str, arguments: frozenset[str]) -> Outcome | None:
    if name in known.PURE_BUILTINS:
        return NOTHING
    if name in known.READING_BUILTINS:
        return Outcome(effect=f"calls {name}()")
    if name in known.MUTATING_FUNCTIONS:
        return Outcome(arguments)
    return None


def _parameter(function: Deferred, slot: int | str) -> str | None:
    if isinstance(slot, str):
        return slot if slot in function.params else None
    return function.params[slot] if slot < len(function.params) else None
