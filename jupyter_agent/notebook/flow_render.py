"""A graph for people and programs: text, Mermaid and JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jupyter_agent.notebook.flow import CellFlow, Graph
from jupyter_agent.notebook.flow_clones import dead_cells, duplicates
from jupyter_agent.notebook.flow_state import hidden_state, never_run, repeated_counts, rerun_plan, stale


def describe(graph: Graph, changed: Iterable[str] = ()) -> dict[str, Any]:
    """Everything known about the notebook as plain JSON values: cells, edges, state, and the plan for `changed`."""
    changed = set(changed)
    old = stale(graph, changed)
    unrun = never_run(graph)
    changed_reasons = dict.fromkeys(changed, "its source changed")
    plan = rerun_plan(graph, {**dict.fromkeys(unrun, "it was never run"), **changed_reasons, **old})
    return {
        "cells": [_cell(flow, old, unrun) for flow in graph.cells],
        "edges": [
            {"source": edge.source, "target": edge.target, "name": edge.name, "certain": edge.certain}
            for edge in graph.edges
        ],
        "hidden": [
            {"cell": each.cell, "name": each.name, "kind": each.kind, "other": each.other, "message": each.message}
            for each in hidden_state(graph)
        ],
        "stale": old,
        "never_run": list(unrun),
        "repeated_counts": list(repeated_counts(graph)),
        "dead": {each.cell: each.reason for each in dead_cells(graph)},
        "duplicates": [
            {
                "kind": each.kind,
                "places": [{"cell": p.cell, "start": p.start, "end": p.end} for p in each.places],
            }
            for each in duplicates(graph)
        ],
        "rerun": {
            "cells": list(plan.cells),
            "reasons": plan.reasons,
            "seconds": round(plan.seconds, 3),
            "untimed": list(plan.untimed),
            "blocked": plan.blocked,
            "uncertain": list(plan.uncertain),
        },
    }


def _cell(flow: CellFlow, old: dict[str, str], unrun: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": flow.id,
        "index": flow.cell.index,
        "language": flow.language,
        "execution_count": flow.cell.execution_count,
        "reads": sorted(flow.reads),
        "maybe_reads": sorted(flow.maybe_reads),
        "writes": sorted(flow.writes),
        "maybe_writes": sorted(flow.maybe_writes),
        "changes": sorted(flow.changes),
        "maybe_changes": sorted(flow.maybe_changes),
        "deletes": sorted(flow.deletes),
        "unknown": [{"line": each.line, "what": each.what} for each in flow.unknown],
        "effects": list(flow.effects),
        "stale": flow.id in old,
        "never_run": flow.id in unrun,
        "seconds": flow.seconds,
        "tags": list(flow.cell.tags),
    }


def to_text(graph: Graph, changed: Iterable[str] = ()) -> str:
    """Cell by cell what it reads, binds and changes and which cells it needs; then what is wrong, and what to rerun."""
    facts = describe(graph, changed)
    lines: list[str] = []
    for flow, cell in zip(graph.cells, facts["cells"], strict=True):
        lines += _cell_lines(graph, flow, cell)
    lines += _section("Hidden state", [f"{each['cell']}: {each['message']}" for each in facts["hidden"]])
    lines += _section("Stale", [f"{cell}: {reason}" for cell, reason in facts["stale"].items()])
    lines += _section("Never run", facts["never_run"])
    lines += _section("Run in different lives of the kernel", facts["repeated_counts"])
    lines += _section("Dead", [f"{cell}: {reason}" for cell, reason in facts["dead"].items()])
    copies = [
        f"{each['kind']}: " + ", ".join(f"{p['cell']} lines {p['start']}–{p['end']}" for p in each["places"])
        for each in facts["duplicates"]
    ]
    lines += _section("Copied code", copies)
    lines += _rerun_lines(facts["rerun"])
    return "\n".join(lines) + "\n"


def _cell_lines(graph: Graph, flow: CellFlow, cell: dict[str, Any]) -> list[str]:
    count = "never run" if flow.cell.execution_count is None else f"run {flow.cell.execution_count}"
    state = ", stale" if cell["stale"] else ""
    lines = [f"{flow.id}  [{count}{state}]  {_title(flow)}"]
    for label, sure, maybe in (
        ("reads", "reads", "maybe_reads"),
        ("binds", "writes", "maybe_writes"),
        ("changes", "changes", "maybe_changes"),
    ):
        names = [*cell[sure], *(f"{name}?" for name in cell[maybe])]
        if names:
            lines.append(f"    {label} {', '.join(names)}")
    needs: dict[str, list[str]] = {}
    for edge in graph.edges_into(flow.id):
        needs.setdefault(edge.source, []).append(edge.name + ("" if edge.certain else "?"))
    for source, names in needs.items():
        lines.append(f"    needs {source} for {', '.join(names)}")
    lines += [f"    unknown: line {each.line}: {each.what}" for each in flow.unknown]
    return lines


def _section(title: str, items: list[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {item}" for item in items)] if items else []


def _rerun_lines(plan: dict[str, Any]) -> list[str]:
    if not plan["cells"]:
        return ["", "Every output follows from the cells as they are."]
    cost = f"{duration(plan['seconds'])} by the recorded timings"
    if plan["untimed"]:
        cost += f", {len(plan['untimed'])} of {len(plan['cells'])} without a record"
    lines = ["", f"Rerun ({cost}):", *(f"  {cell}: {plan['reasons'][cell]}" for cell in plan["cells"])]
    lines += [f"  {cell} is tagged {tag} and is run only when you say so" for cell, tag in plan["blocked"].items()]
    return lines


def duration(seconds: float) -> str:
    """ "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def to_mermaid(graph: Graph, changed: Iterable[str] = ()) -> str:
    """A Mermaid flowchart: one box a code cell, an arrow from what is needed to what needs it, labelled by name.

    Dashed arrows are possibilities; stale, never run, unknown and dead cells have classes of their own.
    """
    changed = set(changed)
    old, unrun = stale(graph, changed), set(never_run(graph))
    dead = {each.cell for each in dead_cells(graph)}
    nodes = {flow.id: f"c{flow.position}" for flow in graph.cells}
    lines = ["flowchart TD"]
    for flow in graph.cells:
        lines.append(f'    {nodes[flow.id]}["{_escape(flow.id)}<br/>{_escape(_title(flow))}"]')
    labels: dict[tuple[str, str], dict[str, bool]] = {}
    for edge in graph.edges:
        names = labels.setdefault((edge.source, edge.target), {})
        names[edge.name] = names.get(edge.name, False) or edge.certain
    for (source, target), names in labels.items():
        arrow = "-->" if any(names.values()) else "-.->"
        label = ", ".join([*names][:4]) + (" …" if len(names) > 4 else "")
        lines.append(f'    {nodes[source]} {arrow}|"{_escape(label)}"| {nodes[target]}')
    for name, members in (
        ("stale", [flow.id for flow in graph.cells if flow.id in old]),
        ("unrun", [flow.id for flow in graph.cells if flow.id in unrun]),
        ("unknown", [flow.id for flow in graph.cells if flow.unknown]),
        ("dead", [flow.id for flow in graph.cells if flow.id in dead]),
    ):
        if members:
            lines.append(f"    class {','.join(nodes[each] for each in members)} {name}")
    lines += [
        "    classDef stale fill:#fde68a,stroke:#b45309,color:#000",
        "    classDef unrun fill:#e5e7eb,stroke:#6b7280,color:#000",
        "    classDef unknown stroke:#b91c1c,stroke-dasharray:4",
        "    classDef dead fill:#f3f4f6,stroke:#9ca3af,color:#6b7280",
    ]
    return "\n".join(lines) + "\n"


def _title(flow: CellFlow) -> str:
    """The first line that says something, cut to 50 characters."""
    for line in flow.cell.source.split("\n"):
        text = line.strip()
        if text and text != "#":
            return text if len(text) <= 50 else text[:49] + "…"
    return "(empty)"


def _escape(text: str) -> str:
    """Mermaid entities for everything that could end a label or start markup."""
    return re.sub(r"[^\w \-.,:=+/()…?!'*]", lambda match: f"#{ord(match[0])};", text)
