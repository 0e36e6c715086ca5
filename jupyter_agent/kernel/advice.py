"""Sentences about a kernel: what runs, what to do about a dead one, what it took with it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.kernel.launch import Link


def name_of(cell: str | None, code: str) -> str:
    return f"cell {cell}" if cell else f"`{code.strip().splitlines()[0][:80]}`" if code.strip() else "code"


def revive(link: Link) -> str:
    if link.restart is None:
        return "Restart it where it was started. "
    return "Restart it (control_kernel 'restart') and rerun what is needed. "


def lost_variables(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(list(names)[:30])
    return f"Variables that were there: {shown}{f' and {len(names) - 30} more' if len(names) > 30 else ''}."
