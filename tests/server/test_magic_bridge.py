"""The magic in a kernel of this server works on its own notebook while its own cell is still busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from lab.harness import LabServer, wait_for, write_notebook
from magic.drive import Front, call

from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]
CELLS = [("load", "code", "%load_ext jupyter_agent"), ("ask", "code", "%%agent\nGo"), ("other", "code", "y = 1")]


class ServedFront(Front):
    """A front end of a kernel that the server started."""

    def __init__(self, connection_file: Path) -> None:
        self.client = BlockingKernelClient(connection_file=str(connection_file))
        self.client.load_connection_file()
        # A busy machine's heartbeat is no sign of death.
        self.client.start_channels(hb=False)
        self.client.wait_for_ready(60)


@contextmanager
def kernel_of(server: LabServer, name: str, cells: Any = CELLS) -> Iterator[Front]:
    """A notebook of the server, and its kernel as a front end drives it."""
    write_notebook(server.root / name, cells)
    body = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
    kernel = server.request("POST", "api/sessions", body)["kernel"]["id"]
    front = ServedFront(server.folder / "runtime" / f"kernel-{kernel}.json")
    try:
        assert front.run("%load_ext jupyter_agent", metadata={"cellId": "load"}).status == "ok"
        yield front
    finally:
        front.client.stop_channels()
        server.request("DELETE", f"api/kernels/{kernel}")


def edit(cell: str, search: str, replace: str) -> dict[str, Any]:
    return call("edit_cells", ops=[{"op": "edit", "cell": cell, "blocks": [{"search": search, "replace": replace}]}])


def source_of(server: LabServer, name: str, index: int) -> str:
    return "".join(server.notebook(name)["cells"][index]["source"])


def text_of(server: LabServer, name: str, index: int) -> str:
    outputs = server.notebook(name)["cells"][index]["outputs"]
    return "".join("".join(output.get("text", "")) for output in outputs)


def test_another_cell_is_edited_and_run_and_shows_its_own_outputs(server: LabServer, script: Script) -> None:
    script(
        call("read_cells"),
        edit("other", "y = 1", "y = 41 + 1\nprint('y is', y)"),
        call("run_cells", cells=["other"]),
        {"text": "Done.", "expect": {"tool_result_contains": "y is 42"}},
    )
    with kernel_of(server, "magic.ipynb") as front:
        ran = front.run("%%agent --mode accept-edits\nMake it 42", metadata={"cellId": "ask"})
        assert ran.status == "ok", ran.text
        assert front.value("y") == 42
        count = server.notebook("magic.ipynb")["cells"][2]["execution_count"]
        following = front.run("'next'", metadata={"cellId": "new"})
    assert source_of(server, "magic.ipynb", 2) == "y = 41 + 1\nprint('y is', y)"
    assert text_of(server, "magic.ipynb", 2) == "y is 42\n"
    assert [output["output_type"] for output in ran.outputs].count("stream") == 0, "nothing shows twice"
    assert following.count == count + 1
    assert "execution" in server.notebook("magic.ipynb")["cells"][2]["metadata"]


def test_outputs_arrive_while_the_code_blocks_the_kernel(server: LabServer, script: Script, tmp_path: Path) -> None:
    goes_on = tmp_path / "go"
    waiting = (
        f"import os, time\nprint('first', flush=True)\nwhile not os.path.exists({str(goes_on)!r}): time.sleep(0.05)"
    )
    script(call("run_cells", cells=["other"]), {"text": "Ran."})
    cells = [*CELLS[:2], ("other", "code", waiting + "\nprint('second')")]
    with kernel_of(server, "blocking.ipynb", cells) as front:
        sent = front.client.execute("%%agent --mode auto\nRun it")
        wait_for(lambda: text_of(server, "blocking.ipynb", 2) == "first\n", "the first line is in its cell", 60)
        goes_on.touch()
        wait_for(lambda: text_of(server, "blocking.ipynb", 2) == "first\nsecond\n", "the second follows", 60)
        assert front.client.get_shell_msg(timeout=60)["parent_header"]["msg_id"] == sent


def test_an_error_shows_in_its_cell_and_is_told(server: LabServer, script: Script) -> None:
    script(call("run_cells", cells=["other"]), {"text": "Oh.", "expect": {"tool_result_contains": "ZeroDivisionError"}})
    with kernel_of(server, "error.ipynb", [*CELLS[:2], ("other", "code", "1 / 0")]) as front:
        ran = front.run("%%agent --mode auto\nRun it", metadata={"cellId": "ask"})
    assert ran.status == "ok"
    assert server.notebook("error.ipynb")["cells"][2]["outputs"][0]["ename"] == "ZeroDivisionError"


def test_after_a_rename_it_is_the_renamed_notebook(server: LabServer, script: Script) -> None:
    script({"text": "Hello."}, call("read_cells"), edit("other", "y = 1", "y = 2"), {"text": "Done."})
    with kernel_of(server, "before.ipynb") as front:
        front.run("%agent Hello", metadata={"cellId": "ask"})
        server.request("PATCH", "api/contents/before.ipynb", {"path": "after.ipynb"})
        session = next(each["id"] for each in server.get("api/sessions") if each["path"] == "before.ipynb")
        server.request("PATCH", f"api/sessions/{session}", {"path": "after.ipynb"})
        ran = front.run("%%agent --mode accept-edits\nChange it", metadata={"cellId": "ask"})
        assert ran.status == "ok", ran.text
    assert source_of(server, "after.ipynb", 2) == "y = 2"
    assert not (server.root / "before.ipynb").exists()


def test_undo_takes_it_back(server: LabServer, script: Script) -> None:
    script(call("read_cells"), edit("other", "y = 1", "y = 2"), {"text": "Done."})
    with kernel_of(server, "undone.ipynb") as front:
        front.run("%%agent --mode accept-edits\nChange it", metadata={"cellId": "ask"})
        assert source_of(server, "undone.ipynb", 2) == "y = 2"
        front.run("%agent undo", metadata={"cellId": "ask"})
    assert source_of(server, "undone.ipynb", 2) == "y = 1"


def test_a_notebook_on_another_machine_is_changed_and_not_called_proven(server: LabServer, script: Script) -> None:
    """A kernel whose file system is not the server's, as behind a gateway: here its bridge tells another path."""
    script(call("read_cells"), edit("other", "y = 1", "y = 2"), call("run_cells", cells=["other"]), {"text": "Done."})
    with kernel_of(server, "remote.ipynb") as front:
        elsewhere = (
            "from jupyter_agent.notebook.bridge import Bridge\nasync def path(self):\n"
            "    return '/on/another/machine/remote.ipynb'\nBridge.path = path"
        )
        front.run(elsewhere)
        ran = front.run("%%agent --mode accept-edits\nChange it", metadata={"cellId": "ask"})
        assert ran.status == "ok", ran.text
        assert front.value("_agent.verified") == "unproven"
    assert source_of(server, "remote.ipynb", 2) == "y = 2"


@pytest.fixture
def unknown(server: LabServer) -> Iterator[Front]:
    """A kernel that does not know its server, as a gateway's kernels are."""
    with kernel_of(server, "gateway.ipynb") as front:
        front.run(
            "import os\nfor name in ('JUPYTER_AGENT_URL', 'JUPYTER_AGENT_SECRET', 'JPY_SESSION_NAME'):\n"
            "    os.environ.pop(name, None)\nos.environ['JUPYTER_RUNTIME_DIR'] = '/nowhere'"
        )
        yield front


def test_connect_reaches_the_server_by_its_token(server: LabServer, script: Script, unknown: Front) -> None:
    script(call("read_cells"), edit("other", "y = 1", "y = 3"), {"text": "Done."})
    assert "%agent connect URL TOKEN" in unknown.run("%agent connect").text
    refused = unknown.run(f"%agent connect {server.url} wrong")
    assert refused.status == "error"
    assert "is the token right?" in refused.text
    ran = unknown.run(f"%agent connect {server.url}lab/tree/gateway.ipynb?token={server.token}")
    assert "gateway.ipynb is read and changed where it is open" in ran.text
    assert unknown.run("%%agent --mode accept-edits\nChange it").status == "ok"
    assert source_of(server, "gateway.ipynb", 2) == "y = 3"


def test_without_the_extension_it_is_found_by_the_kernels_id_and_proposed_to(server: LabServer, script: Script) -> None:
    script(call("read_cells"), edit("other", "y = 1", "y = 4"), {"text": "Apply it, please."})
    with kernel_of(server, "plain.ipynb") as front:
        front.run("import os\nfor name in ('JUPYTER_AGENT_URL', 'JPY_SESSION_NAME'):\n    os.environ.pop(name, None)")
        assert str((server.root / "plain.ipynb").resolve()) in front.run("%agent status").text
        ran = front.run("%%agent --mode accept-edits\nChange it", metadata={"cellId": "ask"})
    assert ran.next_inputs == ["y = 4"]
    assert source_of(server, "plain.ipynb", 2) == "y = 1"
