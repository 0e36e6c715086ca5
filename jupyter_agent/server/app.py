"""The extension itself: its handlers, and the few objects behind them, made when first needed."""

from __future__ import annotations

import asyncio
import os
import secrets
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_server.extension.application import ExtensionApp
from tornado.ioloop import IOLoop

from jupyter_agent import __version__
from jupyter_agent.notebook.address import leave_address
from jupyter_agent.server.kernel_sockets import send_at_once
from jupyter_agent.server.threads import AgentLoop, ServerLoop

if TYPE_CHECKING:
    from jupyter_agent.server.hub import Hub
    from jupyter_agent.server.pages import Pages

CONVERSATION = r"(?P<conversation_id>[^/]+)"


class JupyterAgentApp(ExtensionApp):  # type: ignore[misc]
    """Conversations with the agent, for JupyterLab's sidebar and whoever speaks its protocol."""

    name = "jupyter_agent"
    version = __version__
    description = "A coding agent that lives in Jupyter."
    load_other_extensions = True

    def initialize_settings(self) -> None:
        self.agent = AgentLoop()
        self.secret = secrets.token_urlsafe(32)
        send_at_once(self.settings)
        # Only then the port is known for sure.
        IOLoop.current().add_callback(self._leave_address)

    def _leave_address(self) -> None:
        """Kernels started from now on find the way to their own notebook; those of a gateway inherit nothing from here.

        A server that starts a kernel through a gateway logs its whole environment, where the secret must not be then.
        """
        app: Any = self.serverapp
        if not app.sock and not app.gateway_config.gateway_enabled:
            # Kernels of this server run on this machine, so a wildcard address is reached through the loopback.
            host = app.ip if app.ip not in ("", "*", "0.0.0.0", "::", "localhost") else "127.0.0.1"
            scheme = "https" if app.certfile else "http"
            netloc = f"[{host}]:{app.port}" if ":" in host else f"{host}:{app.port}"
            leave_address(f"{scheme}://{netloc}{app.base_url}", self.secret)

    def initialize_handlers(self) -> None:
        # Imported here, so that an import of this module stays cheap for those who only list extensions.
        from jupyter_agent.server import bridge, handlers, sockets

        base = r"/jupyter-agent"
        mine = {"app": self}
        self.handlers.extend(
            [
                (rf"{base}/conversations", handlers.ConversationsHandler, mine),
                (rf"{base}/conversations/{CONVERSATION}", handlers.ConversationHandler, mine),
                (rf"{base}/conversations/{CONVERSATION}/events", sockets.EventsSocket, mine),
                (rf"{base}/documents", sockets.DocumentsSocket, mine),
                (rf"{base}/bridge", bridge.BridgeHandler, mine),
                (rf"{base}/models", handlers.ModelsHandler, mine),
                (rf"{base}/variables", handlers.VariablesHandler, mine),
            ]
        )

    @cached_property
    def server(self) -> ServerLoop:
        """The server's loop; first asked for by a handler, on that loop."""
        return ServerLoop(asyncio.get_running_loop())

    @cached_property
    def pages(self) -> Pages:
        from jupyter_agent.server.pages import Pages

        return Pages()

    @cached_property
    def hub(self) -> Hub:
        from jupyter_agent.server.documents import Documents
        from jupyter_agent.server.hub import Hub
        from jupyter_agent.server.kernels import ServerKernels

        app: Any = self.serverapp
        kernels = ServerKernels(self.server, app.kernel_manager, app.session_manager)
        documents = Documents(self.root, self.pages, self.server, app.web_app.settings)
        return Hub(documents, self.pages, kernels, self.log)

    @cached_property
    def root(self) -> Path:
        """The folder that the contents manager serves, or else the server's own, as an absolute real path."""
        from jupyter_agent.server.documents import keeps_files

        app: Any = self.serverapp
        kept = app.contents_manager.root_dir if keeps_files(app.contents_manager) else ""
        return Path(os.path.realpath(kept or app.root_dir))

    async def stop_extension(self) -> None:
        if self.agent.started:
            try:
                await asyncio.wait_for(self.agent.run(self.hub.close()), 5)
            except TimeoutError:
                self.log.warning("A conversation did not end in time; it is in its journal up to now.")
            self.agent.stop()
