"""Outputs as a reader sees them: text, tables, images, tracebacks mapped to cells; never base64 as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jupyter_agent.notebook.document import Output
from jupyter_agent.notebook.outputs import gist, output_blocks, show, summary_lines
from jupyter_agent.notebook.tracebacks import error_line, traceback_text
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.running import run_cells


def bundle(**data: Any) -> Output:
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("_", "/", 1): v for k, v in data.items()}}


def stream(text: str, name: str = "stdout") -> Output:
    return {"output_type": "stream", "name": name, "text": text}


def test_progress_bars_and_colours_are_resolved() -> None:
    assert show(stream("10%\r50%\r100%\n\x1b[31mred\x1b[0m\n")).text == "100%\nred\n"
    assert show(stream("warned", "stderr")).text == "[stderr]\nwarned"


def test_tables_are_compact_text() -> None:
    html = (
        "<style>td {color: red}</style><table border='1'><thead><tr><th></th><th>a &amp; b</th></tr></thead>"
        "<tbody><tr><th>0</th><td>1<b>2</b></td></tr></tbody></table><p>2 rows</p>"
    )
    assert show(bundle(text_html=html, text_plain="   a & b\n0     12")).text == " | a & b\n0 | 12\n2 rows"


def test_plain_text_wins_over_markup_without_a_table() -> None:
    assert show(bundle(text_html="<div>rich</div>", text_plain="plain")).text == "plain"
    assert show(bundle(text_html="<div>a<br>b</div>", text_plain="<IPython.core.display.HTML object>")).text == "a\nb"


def test_what_cannot_be_shown_is_named() -> None:
    data = "A" * 50_000
    for mime in ("application_pdf", "image_svg+xml", "application_vnd.plotly.v1+json"):
        shown = show(bundle(**{mime: data, "text_plain": "<Figure size 1x1>"}))
        assert mime.replace("_", "/") in shown.text
        assert "AAAA" not in shown.text
        assert "50,000" in shown.text or "50,002" in shown.text


def test_room_is_shared_so_that_short_outputs_stay_whole() -> None:
    (block,) = output_blocks([stream("x" * 50_000), stream("short")], limit=2_000, handle="h1")
    assert block["text"].endswith("short")
    assert "h1" in block["text"]
    assert len(block["text"].encode()) <= 2_010


def test_summaries_and_gists_are_small() -> None:
    outputs = [stream("".join(f"{n}\n" for n in range(1000))), bundle(image_png="x"), bundle(text_plain="42")]
    assert gist(outputs) == "stdout 1,000 lines, image, 42"
    assert len("\n".join(summary_lines(outputs))) < 800
    assert gist([stream("a\n")] * 50).endswith("30 more")


async def test_real_tracebacks_show_own_frames_with_cell_ids(tmp_path: Path) -> None:
    sources = [
        "def f(x):\n    return g(x)\ndef g(x):\n    return 1 / x",
        "f(0)",
        "import json\njson.loads('{')",
        "x = = 1",
        "def deep(n):\n    return deep(n - 1)\ndeep(1)",
        "import asyncio\nawait asyncio.wait_for(asyncio.sleep(9), 0.01)",
    ]
    errors = await run_in_kernel(tmp_path, sources)
    counts = {number: f"cell{number}" for number in range(1, len(sources) + 1)}
    lines = [error_line(error, counts) if error else "" for error in errors]
    texts = [traceback_text(error, counts) if error else "" for error in errors]
    assert lines[1] == "ZeroDivisionError: division by zero in cell cell1 line 4"
    assert texts[1].startswith("cell cell2, line 1\n----> 1 f(0)\n")
    assert "cell cell1, line 2, in f(x)" in texts[1]
    assert texts[1].endswith("ZeroDivisionError: division by zero")
    assert lines[2].endswith("in cell cell3 line 2")
    assert "frames in json" in texts[2]
    assert "decoder.py" not in texts[2]
    assert lines[3] == "SyntaxError: invalid syntax in cell cell4 line 1"
    assert "the same frame" in texts[4]
    assert len(texts[4]) < 1_000
    assert lines[5].startswith("TimeoutError in cell cell6 line 2")
    assert "asyncio/" not in texts[5]
    assert "In[2] (no longer in the notebook)" in traceback_text(errors[1] or {}, {})


async def run_in_kernel(folder: Path, sources: list[str]) -> list[Output | None]:
    """The stored error output of each source, run in one real kernel."""
    path = write_notebook(folder / "a.ipynb", [code(f"cell{n}", source) for n, source in enumerate(sources, 1)])
    async with conversation_on(
        folder, {"run_cells": run_cells}, folder=folder / "c", notebook=path, mode="accept-edits"
    ) as conversation:
        await call(conversation, "run_cells", cells="all", stop_on_error=False)
    found: list[Output | None] = []
    for cell in json.loads(path.read_text())["cells"]:
        assert cell["execution_count"] is not None
        found.append(next((output for output in cell["outputs"] if output["output_type"] == "error"), None))
    return found


def test_a_traceback_of_another_language_stays() -> None:
    error = {
        "output_type": "error",
        "ename": "",
        "evalue": "",
        "traceback": ["Error in f(): object 'x' not found", "1. f()"],
    }
    assert traceback_text(error) == "Error in f(): object 'x' not found\n1. f()"
