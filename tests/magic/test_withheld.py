"""What the person switches off in the magic never becomes part of a request; `%agent status` says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from magic.drive import Front, call, front, model, pristine


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder: Path = tmp_path_factory.mktemp("withheld")
    with front(folder, **pristine(str(folder / "home"))) as made:
        yield made


def test_outputs_and_variables_stay_here_for_the_whole_conversation(kernel: Front) -> None:
    kernel.run("patient_4711 = 'confidential result'")
    script = [
        call("run_code", code="print(patient_4711[::-1])"),
        call("inspect_variables"),
        {"text": "Done."},
        {"text": "Again."},
    ]
    with model(kernel, script) as server:
        ran = kernel.run("%%agent --new --mode auto --no-outputs --no-variables\nReverse it")
        assert ran.status == "ok", ran.text
        kernel.run("%agent And again")
        sent = json.dumps(server.messages)
    assert "tluser laitnedifnoc" not in sent
    assert "confidential" not in sent
    assert sent.count("patient_4711") == sent.count("print(patient_4711[::-1])"), "only the model's own code names it"
    status = kernel.run("%agent status").text
    assert "kept here     outputs and variables" in status


def test_status_makes_up_no_price(kernel: Front) -> None:
    with model(kernel, [{"text": "Hello."}]):
        kernel.run("%agent --new Hello")
        status = kernel.run("%agent status").text
    assert "tokens, price unknown" in status
    assert "$" not in status
    assert "kept here" not in status


def test_configuration_switches_them_off(kernel: Front) -> None:
    kernel.run("%config JupyterAgent.send_variables = False")
    kernel.run("only_here = 1")
    with model(kernel, [{"text": "Hello."}]) as server:
        kernel.run("%agent --new Hello")
        sent = json.dumps(server.messages)
    kernel.run("%config JupyterAgent.send_variables = True")
    assert "New in the kernel" not in sent
    assert "The kernel is live and holds" not in sent
