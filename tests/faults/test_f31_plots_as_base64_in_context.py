"""f31: plots reach the model as images, tables as text, and nothing as base64 text; big notebooks read cheaply."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

PLOT = "import matplotlib.pyplot as plt\n_ = plt.plot(range(50))"
TABLE = "import pandas as pd\npd.DataFrame({'city': ['Oslo', 'Rome'], 'n': [1, 2]})"
LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{200,}")


async def test_f31_a_plot_is_an_image_block_and_a_table_is_text(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "a.ipynb", [code("a", PLOT), code("b", TABLE)])
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        for name, arguments in (("run_cells", {"cells": "all"}), ("run_code", {"code": PLOT})):
            result = await call(conversation, name, **arguments)
            images = [block for block in result.content if block["type"] == "image"]
            assert len(images) == 1
            assert len(base64.b64decode(images[0]["source"]["data"])) <= 1_000_000
            assert not LONG_BASE64.search(text_of(result))
            if name == "run_cells":
                assert "Oslo" in text_of(result)
                assert "<td>" not in text_of(result)


async def test_f31_a_50_mb_notebook_reads_in_8_000_tokens(tmp_path: Path) -> None:
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 1_000_000}}
    cells = [code(f"c{number}", f"plot({number})", [picture], number + 1) for number in range(50)]
    path = write_notebook(tmp_path / "a.ipynb", cells)
    assert path.stat().st_size > 50_000_000
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path / "c", notebook=path) as conversation:
        for arguments in ({}, {"cells": ["c1", "c2"], "outputs": "full"}):
            result = await call(conversation, "read_cells", **arguments)
            assert len(text_of(result)) / 2.8 <= 8_000
            assert not LONG_BASE64.search(text_of(result))
