"""f32 in the magic: a million printed lines grow the saved cell by less than 1 MB; nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


def test_f32_a_million_lines(kernel: Front) -> None:
    code = "for number in range(1_000_000):\n    print('line', number)"
    script = [
        call("run_code", code=code),
        {"expect": {"tool_result_contains": ["line 0", "line 999999", "read_output"]}, "text": "Long."},
    ]
    with model(kernel, script) as server:
        ran = kernel.run("%%agent --new --mode accept-edits\nPrint.", limit=100)
        assert ran.status == "ok"
        told = json.dumps(server.messages[-1]["messages"][-1])
    assert len(json.dumps(ran.outputs)) < 400_000
    assert "line 0\n" in ran.text
    assert "line 999999\n" in ran.text
    assert "not shown here" in ran.text
    assert len(told) < 40_000


def test_f32_a_short_output_is_whole(kernel: Front) -> None:
    with model(kernel, [call("run_code", code="print('x' * 50_000)"), {"text": "Short."}]):
        ran = kernel.run("%%agent --new --mode accept-edits\nPrint.")
    assert "x" * 50_000 in ran.text
