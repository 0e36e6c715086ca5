"""What a kernel may ask about its own notebook, and what is done about it. Lives on the agent's loop."""

from __future__ import annotations

from typing import Any

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.cells import to_json
from jupyter_agent.notebook.remote import apply_difference
from jupyter_agent.server.hub import Hub
from jupyter_agent.server.notebook import ServedNotebook

Json = dict[str, Any]


async def perform(hub: Hub, body: Json) -> Json:
    """Do what the kernel asks of its own notebook. Raises NotebookRefused."""
    name = await hub.kernels.notebook_of(str(body.get("kernel")))
    if name is None:
        raise NotebookRefused("missing", "No notebook of this server belongs to this kernel.")
    path = (hub.root / name).resolve()
    if body["action"] == "path":
        return {"path": str(path)}
    notebook = hub.bridged(path)
    if body["action"] == "read":
        return await _state(notebook)
    if body["action"] == "change":
        await notebook.rewrite(lambda cells: apply_difference(cells, body))
        return await _state(notebook)
    if body["action"] == "follow":
        await hub.following.begin(path, name, str(body["cell"]), str(body["message"]))
        return {}
    if body["action"] == "outputs":
        await hub.following.end(path, str(body["cell"]))
        await notebook.set_outputs(
            str(body["cell"]), body["outputs"], body.get("execution_count"), timing=body.get("timing")
        )
        return {}
    if body["action"] == "save":
        await notebook.save()
        return {}
    raise NotebookRefused("op", "The kernel's version of the agent does not fit the server's. Update both.")


async def _state(notebook: ServedNotebook) -> Json:
    cells = [{"id": cell.id, "revision": 0, "cell": to_json(cell)} for cell in await notebook.cells()]
    return {"cells": cells, "metadata": dict(await notebook.metadata()), "minor": 5}
