"""The server's end of a kernel's way to its own notebook (jupyter_agent.notebook.bridge).

Who calls is either signed in and may execute, or is a kernel of this server: it knows the secret of this process.
"""

from __future__ import annotations

import hmac
import json

from jupyter_agent.errors import AgentError
from jupyter_agent.notebook.address import HEADER
from jupyter_agent.server.handlers import RESOURCE, AgentHandler


class BridgeHandler(AgentHandler):
    """POST {kernel, action, …}. Not for browsers: a page's cookies do not count here."""

    def check_xsrf_cookie(self) -> None:
        """There is nothing to forge: the header is needed, which no other site can send."""

    async def post(self) -> None:
        if not self._knows_secret() and not await self._is_authorized():
            self.set_status(403)
            self.finish({"kind": "open_elsewhere", "message": "This server does not know this kernel."})
            return
        # Imported here, so that a server that nobody uses the agent on starts without what it takes.
        from jupyter_agent.server.kernel_requests import perform

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
