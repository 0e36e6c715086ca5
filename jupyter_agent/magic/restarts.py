"""Which conversation a kernel had before it was restarted: the kernel's connection file outlives the restart."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from jupyter_agent.journal import conversation_folders

MARK = "kernel.json"
LOOKED_AT = 30
"""Conversations, newest first, among which the earlier one is looked for."""


def connection_file() -> str | None:
    """The connection file of the kernel this is, None outside of a kernel."""
    # Where ipykernel was not loaded this is none; it is not loaded for the sake of asking.
    kernelapp = sys.modules.get("ipykernel.kernelapp")
    if kernelapp is None:
        return None
    from traitlets.config import MultipleInstanceError

    try:
        return str(os.path.realpath(kernelapp.IPKernelApp.instance().abs_connection_file))
    except MultipleInstanceError:
        return None


def mark(folder: Path) -> None:
    """Remember that the conversation in `folder` is this kernel's; a full disk is not an error here."""
    file = connection_file()
    if file is not None:
        with contextlib.suppress(OSError):
            (folder / MARK).write_text(json.dumps({"connection_file": file, "pid": os.getpid()}), encoding="utf-8")


def before_restart(root: Path) -> Path | None:
    """The folder of the newest conversation that this kernel had in an earlier process, None where there is none."""
    file = connection_file()
    if file is None:
        return None
    for folder, _ in zip(conversation_folders(root), range(LOOKED_AT), strict=False):
        try:
            marked = json.loads((folder / MARK).read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(marked, dict) and marked.get("connection_file") == file:
            return folder if marked.get("pid") != os.getpid() else None
    return None
