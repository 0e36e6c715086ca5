"""n41 in the magic: inspection loads none of the libraries whose objects it can describe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


LIBRARIES = ("numpy", "pandas", "polars", "torch", "pyarrow", "dask", "matplotlib")
LOADED = f"[name for name in {LIBRARIES!r} if name in __import__('sys').modules]"


def test_n41_a_turn_loads_no_data_library(kernel: Front) -> None:
    kernel.run("numbers, text = list(range(1000)), 'x' * 10_000")
    before = kernel.value(LOADED)
    script = [
        call("inspect_variables"),
        call("inspect_variables", names=["numbers", "text"], detail=True),
        {"text": "."},
    ]
    with model(kernel, script):
        ran = kernel.run("%%agent --new\nLook.")
    assert "numbers: list" in ran.html
    assert kernel.value(LOADED) == before == []
