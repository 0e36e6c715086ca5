"""Each cure that `take_out_cures.py` takes out is still what the program has, and its tests are still there."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.take_out_cures import ROOT, Cure, load

CURES = load(Path(__file__).parent / "cures")


@pytest.mark.parametrize("cure", CURES, ids=[f"{cure.fault}-{Path(cure.file).stem}" for cure in CURES])
def test_the_cure_is_in_the_program(cure: Cure) -> None:
    assert (ROOT / cure.file).read_text(encoding="utf-8").count(cure.cure) == 1
    assert cure.without != cure.cure
    for test in cure.tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or f"def {name.partition('[')[0]}(" in text, test
