"""What fault tests share: Jupyter folders of their own, so that no server of this machine is asked or found."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_jupyter_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("jupyter")
    for name in ("RUNTIME", "DATA", "CONFIG"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(folder / name.lower()))
    return folder
