"""n16: half the notebook deleted, no way back. `undo` gives the bytes back that the file had before any recipe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from refactor.awkward import EVERY_RECIPE, ran, written

from jupyter_agent.cli.main import main


@pytest.mark.parametrize(("recipe", "params"), EVERY_RECIPE.items(), ids=EVERY_RECIPE)
def test_n16_undo_of_a_recipe_restores_the_bytes(
    recipe: str,
    params: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.ipynb"
    before = written(path, ran(recipe), minor=5, newline="\n", indent=2)
    monkeypatch.chdir(tmp_path)
    settings = [word for key, value in params.items() for word in ("--set", f"{key}={value}")]
    code = main(["refactor", recipe, "a.ipynb", *settings, "--write", "--no-verify", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (code, said["written"]) == (0, True), said
    assert path.read_bytes() != before or len(list(tmp_path.iterdir())) > 1
    assert main(["undo"]) == 0, capsys.readouterr().out
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.ipynb"]
