"""Data flow of a 1,000-cell notebook against IPython's transform and `ast.parse` of the same cells: at most 2 times.

Run: `python benchmarks/flow_graph.py`. Prints the medians of seven rounds in milliseconds of CPU time and their ratio.
"""

from __future__ import annotations

import ast
import statistics
import time
from collections.abc import Callable

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse
from jupyter_agent.notebook.flow_state import rerun_plan, stale

KINDS = (
    """
import numpy as np
import pandas as pd
from pathlib import Path

rate_{i} = 0.05
""",
    """
%%time
frame_{i} = pd.DataFrame({{'x': np.arange(100), 'y': np.arange(100) ** 2}})
frame_{i}['z'] = frame_{i}.x * 2
frame_{i} = frame_{i}[frame_{i}.z > 3].reset_index(drop=True)
""",
    """
def summarise_{i}(frame, column='x'):
    total = frame[column].sum()
    parts = [value for value in frame[column] if value]
    return total / max(len(parts), 1)

mean_{i} = summarise_{i}(frame_{p})
print(f'{{mean_{i}:.2f}}')
""",
    """
!ls -l
for step in range(10):
    if step % 2:
        frame_{p}.loc[step, 'x'] = step
    else:
        continue
frame_{p}.head()
""",
    """
fig, ax = plt.subplots(figsize=(8, 4))
ax.plot(frame_{p}['x'], frame_{p}['y'])
ax.set_title('Run {i}')
plt.show()
""",
)


def notebook(count: int) -> list[Cell]:
    sources = [KINDS[i % len(KINDS)].format(i=i, p=max(1, i - i % len(KINDS) + 1)) for i in range(count)]
    return [Cell(f"c{i}", i, "code", source.strip("\n"), execution_count=i + 1) for i, source in enumerate(sources)]


def cpu(*tasks: Callable[[], object], rounds: int = 7) -> list[float]:
    """Median CPU milliseconds of each task; the rounds alternate, so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(rounds):
        for task, record in zip(tasks, times, strict=True):
            start = time.process_time()
            task()
            record.append(time.process_time() - start)
    return [statistics.median(record) * 1000 for record in times]


def main() -> None:
    from IPython.core.inputtransformer2 import TransformerManager

    cells = notebook(1000)

    def baseline() -> None:
        for cell in cells:
            ast.parse(TransformerManager().transform_cell(cell.source))

    graph = analyse(cells)
    base, flow, state = cpu(baseline, lambda: analyse(cells), lambda: (stale(graph, {"c1"}), rerun_plan(graph, {"c1"})))
    print(f"IPython transform + ast.parse {base:8.1f} ms")
    print(f"analyse                       {flow:8.1f} ms   ratio {flow / base:.2f} (at most 2)")
    print(f"stale + rerun_plan            {state:8.1f} ms   ratio {state / base:.2f}")
    print(f"{len(graph.cells)} cells, {len(graph.edges)} edges")


if __name__ == "__main__":
    main()
