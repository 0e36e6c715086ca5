"""`jupyter agent doctor`: what is installed, which model would answer, what can be enforced. Changes nothing."""

from __future__ import annotations

import asyncio
import json
import platform
import shutil
import sys
from argparse import Namespace
from importlib.metadata import PackageNotFoundError, version

from jupyter_agent.cli.main import DONE
from jupyter_agent.errors import ModelError
from jupyter_agent.events import Json
from jupyter_agent.models.resolve import resolve
from jupyter_agent.storage import conversations_folder

PACKAGES = (
    *("jupyter-agent-live", "ipython", "ipykernel", "jupyter_client", "nbformat", "anthropic", "jedi", "ruff", "rich"),
    *("tree-sitter", "jupyter-server", "jupyterlab", "jupyter-collaboration"),
)


def command_doctor(arguments: Namespace) -> int:
    report = asyncio.run(examine())
    if arguments.json:
        print(json.dumps(report))
        return DONE
    print(f"Python {report['python']} on {report['platform']}")
    for name, found in report["packages"].items():
        print(f"  {name:<22} {found or 'not installed'}")
    print(f"Kernels: {', '.join(report['kernels']) or 'none; install ipykernel'}")
    print(f"Search: {report['search']}")
    print(f"Shell tool: {report['shell']}")
    print(f"Sandbox: {report['sandbox']}")
    print(f"Conversations: {report['conversations']}")
    print(f"Model: {report['model']}")
    return DONE


async def examine() -> Json:
    """What the report says, as data."""
    from jupyter_client.kernelspec import KernelSpecManager

    bash = shutil.which("bash")
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "executable": sys.executable,
        "packages": {name: _version(name) for name in PACKAGES},
        "kernels": sorted(KernelSpecManager().find_kernel_specs()),
        "search": _search(),
        "shell": bash or "off: no bash was found",
        "sandbox": "not enforced: shell commands ask in every mode",
        "conversations": str(conversations_folder()),
        "model": await _model(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _search() -> str:
    from jupyter_agent.tools import ripgrep

    return str(ripgrep.program() or "Python (ripgrep was not found; 2.5 times slower)")


async def _model() -> str:
    try:
        endpoint = (await resolve()).endpoint
    except ModelError as error:
        return error.message
    return f"{endpoint.model} at {endpoint.host} ({endpoint.source})"
