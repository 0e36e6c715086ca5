"""The shared backend under the shipped suite: a room of jupyter-collaboration on a real server.

The other party is a person in the room, with a copy of the document of their own behind a websocket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from server.rtc import needs_collaboration

from jupyter_agent.notebook.document import Cell, Notebook
from jupyter_agent.testing.documents import DocumentConformance
from jupyter_agent.testing.samples import write_notebook

if TYPE_CHECKING:
    from server.collaboration import CollaborationServer, Person

pytestmark = needs_collaboration


@pytest.fixture(scope="module")
def collaboration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollaborationServer]:
    from server.collaboration import collaborating

    with collaborating(tmp_path_factory.mktemp("server")) as server:
        yield server


class SharedBackend:
    person: Person

    def __init__(self, server: CollaborationServer, name: str) -> None:
        self.server, self.name = server, name

    async def open(self, cells: Sequence[Cell]) -> Notebook:
        write_notebook(Path(self.server.root / self.name), cells)
        self.person = await self.server.join(self.name)
        notebook = self.server.notebook(self.name)
        await notebook.cells()
        assert notebook.backend == "shared"
        return notebook

    async def stored(self) -> Sequence[Cell]:
        await self.person.refresh()
        return self.person.cells()

    async def change(self, edit: Callable[[list[Cell]], list[Cell]]) -> None:
        await self.person.refresh()
        self.person.replace(edit(self.person.cells()))
        await self.person.refresh()


class TestShared(DocumentConformance):
    @pytest.fixture
    async def backend(
        self, collaboration: CollaborationServer, request: pytest.FixtureRequest
    ) -> AsyncIterator[SharedBackend]:
        backend = SharedBackend(collaboration, f"{abs(hash(request.node.name))}.ipynb")
        yield backend
        if hasattr(backend, "person"):
            await backend.person.leave()
