"""Folding of kernel messages: coalescing, display ids, clearing, the flood bound and the spill."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_agent.kernel.outputs import Outputs, weight


def stream(text: str, name: str = "stdout") -> tuple[str, dict[str, Any]]:
    return "stream", {"name": name, "text": text}


def display(
    data: dict[str, Any], identity: str | None = None, kind: str = "display_data"
) -> tuple[str, dict[str, Any]]:
    return kind, {"data": data, "metadata": {}, "transient": {"display_id": identity} if identity else {}}


def folded(*messages: tuple[str, dict[str, Any]], **options: Any) -> Outputs:
    outputs = Outputs(**options)
    for kind, content in messages:
        outputs.fold(kind, content)
    return outputs


def test_neighbouring_streams_are_one_output() -> None:
    made = folded(stream("a"), stream("b"), stream("c", "stderr"), stream("d"))
    assert [(output["name"], output["text"]) for output in made.outputs()] == [
        ("stdout", "ab"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]


def test_outputs_are_valid_nbformat() -> None:
    result = ("execute_result", {"data": {"text/plain": "1"}, "metadata": {}, "execution_count": 3})
    error = ("error", {"ename": "E", "evalue": "\x1b[31mv", "traceback": ["\x1b[31mline\x1b[0m\nnext"]})
    made = folded(stream("x"), display({"text/plain": "d"}), result, error)
    cell = nbformat.v4.new_code_cell("1", outputs=[nbformat.from_dict(output) for output in made.outputs()])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    assert made.error == ("E", "v", ["line", "next"])


def test_every_display_of_an_id_is_updated_and_earlier_snapshots_stay() -> None:
    made = folded(display({"text/plain": "1"}, "a"), stream("between"), display({"text/plain": "1"}, "a"))
    before = made.outputs()
    assert made.fold(*display({"text/plain": "2"}, "a", "update_display_data"))
    assert [output["data"]["text/plain"] for output in made.outputs() if "data" in output] == ["2", "2"]
    assert before[0]["data"]["text/plain"] == "1"
    assert not made.fold(*display({"text/plain": "3"}, "unknown", "update_display_data"))


def test_clear_output_waits_for_the_next_output() -> None:
    made = folded(stream("old"), ("clear_output", {"wait": True}))
    assert made.outputs()[0]["text"] == "old"
    made.fold(*stream("new"))
    assert [output["text"] for output in made.outputs()] == ["new"]
    made.fold("clear_output", {"wait": False})
    assert made.outputs() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_flood_keeps_head_and_tail_and_spills_the_whole(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    pieces = [f"{number} {'x' * chance.randrange(200)}\n" * chance.randrange(1, 4) for number in range(3_000)]
    made = folded(*(stream(piece) for piece in pieces), spill_folder=tmp_path, text_limit=20_000)
    whole = "".join(pieces)
    (output,) = made.outputs()
    assert made.truncated
    assert weight(output["text"]) <= 21_000
    head, _, tail = output["text"].partition("\n[… ")
    assert whole.startswith(head)
    assert whole.endswith(tail.partition("…]\n")[2])
    made.close()
    assert made.spill_path is not None
    assert Path(made.spill_path).read_text() == whole


def test_alternating_streams_and_many_displays_are_bounded_too() -> None:
    made = folded(*(stream(f"{n}\n", ("stdout", "stderr")[n % 2]) for n in range(50_000)), text_limit=20_000)
    assert sum(weight(output["text"]) for output in made.outputs()) <= 21_000
    shown = folded(*(display({"text/plain": f"number {n}"}) for n in range(50_000)))
    assert len(shown.outputs()) < 10_000
    assert shown.outputs()[-1]["data"]["text/plain"] == "number 49999"


def test_images_survive_a_flood_of_text() -> None:
    image = display({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})
    before = [stream("text\n")] * 5_000
    made = folded(*before, image, *before, image, *before, text_limit=10_000)
    assert sum("image/png" in output.get("data", {}) for output in made.outputs()) == 2


def test_one_huge_message_of_each_kind_is_cut() -> None:
    huge = "y" * 5_000_000
    error = ("error", {"ename": "E", "evalue": huge, "traceback": [huge]})
    for message in (stream(huge), display({"text/plain": huge}), error):
        assert len(str(folded(message).outputs())) < 1_000_000


def test_a_bar_that_is_redrawn_does_not_use_up_the_limit() -> None:
    made = folded(display({"text/plain": "0 %"}, "bar"), text_limit=1_000)
    for percent in range(2_000):
        made.fold(*display({"text/plain": f"{percent} %"}, "bar", "update_display_data"))
    made.fold(*stream("done\n"))
    assert not made.truncated


def test_malformed_messages_change_nothing() -> None:
    made = Outputs()
    for kind, content in (
        ("stream", {}),
        ("stream", {"text": 3}),
        ("comm_msg", {"data": {}}),
        ("update_display_data", {}),
    ):
        assert not made.fold(kind, content)
    made.fold("display_data", {"data": None, "transient": []})
    assert made.outputs() == [{"output_type": "display_data", "data": {}, "metadata": {}}]


def widget(method: str, identity: str, **state: Any) -> tuple[str, dict[str, Any]]:
    data = {"state": state, "buffer_paths": []} | ({"method": "update"} if method == "comm_msg" else {})
    return method, {"comm_id": identity, "data": data}


def test_what_an_output_widget_captures_is_not_the_cells() -> None:
    clear = ("clear_output", {"wait": True})
    error = ("error", {"ename": "E", "evalue": "", "traceback": []})
    made = folded(
        stream("before\n"),
        widget("comm_open", "out", msg_id="", _model_name="OutputModel"),
        display({"text/plain": "the widget"}),
        widget("comm_msg", "out", msg_id="a1"),
        clear,
        stream("captured\n"),
        widget("comm_msg", "slider", value=3),
        error,
        widget("comm_msg", "out", msg_id=""),
        stream("after\n"),
    )
    assert [output.get("text", "widget") for output in made.outputs()] == ["before\n", "widget", "after\n"]
    assert made.error is None
    closed = folded(
        widget("comm_msg", "out", msg_id="a1"), stream("x"), ("comm_close", {"comm_id": "out"}), stream("y")
    )
    assert [output["text"] for output in closed.outputs()] == ["y"]
