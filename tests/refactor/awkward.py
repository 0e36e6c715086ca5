"""A notebook with the awkward things of real life, parameters for every recipe on it, and files of other programs' style."""

# ruff: noqa: E501  (sources of cells, one a line)

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from refactor.recipe_helpers import code, notebook, stream, text

from jupyter_agent.notebook.document import Cell

PYTHON = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}

AWKWARD = notebook(
    text("title", "# Awkward\n`total` is ![x](attachment:x.png)", attachments={"x.png": {"image/png": "aGk="}}),
    code("imports", "%matplotlib inline\nimport asyncio\nimport functools"),
    code("numbers", "rate = 0.5  # a year\nyears = 3", metadata={"tags": ["keep-me"]}),
    code("shell", "import os.path  # for later\nword = 'echoed'\n!pip --version\n!echo {word} $word {{word}}\nlines = !echo one two\nprint(lines[0])"),
    code("timed", "%%time\ntotal = sum(i * rate for i in range(years))"),
    code("shown", "import math\nprint(f'{total:.{years}f} {{total}} {total!r:>6}')\nmath.floor(total)"),
    code("async", "async def double(x):\n\tawait asyncio.sleep(0)\n\treturn 2 * x\n\nvalues = [await double(i) for i in range(years)]\nvalues"),
    code("decorated", "@functools.lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"),
    code("classes", "class Account:\n    rate = 2\n\n    def __init__(self, amount):\n        self.amount = amount\n\n"
         "    def grown(self):\n        return self.amount * rate * self.rate"),
    code("walrus", "if (größe := len(values)) > 2:\n    print('größe', größe, [größe for größe in 'ab'])\nelse:\n    print('klein')"),
    code("counter", "count = 0\n\ndef bump():\n    global count\n    count += 1\n    return count\n\nbump(), bump()"),
    text("raw", "raw *text*", "raw"),
    code("plot", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(2, 1))\nax.plot(values)\nplt.show()"),
    code("widget", "from IPython.display import display\n\ndisplay({'application/vnd.jupyter.widget-view+json': "
         "{'model_id': 'x', 'version_major': 2}, 'text/plain': 'W'}, raw=True)"),
    code("copy1", "a_sum = Account(10).grown() + rate\nprint('account', 'ten', round(a_sum, 2))"),
    code("copy2", "b_sum = Account(20).grown() + rate\nprint('account', 'two', round(b_sum, 2))"),
    code("strings", "text = '''\n  indented {rate}\n\ttabbed'''\nprint(text, a_sum < b_sum, fib(10))"),
    code("unused", "leftover = [n ** 2 for n in range(3)]"),
    code("comments", "# old idea\n# rate = 0.7"),
    code("bash", "%%bash\necho from bash"),
    code("end", "count + total"),
)  # fmt: skip

CASES: dict[str, Mapping[str, str]] = {
    "split-cell": {"cell": "shown", "at": "3"},
    "merge-cells": {"cells": "copy1,copy2"},
    "extract-function": {"cell": "copy1", "name": "report", "arguments": "amount,label"},
    "extract-module": {"cells": "decorated", "path": "made_fibonacci.py"},
    "rename": {"old": "rate", "new": "zinssatz"},
    "hoist-imports": {},
    "order-cells": {},
    "remove-dead": {},
    "parameterize": {"name": "rate,years"},
    "to-script": {},
    "fix-lint": {},
}

EVERY_RECIPE: dict[str, Mapping[str, str]] = {**CASES, "strip-outputs": {}}
WITHOUT_OUTPUTS = ("imports", "numbers", "decorated", "classes", "unused", "comments", "timed")


def ran(recipe: str) -> list[Cell]:
    """The awkward notebook with an output, a count and a mark of its own in every cell; each recipe finds something to
    do there, since one cell is out of place for `order-cells`."""
    cells = [
        replace(
            cell,
            outputs=(stream(f"{cell.id}\n"),) if cell.id not in WITHOUT_OUTPUTS else (),
            execution_count=number,
            metadata={**cell.metadata, "mark": cell.id},
        )
        if cell.type == "code"
        else replace(cell, metadata={"mark": cell.id})
        for number, cell in enumerate(AWKWARD, 1)
    ]
    if recipe == "order-cells":
        cells.sort(key=lambda cell: cell.id == "numbers")
    return notebook(*cells)


def written(path: Path, cells: list[Cell], *, minor: int, newline: str, indent: int | str) -> bytes:
    """A notebook file in the style of some other program: its own indentation, line ends and (below 4.5) no ids."""
    document: dict[str, Any] = {"nbformat": 4, "nbformat_minor": minor, "metadata": PYTHON, "cells": []}
    for cell in cells:
        entry: dict[str, Any] = {"metadata": dict(cell.metadata), "cell_type": cell.type, "source": cell.source}
        if minor >= 5:
            entry["id"] = cell.id
        if cell.type == "code":
            entry |= {"outputs": list(cell.outputs), "execution_count": cell.execution_count}
        if cell.attachments:
            entry["attachments"] = dict(cell.attachments)
        document["cells"].append(entry)
    data = (json.dumps(document, indent=indent, ensure_ascii=False) + "\n").replace("\n", newline).encode()
    path.write_bytes(data)
    return data
