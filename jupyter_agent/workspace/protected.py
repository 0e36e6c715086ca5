"""Which paths are protected: files that decide what runs later, what the agent may do, or what a test demands.

A pure table over names: a protected path is asked for in every mode, whether it exists or not (faults f70, f71).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

TAMPERING = "a check must not be made to pass by changing it"
"""Why tests are protected; summaries of turns look for it."""


def _table(rows: Mapping[str, str]) -> dict[str, str]:
    """`{reason: "name name …"}` turned over."""
    return {name: reason for reason, names in rows.items() for name in names.split()}


_NAMES: Mapping[str, str] = _table(
    {
        "a shell start-up file": """
            .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin
            .zlogout .kshrc .cshrc .tcshrc .login .inputrc .envrc .xprofile .xinitrc .xsessionrc""",
        "a file that Python runs or obeys at start": """
            sitecustomize.py usercustomize.py pyvenv.cfg .python-version .pdbrc .pdbrc.py""",
        "configuration of Jupyter, IPython or a kernel": """
            ipython_config.py ipython_kernel_config.py jupyter_config.py jupyter_server_config.py
            jupyter_server_config.json jupyter_notebook_config.py jupyter_notebook_config.json jupyter_lab_config.py
            kernel.json""",
        "what an agent obeys": """
            .mcp.json .agentignore agents.md claude.md gemini.md .cursorrules .jupyter_agent.json
            .jupyter_agent.toml""",
        "what git runs or obeys": ".gitmodules .gitconfig .gitattributes .pre-commit-config.yaml",
        "credentials, or where installers fetch from": """
            .netrc .pypirc .npmrc .yarnrc .yarnrc.yml .condarc pip.conf pip.ini authorized_keys crontab""",
    }
)
_FOLDERS: Mapping[str, str] = _table(
    {
        "internals of version control": ".git .hg .svn .husky .githooks",
        "configuration of Jupyter or IPython": ".jupyter .ipython nbextensions labextensions",
        "keys and credentials": ".ssh .gnupg .aws .kube .docker",
        "what an agent obeys": ".claude .cursor .codex .gemini .jupyter_agent .agents",
        "what an editor or CI runs by itself": ".vscode .idea .devcontainer .github .circleci",
        "what the system starts by itself": "launchagents launchdaemons autostart",
    }
)
_PAIRS: Mapping[tuple[str, str], str] = {
    (".config", "fish"): "a shell start-up file",
    (".config", "git"): "what git runs or obeys",
    (".config", "systemd"): "what the system starts by itself",
    (".config", "pip"): "where installers fetch from",
    ("jupyter", "kernels"): "a kernel specification",
    ("etc", "jupyter"): "configuration of Jupyter",
}
_START_FILES = re.compile(r".*\.(?:pth|egg-link)|\.bashrc\..*|_jupyter_.*_config\.(?:py|json)")
_TESTS = re.compile(r"test_.*\.py|.*_test\.(?:py|go|rb)|conftest\.py|.*\.(?:test|spec)\.[cm]?[jt]sx?|test_.*\.ipynb")
_TEST_FOLDERS = frozenset({"tests", "test", "__tests__"})


def protection(path: Path, root: Path) -> str | None:
    """Why a real path inside the real `root` is protected, as a phrase for a question, or None.

    Names are compared without regard to case, because some file systems do. Tests count too: a change that makes a
    check pass by weakening it needs a word of its own.
    """
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    parts = [part.lower() for part in relative.parts]
    if not parts:
        return None
    name = parts[-1]
    for folder in _protected_folders():
        if path.is_relative_to(folder):
            return f"{relative} is protected: configuration or data of Jupyter, IPython or this agent"
    reason = _NAMES.get(name) or ("a file that Python runs at start" if _START_FILES.fullmatch(name) else None)
    reason = reason or next((_FOLDERS[part] for part in parts if part in _FOLDERS), None)
    reason = reason or next((_PAIRS[pair] for pair in pairwise(parts) if pair in _PAIRS), None)
    if reason is None and _is_home(path.parent) and name.startswith("."):
        reason = "a settings file of your home folder"
    if reason is not None:
        return f"{relative} is protected: {reason}"
    if _TESTS.fullmatch(name) or any(part in _TEST_FOLDERS for part in parts[:-1]):
        return f"{relative} is a test, and {TAMPERING}"
    return None


def _is_home(folder: Path) -> bool:
    return folder == Path(os.path.realpath(os.path.expanduser("~")))


def _protected_folders() -> tuple[Path, ...]:
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    return _folders(tuple(os.environ.get(name, "") for name in names))


@lru_cache(maxsize=8)
def _folders(_environment: tuple[str, ...]) -> tuple[Path, ...]:
    """Folders of configuration, kernelspecs and conversations on this machine; keyed by what they depend on."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

    folders = [
        jupyter_config_dir(),
        jupyter_data_dir(),
        jupyter_runtime_dir(),
        os.environ.get("IPYTHONDIR") or os.path.expanduser("~/.ipython"),
        os.path.join(sys.prefix, "etc", "jupyter"),
        os.path.join(sys.prefix, "share", "jupyter"),
        os.path.expanduser("~/.config/jupyter_agent"),
    ]
    return tuple(Path(os.path.realpath(folder)) for folder in folders)
