"""n37 in the magic: what the agent looks at leaves no name, no result and no import in the person's namespace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


STATE = "(sorted(n for n in dir() if not n.strip('_i').isdigit() and n not in ('_i', '_ii', '_iii')), sorted(Out))"
LOOKING = [
    call("inspect_variables"),
    call("inspect_variables", names=["held", "absent"], detail=True),
    call("read_cells"),
    call("control_kernel", action="status"),
    call("run_code", code="pass"),
    {"text": "Looked."},
]


def test_n37_dir_before_equals_after(kernel: Front) -> None:
    kernel.run("held = {'a': 1}")
    before = kernel.value(STATE)
    with model(kernel, LOOKING):
        assert kernel.run("%%agent --new --mode accept-edits\nLook.").status == "ok"
    assert kernel.value(STATE) == before


def test_n37_lazy_and_hostile_objects_are_not_touched(kernel: Front) -> None:
    kernel.run(
        "touched = []\n"
        "class Remote:\n"
        "    def __getattribute__(self, name): touched.append(name); raise RuntimeError(name)\n"
        "    def __repr__(self): touched.append('repr'); return ''\n"
        "    def __len__(self): touched.append('len'); return 1\n"
        "remote = Remote()\ntouched.clear()"
    )
    with model(
        kernel, [call("inspect_variables"), call("inspect_variables", names=["remote"], detail=True), {"text": "."}]
    ):
        ran = kernel.run("%%agent --new\nLook.")
    assert "remote: Remote" in ran.html
    assert kernel.value("touched") == []


def test_n37_unloading_takes_everything_back(kernel: Front) -> None:
    kernel.run("%unload_ext jupyter_agent")
    assert kernel.value("hasattr(get_ipython(), 'jupyter_agent'), '_agent' in dir()") == (False, False)
    assert "%%agent" in kernel.run("%%agent\nHello").text
    kernel.run("%load_ext jupyter_agent")
    assert kernel.value("'_agent' in dir()") is True
