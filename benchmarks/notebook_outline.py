"""The outline of 1,000 cells with 100 MB of outputs: at most 1.5 × reading, hashing and parsing the file."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from _harness import Result, paired

from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.render import outline_entry

CELLS = 1_000
OUTPUT_BYTES = 100_000


def write_notebook(path: Path) -> None:
    """1,000 code cells with 100 kB of stream text each."""
    line = "epoch 12 loss 0.123456 accuracy 0.987654 step 1234 of 5678\n"
    text = [line] * (OUTPUT_BYTES // len(line))
    cells = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": text}],
            "source": [f"train(step={number})\n", "report()"],
        }
        for number in range(1, CELLS + 1)
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    body = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(body, indent=1) + "\n")


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.ipynb"
        write_notebook(path)

        async def ours() -> int:
            notebook = await open_notebook(path)
            return len("\n".join(outline_entry(cell) for cell in await notebook.cells()))

        def baseline() -> int:
            data = path.read_bytes()
            hashlib.sha256(data).hexdigest()
            return len(json.loads(data)["cells"])

        against = "read, SHA-256 and json.loads of it"
        return [paired("outline, 1,000 cells, 100 MB", against, ours, baseline, limit=1.5, rounds=7)]
