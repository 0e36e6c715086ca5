"""Installed from its wheel, with nothing enabled by hand, the panel is there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from lab.harness import LabServer, running
from lab.lab import Lab
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel in it; what it depends on is taken from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    command(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    command(sys.executable, "-m", "venv", "--without-pip", str(folder / "env"))
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = ("-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    command(sys.executable, *install)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    # Not a site folder: editable installs in it, such as ours, do not count.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


def command(*arguments: str, cwd: Path | None = None) -> None:
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_panel_is_there(browser: Browser, python: Path, tmp_path: Path) -> None:
    environment = {"JUPYTERLAB_DIR": str(Path(sysconfig.get_path("data")) / "share" / "jupyter" / "lab")}
    with running(LabServer(tmp_path, python=python, environment=environment)) as server:
        page = browser.new_page()
        lab = Lab(page, server)
        lab.goto("lab?reset")
        lab.show_panel()
        expect(lab.panel.get_by_role("note")).to_contain_text("No model is connected")
        page.close()
