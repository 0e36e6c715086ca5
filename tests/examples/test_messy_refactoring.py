"""The README's one command for the messy example does what the README says, is proved, and is undone to the byte."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from jupyter_agent.cli.main import main

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
NAME = "example_notebooks/04_messy_stock_returns.ipynb"


def documented() -> tuple[list[str], dict[str, list[str]]]:
    """The command's arguments after `jupyter agent`, and the table's rows by their first word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = next(part for part in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if NAME in part)
    rows = {}
    for row in re.findall(r"^\| (before|after) \|(.*)\|$", text, re.MULTILINE):
        rows[row[0]] = [cell.strip() for cell in row[1].split("|")]
    return shlex.split(block.replace("\\\n", " "))[2:], rows


def counts(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [str(len(cells)), str(len(code)), str(sum(len(source.splitlines()) for source in code))]


def verified(notebook: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The line of the table for what `verify` says."""
    assert main(["verify", notebook]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    found = re.search(r"(proven): (\d+) same", first)
    assert found, first
    return f"{found[1]}: {found[2]} cells same"


@pytest.mark.timeout(600)
def test_the_documented_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, table = documented()
    notebook = tmp_path / NAME
    notebook.parent.mkdir()
    shutil.copy(ROOT / NAME, notebook)
    monkeypatch.chdir(tmp_path)
    before = notebook.read_bytes()
    assert table["before"][:3] == counts(notebook)
    assert main(command) == 0, capsys.readouterr().out
    assert "proven: " in capsys.readouterr().out
    module = notebook.parent / "stocks.py"
    assert table["after"][:3] == counts(notebook)
    assert table["after"][3] == f"`stocks.py`, {len(module.read_text().splitlines())} lines"
    assert table["after"][4] == verified(NAME, capsys)
    assert main(["undo"]) == 0
    assert notebook.read_bytes() == before
    assert [path.name for path in notebook.parent.iterdir()] == [notebook.name]
    capsys.readouterr()
    assert table["before"][4] == verified(NAME, capsys)
