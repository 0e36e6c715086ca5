"""n14, n7: one budget for outputs, whatever they are: a small one is shown whole, a large one head and tail."""

from __future__ import annotations

from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.cells import read_cells


def stream(text: str) -> dict[str, object]:
    return {"output_type": "stream", "name": "stdout", "text": text}


async def test_n14_small_outputs_are_whole_beside_a_flood(tmp_path: Path) -> None:
    flood = "".join(f"row {number}\n" for number in range(50_000))
    result_8 = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "8"}}
    path = write_notebook(
        tmp_path / "a.ipynb", [code("a", "f()", [stream(flood), result_8], 1), code("b", "8", [result_8], 2)]
    )
    async with conversation_on(tmp_path, {"read_cells": read_cells}, folder=tmp_path / "c", notebook=path) as made:
        for detail in ("summary", "full"):
            small = await call(made, "read_cells", cells=["b"], outputs=detail)
            assert text_of(small).rstrip().endswith("8")
            both = text_of(await call(made, "read_cells", cells=["a", "b"], outputs=detail))
            assert len(both.encode()) < 20_000
            assert "row 0\n" in both
            assert "row 49999" in both
            assert both.rstrip().endswith("8")
        full = text_of(await call(made, "read_cells", cells=["a"], outputs="full"))
    assert "read_output(cell='a')" in full
