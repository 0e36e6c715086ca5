"""Notices when a model goes in circles: the same call, or the same few calls, again and again.

A note at the third time, the end of the turn at the fifth (faults f45, f46). Pure but for its own memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jupyter_agent.errors import BudgetExceeded

LONGEST_CYCLE = 5
NOTE_AT = 3
STOP_AT = 5
COSMETIC = frozenset({"timeout", "limit", "max_results", "context", "description", "explanation", "reason"})
"""Arguments that change how a call is made or shown, not what it asks."""

_WAITING_CONTROLS = frozenset({"wait", "status"})


class Repetition:
    """The calls of one agent since the last user message."""

    def __init__(self) -> None:
        self._history: list[tuple[str, str]] = []

    def observe(self, name: str, arguments: Any, result: str = "") -> str | None:
        """To be told of each call after it ran: a note for the model from the third repetition on, else None.

        Polling (a background command, a waited-for kernel) repeats a call on purpose: there only a `result` (the
        text of the call's result) that stays the same counts. Raises BudgetExceeded("repetition") at the fifth.
        """
        self._history.append((_key(name, arguments), result if _polls(name, arguments) else ""))
        del self._history[: -LONGEST_CYCLE * STOP_AT]
        length, times = _longest_cycle(self._history)
        if times >= STOP_AT:
            raise BudgetExceeded(
                f"Stopped: {_what(length, name)} came {times} times in a row without anything new. "
                "Say what should be tried instead.",
                kind="repetition",
            )
        if times < NOTE_AT:
            return None
        return (
            f"Note: {_what(length, name)} came {times} times in a row. Its result will not change by repeating it: "
            f"try another way, or say what you are missing. At {STOP_AT} the turn is stopped."
        )


def _what(length: int, name: str) -> str:
    return f"the same call of {name}" if length == 1 else f"the same cycle of {length} calls"


def _polls(name: str, arguments: Any) -> bool:
    if name == "call_tool" and isinstance(arguments, Mapping):
        return _polls(str(arguments.get("name")), arguments.get("arguments"))
    if name == "check_command":
        return True
    action = arguments.get("action") if isinstance(arguments, Mapping) else None
    return name == "control_kernel" and action in _WAITING_CONTROLS


def _key(name: str, arguments: Any) -> str:
    return name + " " + json.dumps(_essence(arguments), sort_keys=True, default=str)


def _essence(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _essence(item) for key, item in value.items() if key not in COSMETIC}
    if isinstance(value, list | tuple):
        return [_essence(item) for item in value]
    return value.strip() if isinstance(value, str) else value


def _longest_cycle(history: list[tuple[str, str]]) -> tuple[int, int]:
    """(length, times): the block of 1 to LONGEST_CYCLE calls that most often stands at the end in a row."""
    best = (1, 1)
    for length in range(1, min(LONGEST_CYCLE, len(history)) + 1):
        block, times = history[-length:], 1
        while history[-length * (times + 1) : -length * times] == block:
            times += 1
        if times > best[1]:
            best = (length, times)
    return best
