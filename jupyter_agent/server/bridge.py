"""The server's end of a kernel's way to its own notebook (jupyter_agent.notebook.bridge).

Who calls is either signed in and may execute, or is a kernel of this server: it knows the secret of this process.
"""

from __future__ import annotations

import hmac
import json
import os
from typing import Any

from jupyter_agent.errors import AgentError, NotebookRefused
from jupyter_agent.notebook.bridge import HEADER, SECRET, URL
from jupyter_agent.notebook.cells import to_json
from jupyter_agent.notebook.remote import apply_difference
from jupyter_agent.server.handlers import RESOURCE, AgentHandler
from jupyter_agent.server.hub import Hub
from jupyter_agent.server.notebook import ServedNotebook

Json = dict[str, Any]


class BridgeHandler(AgentHandler):
    """POST {kernel, action, …}. Not for browsers: a page's cookies do not count here."""

    def check_xsrf_cookie(self) -> None:
        """There is nothing to forge: the header is needed, which no other site can send."""

    async def post(self) -> None:
        if not self._knows_secret() and not await self._is_authorized():
            self.set_status(403)
            self.finish({"kind": "open_elsewhere", "message": "This server does not know this kernel."})
            return
        body = self.body()
        try:
            answer = await self.app.agent.run(perform(self.app.hub, body))
        except AgentError as error:
            self.set_status(409)
            self.finish({"kind": error.kind, "message": error.message, "content": getattr(error, "content", "")})
            return
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(answer, default=str))

    def _knows_secret(self) -> bool:
        given = self.request.headers.get(HEADER, "")
        return hmac.compare_digest(given.encode(), self.app.secret.encode())

    async def _is_authorized(self) -> bool:
        if self.current_user is None or not self.token_authenticated:
            return False
        allowed = self.authorizer.is_authorized(self, self.current_user, "execute", RESOURCE)
        return bool(await allowed if hasattr(allowed, "__await__") else allowed)


def leave_address(url: str, secret: str) -> None:
    """Into the environment that this server's kernels inherit."""
    os.environ[URL], os.environ[SECRET] = url, secret


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
