"""Where this program keeps its own data: one folder under Jupyter's data directory, private to the user."""

from __future__ import annotations

from pathlib import Path


def data_folder() -> Path:
    """`jupyter_data_dir()/jupyter_agent`, made on first use with mode 0700."""
    from jupyter_core.paths import jupyter_data_dir

    folder = Path(jupyter_data_dir()) / "jupyter_agent"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def conversations_folder() -> Path:
    return data_folder() / "conversations"
