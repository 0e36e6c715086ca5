"""The example notebook of the magic gives what is saved in it: the same outputs, but for times and token counts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from magic.drive import fresh_front

EXAMPLES = Path(__file__).parents[2] / "example_notebooks"
NAME = "06_agent_magic.ipynb"
NUMBERS = re.compile(r"\d[\d,.]*(?= (?:s\b|tokens|out\b))")


def without_numbers(output: dict[str, Any]) -> tuple[str, list[str], str]:
    """(kind, MIME types, plain text) without what the clock and the length of the prompt decide."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    kinds = sorted(output.get("data", {}))
    return output["output_type"], kinds, NUMBERS.sub("N", "".join(text)).strip()


def merged(outputs: list[dict[str, Any]]) -> list[tuple[str, list[str], str]]:
    return [without_numbers(output) for output in outputs]


def test_the_saved_outputs_are_what_it_gives(tmp_path_factory: pytest.TempPathFactory) -> None:
    saved = json.loads((EXAMPLES / NAME).read_text(encoding="utf-8"))
    cells = [cell for cell in saved["cells"] if cell["cell_type"] == "code"]
    with fresh_front(tmp_path_factory) as kernel:
        shutil.copytree(EXAMPLES / "data", kernel.folder / "data")
        kernel.restart()
        for cell in cells:
            ran = kernel.run("".join(cell["source"]))
            assert ran.status == "ok", ran.text
            assert ran.count == cell["execution_count"]
            assert merged(ran.outputs) == merged(cell["outputs"]), cell["id"]


def test_it_shows_what_the_magic_can() -> None:
    text = (EXAMPLES / NAME).read_text(encoding="utf-8")
    assert "image/png" in text
    assert "KeyError: 'years' in run_code line 2" in text
    assert "<details>" in text
    assert len(text) < 100_000
