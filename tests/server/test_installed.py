"""Built, installed and found: sdist and wheel, with and without the panel, on a machine without Node.js."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLE = "share/jupyter/labextensions/jupyter-agent-live/"
ENABLED = "etc/jupyter/jupyter_server_config.d/jupyter_agent.json"
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the commands are a POSIX shell's"),
    pytest.mark.timeout(400),
]


def command(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """What a command says, both ways; it must succeed."""
    done = attempt(*arguments, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def attempt(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "PYTHON"))}
    return subprocess.run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        env={**inherited, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


@pytest.fixture(scope="module")
def no_node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with the few programs that a build may use, and no Node.js."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("sh", "env", "git"):
        found = next((Path(place) / name for place in ("/usr/bin", "/bin") if (Path(place) / name).exists()), None)
        if found is not None:
            (folder / name).symlink_to(found)
    return str(folder)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    # Of a copy: a build whose bundle is not of the present sources makes it anew, and other tests use the one here.
    ignored = shutil.ignore_patterns(".*cache", ".git", ".venv", ".hypothesis", "node_modules", "dist", "build")
    tree = shutil.copytree(ROOT, folder / "tree", ignore=ignored)
    command(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=tree)
    (made,) = folder.glob("*.tar.gz")
    return made


def unpacked(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        # Older Pythons have no filters; newer ones want one to be named.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    (tree,) = folder.iterdir()
    return tree


def wheel_of(tree: Path, folder: Path, path: str, **environment: str) -> Path:
    command(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=tree, PATH=path, **environment)
    (made,) = folder.glob("*.whl")
    return made


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of a fresh environment with the wheel in it; what it depends on is taken from this one."""
    command(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    command(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    # Not a site folder: editable installs in it, such as ours, do not count.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


def listed(python: Path, module: str, home: Path) -> list[str]:
    """Lines about us of one of the commands `jupyter server extension list` and `jupyter labextension list`."""
    folders = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    lab = str(Path(sysconfig.get_path("data")) / "share" / "jupyter" / "lab")
    said = command(python, "-m", module, "list", HOME=str(home), JUPYTERLAB_DIR=lab, NO_COLOR="1", **folders)
    return [line for line in said.splitlines() if "jupyter_agent" in line or "jupyter-agent" in line]


def test_from_the_sdist_without_node(sdist: Path, no_node: str, tmp_path: Path) -> None:
    wheel = wheel_of(unpacked(sdist, tmp_path / "tree"), tmp_path / "wheel", no_node)
    names = zipfile.ZipFile(wheel).namelist()
    data = [name.split(".data/data/", 1)[1] for name in names if ".data/data/" in name]
    assert any(name.startswith(BUNDLE + "static/remoteEntry.") for name in data)
    assert ENABLED in data
    assert not any("labextension/" in name for name in names if ".data/" not in name), "the bundle is in it once"
    python = installed(wheel, tmp_path / "env")
    (server,) = listed(python, "jupyter_server.extension.serverextension", tmp_path / "home")[:1]
    assert "enabled" in server
    panels = listed(python, "jupyterlab.labextensions", tmp_path / "home")
    assert any("enabled" in line and "OK" in line for line in panels), panels


def test_without_the_panel(sdist: Path, no_node: str, tmp_path: Path) -> None:
    """Asked for by a variable: the magic, the command line and the server's side, and no Node.js anywhere."""
    tree = unpacked(sdist, tmp_path / "tree")
    for file in sorted((tree / "jupyter_agent" / "labextension").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    (tree / "jupyter_agent" / "labextension").rmdir()
    wheel = wheel_of(tree, tmp_path / "wheel", no_node, JUPYTER_AGENT_NO_LAB_BUILD="1")
    python = installed(wheel, tmp_path / "env")
    assert listed(python, "jupyterlab.labextensions", tmp_path / "home") == []
    assert "enabled" in listed(python, "jupyter_server.extension.serverextension", tmp_path / "home")[0]
    assert "conversations" in command(python.parent / "jupyter-agent", "--help", HOME=str(tmp_path))


def test_a_build_that_cannot_be_says_how_to_do_without(sdist: Path, no_node: str, tmp_path: Path) -> None:
    tree = unpacked(sdist, tmp_path / "tree")
    (tree / "jupyter_agent" / "labextension" / "sources.sha256").write_text("of other sources")
    arguments = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "wheel")
    done = attempt(*arguments, cwd=tree, PATH=no_node)
    assert done.returncode != 0
    assert "JUPYTER_AGENT_NO_LAB_BUILD=1" in done.stdout
