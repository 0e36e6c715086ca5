"""f39 in the magic: after a restart undo restores the document and never claims the kernel's state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conversations import notebook_file
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


def test_f39_document_right_and_kernel_not_claimed(kernel: Front) -> None:
    notebook = notebook_file(kernel.folder / "u.ipynb", "a = 1", "print(a)")
    before = notebook.read_bytes()
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "a = 1", "replace": "a = 2"}]}])
    options = "--mode accept-edits --notebook u.ipynb"
    with model(kernel, [call("read_cells"), edit, call("run_cells", cells="all"), {"text": "Two."}]):
        kernel.run(f"%%agent --new {options}\nMake it two.")
    assert kernel.value("a") == 2
    kernel.restart()
    kernel.run("%load_ext jupyter_agent")
    undone = kernel.run("%agent undo")
    assert undone.status == "ok", undone.text
    assert "Kernel state is not restored." in undone.text
    assert "run_cells" in undone.text
    assert notebook.read_bytes() == before
    script = [{"expect": {"any_contains": "The kernel was restarted since"}, "text": "Noted."}]
    with model(kernel, script):
        kernel.run("%agent What is a?")
    assert "a" not in kernel.value("dir()")
