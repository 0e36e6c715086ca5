"""HTTP: conversations, models, variables. Authenticated and authorised; the base class checks Origin and XSRF."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from jupyter_agent.errors import AgentError, JournalError, UsageError

if TYPE_CHECKING:
    from jupyter_agent.server.app import JupyterAgentApp

RESOURCE = "jupyter_agent"
T = TypeVar("T")


class AgentHandler(APIHandler):  # type: ignore[misc]
    """Base of ours. Every error is a sentence in `message`."""

    auth_resource = RESOURCE

    def initialize(self, app: JupyterAgentApp) -> None:
        self.app = app

    async def on_agent(self, work: Any) -> Any:
        """Await a coroutine on the agent's loop; refusals become answers."""
        try:
            return await self.app.agent.run(work)
        except JournalError as error:
            status = {"missing": 404, "locked": 423}.get(error.kind, 500)
            raise web.HTTPError(status, error.message, reason=_reason(status)) from None
        except UsageError as error:
            raise web.HTTPError(400, error.message, reason=_reason(400)) from None
        except AgentError as error:
            raise web.HTTPError(409, error.message, reason=_reason(409)) from None

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        message = str(error.log_message or "") if isinstance(error, web.HTTPError) else ""
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"message": message}))

    def body(self) -> dict[str, Any]:
        data = self.get_json_body()
        if not isinstance(data, dict):
            raise web.HTTPError(400, "The request's body must be a JSON object.")
        return data


class ConversationsHandler(AgentHandler):
    @web.authenticated
    @authorized("read", resource=RESOURCE)
    async def head(self) -> None:
        """Says no more than that the extension is here and the caller may use it."""
        self.set_status(204)
        self.finish()

    @web.authenticated
    @authorized("read", resource=RESOURCE)
    async def get(self) -> None:
        query = self.get_query_argument("query", "")
        self.finish({"conversations": await self.on_agent(self.app.hub.entries(query))})

    @web.authenticated
    @authorized("write", resource=RESOURCE)
    async def post(self) -> None:
        body = self.body()
        work = self.app.hub.create(
            notebook=str(body.get("notebook") or ""),
            mode=str(body.get("mode") or "review"),
            model=str(body.get("model") or ""),
        )
        self.set_status(201)
        self.finish({"id": await self.on_agent(work)})


class ConversationHandler(AgentHandler):
    @web.authenticated
    @authorized("read", resource=RESOURCE)
    async def get(self, conversation_id: str) -> None:
        self.finish(await self.on_agent(self.app.hub.entry(conversation_id)))

    @web.authenticated
    @authorized("write", resource=RESOURCE)
    async def delete(self, conversation_id: str) -> None:
        await self.on_agent(self.app.hub.remove(conversation_id))
        self.finish({})


class ModelsHandler(AgentHandler):
    @web.authenticated
    @authorized("read", resource=RESOURCE)
    async def get(self) -> None:
        self.finish(await self.on_agent(self.app.hub.models()))

    @web.authenticated
    @authorized("write", resource=RESOURCE)
    async def post(self) -> None:
        self.finish(await self.on_agent(self.app.hub.models(accept=str(self.body().get("accept") or ""))))


class VariablesHandler(AgentHandler):
    @web.authenticated
    @authorized("execute", resource=RESOURCE)
    async def get(self) -> None:
        notebook = self.get_query_argument("notebook", "")
        self.finish({"variables": await self.on_agent(self.app.hub.variables(notebook))})


def _reason(status: int) -> str:
    # Sentences with line breaks must not reach the status line.
    return {400: "Bad Request", 404: "Not Found", 409: "Conflict", 423: "Locked"}.get(status, "Error")
