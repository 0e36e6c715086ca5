"""One kernel with the magic for all tests of a module, in data folders of its own; each test brings its own model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from magic.drive import Front, fresh_front


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made
