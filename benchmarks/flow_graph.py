"""Data flow of a 1,000-cell notebook against IPython's transform and `ast.parse` of the same cells: at most 2 times."""

from __future__ import annotations

import ast

from _harness import Result, paired

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow import analyse, scan_python
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


def measure() -> list[Result]:
    from IPython.core.inputtransformer2 import TransformerManager

    cells = notebook(1000)
    graph = analyse(cells)

    def baseline() -> None:
        for cell in cells:
            ast.parse(TransformerManager().transform_cell(cell.source))

    def anew() -> None:
        scan_python.cache_clear()
        analyse(cells)

    against = "IPython transform + ast.parse"
    return [
        paired("analyse 1,000 cells", against, anew, baseline, limit=2, rounds=7, clock="cpu"),
        paired("analyse them again", against, lambda: analyse(cells), baseline, rounds=7, clock="cpu"),
        paired(
            "stale + rerun_plan, 1,000 cells",
            against,
            lambda: (stale(graph, {"c1"}), rerun_plan(graph, {"c1"})),
            baseline,
            rounds=7,
            clock="cpu",
        ),
    ]
