"""n39: plots and outputs of what the agent runs answer the magic's own cell, so front ends draw them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conversations import notebook_file
from magic.drive import Front, call, fresh_front, model


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with fresh_front(tmp_path_factory) as made:
        yield made


CODE = (
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nprint('printed')\n_ = plt.plot([1, 2])\n"
    "from IPython.display import HTML, display\ndisplay(HTML('<i>shown</i>'))\n40 + 2"
)


def test_n39_every_message_belongs_to_the_cell(kernel: Front) -> None:
    notebook_file(kernel.folder / "p.ipynb", "print('from a cell')")
    strangers: list[str] = []
    with model(kernel, [call("run_code", code=CODE), call("run_cells", cells="all"), {"text": "Drawn."}]):
        kernel.run("%agent --new --mode accept-edits --notebook p.ipynb")
        ran = kernel.run("%agent Draw.", on_stray=lambda message: strangers.append(message["msg_type"]))
    kinds = [sorted(o.get("data", {})) for o in ran.outputs if o["output_type"] != "stream"]
    assert ["image/png", "text/plain"] in kinds
    assert "<i>shown</i>" in ran.html
    assert "printed" in ran.text
    assert "from a cell" in ran.text
    assert {"text/plain": "42"} in [o.get("data") for o in ran.outputs]
    assert not {"stream", "display_data", "execute_result", "error"} & set(strangers)
