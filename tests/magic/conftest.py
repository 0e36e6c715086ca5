"""One kernel with the magic for all tests of a module, in data folders of its own; each test brings its own model."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from magic.drive import Front, front


def pristine(home: str) -> dict[str, str]:
    """Environment of a program with fresh data folders and no model."""
    names = {"HOME": home, "IPYTHONDIR": f"{home}/ipython", "JUPYTER_PLATFORM_DIRS": "1"}
    names |= {f"JUPYTER_{name}_DIR": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "RUNTIME")}
    withheld = {name: "" for name in os.environ if name.startswith("ANTHROPIC_")}
    return {**names, **withheld}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("kernel")
    with front(folder, **pristine(str(tmp_path_factory.mktemp("home")))) as made:
        yield made
