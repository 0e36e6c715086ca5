"""The example notebooks keep their promises: the clean ones reproduce, the others fail where and how they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.notebook import open_notebook
from jupyter_agent.refactor.verify import verify

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "example_notebooks"
DEMO = ROOT / "jupyter_agent" / "demo"
SANITIZE = Path(__file__).with_name("sanitize.cfg")

CLEAN = ["01_olympic_sprint", "04_messy_stock_returns", "05_us_population"]
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ALL = [*sorted(EXAMPLES.glob("*.ipynb")), DEMO / "kepler.ipynb"]


def load(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run_nbval(path: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """nbval in a pytest of its own, with a configuration of its own; images are not compared."""
    config = root / "nbval.ini"
    config.write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-c", str(config), "-p", "nbval.plugin", "-p", "no:cacheprovider"]
    command += ["--color=no", "-q", "--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE), str(path)]
    # A parent pytest under xdist must not lend its worker's identity to this one or its warning filters.
    parent = ("PYTEST_", "PYTHONWARNINGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(parent)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=110, check=False)


@pytest.mark.parametrize("name", CLEAN)
def test_clean_notebook_reproduces(name: str, tmp_path: Path) -> None:
    result = run_nbval(EXAMPLES / f"{name}.ipynb", tmp_path)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]


def test_a_wrong_number_does_not_pass(tmp_path: Path) -> None:
    notebook = load(EXAMPLES / "01_olympic_sprint.ipynb")
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "crossing")
    cell["outputs"][0]["text"] = ["The lines meet in 2156, at 8.08 s.\n"]
    (tmp_path / "data").symlink_to(EXAMPLES / "data")
    (tmp_path / "wrong.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    result = run_nbval(tmp_path / "wrong.ipynb", tmp_path)
    assert result.returncode == 1
    assert "1 failed" in result.stdout
    assert "2156" in result.stdout


@pytest.mark.parametrize(
    ("path", "failing", "message"),
    [
        (EXAMPLES / "02_failing_density.ipynb", "Cell 5", "KeyError: \"['NA'] not in index\""),
        (EXAMPLES / "03_hidden_state_co2.ipynb", "Cell 2", "NameError: name 'window' is not defined"),
        (DEMO / "kepler.ipynb", "Cell 2", "ValueError: could not convert string to float: '1,426.67'"),
    ],
    ids=["failing", "hidden-state", "demo"],
)
def test_broken_notebook_fails_where_it_says(path: Path, failing: str, message: str, tmp_path: Path) -> None:
    result = run_nbval(path, tmp_path)
    failures = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert result.returncode == 1
    assert failures, result.stdout[-4000:]
    assert failures[0].split("::")[1].split(" - ")[0] == failing
    assert message in ANSI.sub("", result.stdout)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_notebook_is_valid_and_names_no_machine(path: Path) -> None:
    import nbformat

    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    nbformat.validate(notebook)
    assert "/home/" not in text
    assert str(Path.home()) + "/" not in text


def test_hidden_state_notebook_ran_out_of_order() -> None:
    cells = [cell for cell in load(EXAMPLES / "03_hidden_state_co2.ipynb")["cells"] if cell["cell_type"] == "code"]
    counts = [cell["execution_count"] for cell in cells]
    assert all(counts)
    assert counts != sorted(counts)
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])


def test_messy_notebook_has_forty_cells_in_order() -> None:
    cells = load(EXAMPLES / "04_messy_stock_returns.ipynb")["cells"]
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert len(cells) == 40
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize(
    ("name", "status"),
    [("01_olympic_sprint", "proven"), ("02_failing_density", "unproven"), ("03_hidden_state_co2", "failed")],
)
async def test_verification_says_so_too(name: str, status: str) -> None:
    notebook = await open_notebook(EXAMPLES / f"{name}.ipynb")
    report = await verify(await notebook.cells(), await notebook.metadata(), path=EXAMPLES / f"{name}.ipynb")
    await notebook.close()
    assert report.status == status, report.summary
