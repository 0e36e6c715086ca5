"""A kernel of the server reaches its own notebook while it is busy, by the secret it inherited; nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.client import Client, create, refusal
from lab.harness import LabServer, wait_for, write_notebook

from jupyter_agent.errors import NotebookRefused, Stale
from jupyter_agent.notebook.bridge import Bridge, BridgedNotebook
from jupyter_agent.notebook.document import Insert, ReplaceSource, Target
from jupyter_agent.testing.effects import commit
from jupyter_agent.testing.scripted import ScriptedServer

Script = Callable[..., ScriptedServer]

EDIT_ITSELF = """\
import os, re
from ipykernel.connect import get_connection_file
from jupyter_agent.notebook.bridge import Bridge, BridgedNotebook
from jupyter_agent.notebook.document import ReplaceSource, Target
from jupyter_agent.testing.effects import commit

bridge = Bridge.from_environment(os.environ, re.search("kernel-(.*).json", get_connection_file())[1])
notebook = BridgedNotebook(bridge, await bridge.path())
other = (await notebook.cells())[1]
await commit(await notebook.edit([ReplaceSource(Target(other.id, other.hash), "y = 2")]))
await notebook.set_outputs(other.id, [{"output_type": "stream", "name": "stdout", "text": "from afar\\n"}], 7)
await notebook.save()
print(notebook.path)
"""


async def run_all(server: LabServer, script: Script, name: str) -> None:
    script({"calls": [{"name": "run_cells", "arguments": {"cells": ["first"]}}]}, {"text": "Ran."})
    client = await Client.connect(server, create(server, notebook=name, mode="accept-edits"))
    client.ask("Run the first cell")
    await client.until("stop", timeout=60)
    await client.close()


def kernel_of(server: LabServer, name: str) -> str:
    return str(next(s["kernel"]["id"] for s in server.get("api/sessions") if s["path"] == name))


async def test_a_cell_edits_another_cell_while_it_runs(server: LabServer, script: Script) -> None:
    write_notebook(server.root / "self.ipynb", [("first", "code", EDIT_ITSELF), ("other", "code", "y = 1")])
    await run_all(server, script, "self.ipynb")
    saved = lambda: server.notebook("self.ipynb")["cells"][0]["outputs"]  # noqa: E731
    await asyncio.to_thread(wait_for, saved, "the turn's outputs are saved after its end")
    first, other = server.notebook("self.ipynb")["cells"]
    assert "".join(other["source"]) == "y = 2"
    assert ("".join(other["outputs"][0]["text"]), other["execution_count"]) == ("from afar\n", 7)
    assert "".join(first["outputs"][0]["text"]).strip() == str((server.root / "self.ipynb").resolve())


async def test_by_token_after_a_rename(server: LabServer, script: Script) -> None:
    write_notebook(server.root / "old.ipynb", [("first", "code", "x = 1")])
    await run_all(server, script, "old.ipynb")
    kernel = kernel_of(server, "old.ipynb")
    await asyncio.to_thread(server.request, "PATCH", "api/contents/old.ipynb", {"path": "new.ipynb"})
    session = next(s["id"] for s in server.get("api/sessions") if s["kernel"]["id"] == kernel)
    await asyncio.to_thread(server.request, "PATCH", f"api/sessions/{session}", {"path": "new.ipynb"})
    bridge = Bridge(server.url, kernel, token=server.token)
    assert await bridge.path() == str((server.root / "new.ipynb").resolve())
    notebook = BridgedNotebook(bridge, await bridge.path())
    effect = await notebook.edit([Insert("markdown", "# New", before="first", id="title")])
    await commit(effect)
    assert [cell["id"] for cell in server.notebook("new.ipynb")["cells"]] == ["title", "first"]


async def test_a_stale_cell_is_refused_with_its_source(server: LabServer, script: Script, tmp_path: Path) -> None:
    write_notebook(server.root / "stale.ipynb", [("first", "code", "x = 1")])
    await run_all(server, script, "stale.ipynb")
    notebook = BridgedNotebook(Bridge(server.url, kernel_of(server, "stale.ipynb"), token=server.token), "stale.ipynb")
    cell = (await notebook.cells())[0]
    write_notebook(server.root / "stale.ipynb", [("first", "code", "x = 'theirs'")])
    with pytest.raises((NotebookRefused, Stale), match=r"x = 'theirs'"):
        await commit(await notebook.edit([ReplaceSource(Target("first", cell.hash), "x = 2")]))
    assert server.notebook("stale.ipynb")["cells"][0]["source"] == "x = 'theirs'"


async def test_without_secret_or_token_nothing_is_told(server: LabServer) -> None:
    for bridge in (Bridge(server.url, "k", "wrong"), Bridge(server.url, "k", token="wrong")):
        with pytest.raises(NotebookRefused, match=r"does not know this kernel|status 403"):
            await bridge.path()
    status, sentence = refusal(server, "POST", "jupyter-agent/bridge")
    assert (status, "No notebook" in sentence) == (409, True)
