"""n8, n7, f31: outputs do not count against reading: with 100 MB of them the outline is quick and small."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.text import estimate_tokens
from jupyter_agent.tools.cells import read_cells


def big_notebook(path: Path) -> Path:
    picture = base64.b64encode(os.urandom(75_000)).decode()
    text = [f"line {number}\n" for number in range(10)]
    cells = [
        {
            "cell_type": "code",
            "execution_count": number + 1,
            "id": f"c{number}",
            "metadata": {},
            "outputs": [
                {"name": "stdout", "output_type": "stream", "text": text},
                {
                    "data": {"image/png": picture, "text/plain": ["<Figure>"]},
                    "metadata": {},
                    "output_type": "display_data",
                },
            ],
            "source": [f"x{number} = {number}\n", "plot()"],
        }
        for number in range(1000)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


async def test_n08_f31_the_outline_is_small_and_quick(tmp_path: Path) -> None:
    path = big_notebook(tmp_path / "a.ipynb")
    assert path.stat().st_size > 100_000_000
    async with conversation_on(tmp_path, {"read_cells": read_cells}, folder=tmp_path / "c", notebook=path) as made:
        started = time.monotonic()
        result = await call(made, "read_cells")
        # 2 s is the promise; tenfold for a machine that is busy with other tests.
        assert time.monotonic() - started < 20
        text = text_of(result)
        assert estimate_tokens(text) <= 8_000
        assert result.details["total"] == 1000
        page = await call(made, "read_cells", start=990)
        assert [cell["id"] for cell in page.details["cells"]] == [f"c{number}" for number in range(990, 1000)]
        one = await call(made, "read_cells", cells=["c5"], outputs="full")
    assert "read_cells(start=" in text
    assert "x5 = 5\nplot()" in text_of(one)
    # Random bytes are no picture: named, never sent, never as base64 text.
    assert "no valid PNG" in text_of(one)
    assert len(text_of(one)) < 2_000
