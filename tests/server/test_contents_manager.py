"""A server whose notebooks are not files: the shipped suite and a conversation through its contents manager."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.client import Client, create
from lab.harness import LabServer, running, wait_for
from server.threaded import ThreadedServer, serving

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import from_json, to_json
from jupyter_agent.notebook.document import Cell, Insert, Notebook, ReplaceSource, Target
from jupyter_agent.testing import effects
from jupyter_agent.testing.documents import DocumentConformance
from jupyter_agent.testing.samples import code
from jupyter_agent.testing.scripted import ScriptedServer

MANAGER = "server.memory_contents.MemoryContents"
NAME = "somewhere.ipynb"
Script = Callable[..., ScriptedServer]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedServer]:
    settings = {"ServerApp": {"contents_manager_class": MANAGER}}
    with serving(ThreadedServer(tmp_path_factory.mktemp("server"), settings)) as server:
        yield server


def notebook_of(cells: Sequence[Cell], minor: int = 5) -> dict[str, Any]:
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    raw = [to_json(cell, with_id=minor >= 5) for cell in cells]
    content = {"cells": raw, "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}
    return {"type": "notebook", "format": "json", "content": content}


class ContentsBackend:
    """The other party uses the contents API, as a page does."""

    def __init__(self, server: ThreadedServer) -> None:
        self.server = server

    async def put(self, cells: Sequence[Cell]) -> None:
        await asyncio.to_thread(self.server.request, "PUT", f"api/contents/{NAME}", notebook_of(cells))

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        await self.put(cells)
        notebook = self.server.notebook(NAME)
        await notebook.cells()
        assert notebook.backend == "contents"
        return notebook

    async def stored(self) -> Sequence[Cell]:
        model = await asyncio.to_thread(self.server.request, "GET", f"api/contents/{NAME}")
        made: list[Cell] = []
        for index, raw in enumerate(model["content"]["cells"]):
            metadata = {key: value for key, value in raw["metadata"].items() if key != "trusted"}
            made.append(from_json({**raw, "metadata": metadata}, raw["id"], index))
        return made

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        await self.put(edit(list(await self.stored())))


class TestContents(DocumentConformance):
    @pytest.fixture
    def backend(self, store: ThreadedServer) -> ContentsBackend:
        return ContentsBackend(store)


async def test_no_file_appears(store: ThreadedServer) -> None:
    notebook = await ContentsBackend(store).open([code("one", "x = 1")])
    await effects.commit(await notebook.edit([Insert("code", "y = 2")]))
    await notebook.close()
    assert list(store.root.iterdir()) == []


async def test_a_store_that_cannot_save_is_a_sentence_and_outputs_wait(store: ThreadedServer) -> None:
    notebook = await ContentsBackend(store).open([code("one", "x = 1")])
    cell = (await notebook.cells())[0]
    store.app.contents_manager.full = True
    try:
        with pytest.raises(NotebookRefused, match="This store is full") as refused:
            await effects.commit(await notebook.edit([ReplaceSource(Target("one", cell.hash), "x = 2")]))
        assert refused.value.kind == "not_saved"
        await notebook.set_outputs("one", [{"output_type": "stream", "name": "stdout", "text": "said"}], 1)
        with pytest.raises(NotebookRefused, match="This store is full"):
            await notebook.save()
        assert (await notebook.cells())[0].outputs[0]["text"] == "said"
    finally:
        store.app.contents_manager.full = False
    await notebook.save()
    (stored,) = await ContentsBackend(store).stored()
    assert (stored.source, stored.outputs[0]["text"]) == ("x = 1", "said")


async def test_what_is_not_there_is_a_sentence(store: ThreadedServer) -> None:
    with pytest.raises(NotebookRefused, match=r"There is no none\.ipynb in this store"):
        await store.notebook("none.ipynb").cells()


async def test_an_old_format_stays_valid(store: ThreadedServer) -> None:
    body = notebook_of([code("", "x = 1"), code("", "x = 1")], minor=4)
    await asyncio.to_thread(store.request, "PUT", "api/contents/old.ipynb", body)
    notebook = store.notebook("old.ipynb")
    first, second = await notebook.cells()
    assert first.id != second.id
    await effects.commit(await notebook.edit([Insert("code", "y = 2", after=first.id)]))
    assert [cell.id for cell in await notebook.cells()][::2] == [first.id, second.id]
    content = (await asyncio.to_thread(store.request, "GET", "api/contents/old.ipynb"))["content"]
    assert content["nbformat_minor"] == 4
    assert not any("id" in cell for cell in content["cells"])


async def test_a_conversation_edits_and_runs_there(
    tmp_path_factory: pytest.TempPathFactory, model_port: int, script: Script
) -> None:
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model_port}",
        "ANTHROPIC_API_KEY": "scripted",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    arguments = [f"--ServerApp.contents_manager_class={MANAGER}"]
    folder = tmp_path_factory.mktemp("conversation")
    made = LabServer(folder, app="jupyter_server", environment=environment, arguments=arguments)
    with running(made) as server:
        body = notebook_of([code("one", "x = 6")])
        await asyncio.to_thread(server.request, "PUT", f"api/contents/{NAME}", body)
        operation = {"op": "edit", "cell": "one", "blocks": [{"search": "x = 6", "replace": "print(6 * 7)"}]}
        script(
            {"calls": [{"name": "read_cells", "arguments": {}}]},
            {"calls": [{"name": "edit_cells", "arguments": {"ops": [operation]}}]},
            {"calls": [{"name": "run_cells", "arguments": {"cells": "all"}}]},
            {"text": "It is 42."},
        )
        client = await Client.connect(server, create(server, notebook=NAME, mode="accept-edits"))
        client.ask("Print it")
        stop = await client.until("stop", timeout=120)
        await client.close()
        assert stop["reason"] == "done"

        def outputs() -> list[dict[str, Any]]:
            content = server.get(f"api/contents/{NAME}")["content"]
            return list(content["cells"][0]["outputs"])

        (output,) = await asyncio.to_thread(wait_for, outputs, "the outputs are stored")
        assert output["text"] == "42\n"
        assert not (server.root / NAME).exists()
