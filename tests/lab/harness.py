"""A real JupyterLab (or Notebook 7) with our extension, and a real Chromium to look at it. Touches only its own folder.

`python -m pytest tests/lab` runs these tests; they are a run of their own because synchronous Playwright and other
event loops do not go together.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import random
import runpy
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

import jupyter_agent

PACKAGE = Path(jupyter_agent.__path__[0])
BUNDLE = PACKAGE / "labextension"
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
FOREIGN = ("JUPYTER", "JPY_", "ANTHROPIC_", "PYTHONPATH")
"""Beginnings of the variables that a server of a test does not inherit."""
SAVING = "@jupyterlab/docmanager-extension:plugin"
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    SAVING: {"autosave": False},
}
COLLABORATION = ("@jupyter/collaboration-extension", "@jupyter/docprovider-extension")
"""The labextensions of jupyter-collaboration."""
SPLASH = "@jupyterlab/apputils-extension:splash"
"""JupyterLab's screen while it loads: going away twice within 200 ms, as at a reset, it fails."""

LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": platform.python_version(),
}


def find_browser() -> str:
    """Chromium or Chrome on this machine; without one the test is skipped."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("JUPYTER_AGENT_TEST_BROWSER") or next(filter(None, map(shutil.which, names)), None)
    return found or without("no Chromium on this machine; on Debian: apt-get install chromium")


def without(what: str) -> NoReturn:
    """Skip the test because something is not installed here; under the CI, which installs it, that is a failure."""
    if os.environ.get("JUPYTER_AGENT_TEST_ALL"):
        pytest.fail(what)
    pytest.skip(what)


def check_bundle() -> None:
    """Fails when the labextension was not built, or `pip install` built it from other sources than there are now."""
    if not (BUNDLE / "package.json").is_file():
        pytest.fail("the labextension is not built: `pip install -e .` does that")
    built_from = BUNDLE / "sources.sha256"
    hook = PACKAGE.parent / "hatch_build.py"
    if built_from.is_file() and hook.is_file():
        digest = runpy.run_path(str(hook))["_digest"](PACKAGE.parent / "labextension")
        if built_from.read_text() != digest:
            pytest.fail("the labextension's sources changed since it was built: `pip install -e .` builds it again")


def free_port() -> int:
    """Below the ports that systems give out by themselves, so that no kernel started meanwhile takes it."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


def wait_for(condition: Callable[[], Any], what: str, timeout: float = 90.0) -> Any:
    """Poll until `condition()` is true and return its value."""
    deadline = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(0.03)


def write_settings(folder: Path, but: Sequence[str] = ()) -> None:
    """JupyterLab's settings for a test: nothing that pops up, nothing that happens by itself."""
    for plugin, values in SETTINGS.items():
        if plugin not in but:
            owner, _, name = plugin.partition(":")
            file = folder / owner / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))


class LabServer:
    """A Jupyter server process with folders of its own below `folder`. `url` has the base URL, without the token.

    The extension is the one under test, enabled here, unless `python` names an environment that it is installed in.
    `collaboration`: with jupyter-collaboration.
    """

    def __init__(
        self,
        folder: Path,
        *,
        app: str = "jupyterlab",
        arguments: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        base_url: str = "/",
        token: str = "secret",
        python: Path | None = None,
        collaboration: bool = False,
    ) -> None:
        self.folder, self.app, self.base_url, self.token, self.python = folder, app, base_url, token, python
        self.collaboration = collaboration
        self.root = folder / "root"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}{base_url}"
        self.data = folder / "data"
        self._arguments = list(arguments)
        self._environment = environment or {}
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> LabServer:
        for name in ("root", "home", "config", "data", "runtime", "settings", "workspaces", "labextensions"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._choose_extensions()
        # A room saves by itself, and only while somebody in it wants that.
        write_settings(self.folder / "settings", but=(SAVING,) if self.collaboration else ())
        if self.python is None:
            self._enable()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        environment = {
            **inherited,
            "HOME": str(self.folder / "home"),
            "JUPYTER_CONFIG_DIR": str(self.folder / "config"),
            # What an environment's packages switch on comes before the person's folder, and after this one.
            "JUPYTER_CONFIG_PATH": str(self.folder / "config"),
            "JUPYTER_DATA_DIR": str(self.data),
            "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.folder / "workspaces"),
            "IPYTHONDIR": str(self.folder / "home" / ".ipython"),
            "JUPYTER_AGENT_LOCAL_SERVERS": "",
            **self._environment,
        }
        if self.python is None:
            inherited_path = os.environ.get("PYTHONPATH", "")
            environment.setdefault("PYTHONPATH", os.pathsep.join([str(PACKAGE.parent), inherited_path]))
        command = [
            *(
                str(self.python or sys.executable),
                "-m",
                self.app,
                "--no-browser",
                "--allow-root",
                f"--ServerApp.port={self.port}",
            ),
            *("--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1", f"--ServerApp.base_url={self.base_url}"),
            *(f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}"),
            f"--LabServerApp.extra_labextensions_path={self.folder / 'labextensions'}",
            f"--LabApp.extra_labextensions_path={self.folder / 'labextensions'}",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            *self._arguments,
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.root, env=environment, stdout=log, stderr=log)
        wait_for(self._answers, f"the server answers; its log: {self.log}", 180)
        return self

    def _enable(self) -> None:
        enabled = self.folder / "config" / "jupyter_server_config.d" / "jupyter_agent.json"
        enabled.parent.mkdir(exist_ok=True)
        enabled.write_text(json.dumps({"ServerApp": {"jpserver_extensions": {"jupyter_agent": True}}}))
        link = self.folder / "labextensions" / "jupyter-agent-live"
        if not link.exists():
            link.symlink_to(BUNDLE)

    def _choose_extensions(self) -> None:
        """Installing jupyter-collaboration switches it on: here it is on only where a test is of it."""
        config = self.folder / "config"
        disabled = [SPLASH]
        if importlib.util.find_spec("jupyter_server_ydoc") is not None:
            disabled += [] if self.collaboration else COLLABORATION
            extensions = {"ServerApp": {"jpserver_extensions": {"jupyter_server_ydoc": self.collaboration}}}
            (config / "jupyter_server_config.d").mkdir(exist_ok=True)
            (config / "jupyter_server_config.d" / "collaboration.json").write_text(json.dumps(extensions))
        (config / "labconfig").mkdir(exist_ok=True)
        page = {"disabledExtensions": dict.fromkeys(disabled, True)}
        (config / "labconfig" / "page_config.json").write_text(json.dumps(page))

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the server ended:\n{self.log.read_text()[-4000:]}")
        with contextlib.suppress(OSError):
            return bool(self.get("api/status"))
        return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """JSON of a request with the token."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": f"token {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=90) as response:
            text = response.read()
        return json.loads(text) if text else None

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def notebook(self, name: str) -> Any:
        """The notebook on disk."""
        return json.loads((self.root / name).read_text(encoding="utf-8"))


@contextlib.contextmanager
def running(server: LabServer) -> Iterator[LabServer]:
    try:
        yield server.start()
    finally:
        server.stop()


def write_notebook(path: Path, cells: Sequence[tuple[str, str, str]]) -> None:
    """A notebook of (id, type, source) cells."""
    made = []
    for cell_id, kind, source in cells:
        cell: dict[str, Any] = {"cell_type": kind, "id": cell_id, "metadata": {}, "source": source}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    # As JupyterLab leaves it: without language_info it would mark the notebook as changed when it opens it.
    metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": LANGUAGE,
    }
    raw = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
