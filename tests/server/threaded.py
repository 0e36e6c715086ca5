"""A real Jupyter server on a thread of this process, so that a test drives the very objects that a conversation has."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from lab.harness import free_port, wait_for
from tornado.ioloop import IOLoop

from jupyter_agent.server.documents import Documents
from jupyter_agent.server.kernels import ServerKernels
from jupyter_agent.server.notebook import ServedNotebook
from jupyter_agent.server.pages import Pages
from jupyter_agent.server.threads import ServerLoop

TOKEN = "secret"
OTHERS = (
    *("jupyter_agent", "jupyterlab", "notebook", "notebook_shim", "jupyter_lsp", "jupyter_server_terminals"),
    *("jupyter_server_ydoc", "jupyter_server_fileid"),
)
"""Extensions that installed packages enable, and that are only there where a test asks for them."""


class ThreadedServer:
    """`documents()` are those that a conversation on this server would have, on the caller's loop."""

    def __init__(self, folder: Path, settings: dict[str, Any] | None = None) -> None:
        self.folder, self.root, self.port = folder, folder / "root", free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._settings = settings or {}
        self._thread = threading.Thread(target=self._serve, name="server", daemon=True)
        self.app: Any = None
        self.loop: IOLoop | None = None
        self.problem: BaseException | None = None

    def start(self) -> ThreadedServer:
        for name in ("root", "config", "data", "runtime"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._thread.start()
        wait_for(self._answers, "the server answers")
        return self

    def stop(self) -> None:
        assert self.loop is not None
        self.loop.add_callback(self._stop)
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.problem = error
            raise

    def _run(self) -> None:
        from jupyter_server.serverapp import ServerApp
        from traitlets.config import Config

        asyncio.set_event_loop(asyncio.new_event_loop())
        self.loop = IOLoop.current()
        config: dict[str, Any] = {
            "ServerApp": {
                "jpserver_extensions": dict.fromkeys(OTHERS, False),
                "port": self.port,
                "port_retries": 0,
                "ip": "127.0.0.1",
                "open_browser": False,
                "allow_root": True,
                "root_dir": str(self.root),
            },
            "IdentityProvider": {"token": TOKEN},
        }
        for name, values in self._settings.items():
            config[name] = _merged(config.get(name, {}), values)
        folders = {f"{name}_dir": str(self.folder / name) for name in ("config", "data", "runtime")}
        self.app = ServerApp(config=Config(config), **folders)
        # Signals belong to the main thread.
        self.app.init_signal = lambda: None
        self.app.initialize(argv=[])
        self.app.start_app()
        self.loop.start()
        self.loop.close(all_fds=True)

    async def _stop(self) -> None:
        await self.app._cleanup()
        assert self.loop is not None
        self.loop.stop()

    def _answers(self) -> bool:
        if self.problem is not None:
            raise self.problem
        with contextlib.suppress(OSError):
            return bool(self.request("GET", "api/status"))
        return False

    def request(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": f"token {TOKEN}"}, method=method)
        with urllib.request.urlopen(request, timeout=90) as response:
            return json.loads(response.read() or b"null")

    @property
    def server_loop(self) -> ServerLoop:
        assert self.loop is not None
        return ServerLoop(self.loop.asyncio_loop)  # type: ignore[attr-defined]

    def kernels(self) -> ServerKernels:
        return ServerKernels(self.server_loop, self.app.kernel_manager, self.app.session_manager)

    def documents(self) -> Documents:
        return Documents(self.root.resolve(), Pages(), self.server_loop, self.app.web_app.settings)

    def notebook(self, name: str) -> ServedNotebook:
        return self.documents().open(self.root.resolve() / name)


def _merged(values: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(values[key], value) for key, value in others.items() if isinstance(values.get(key), dict)}
    return {**values, **others, **both}


Server = TypeVar("Server", bound=ThreadedServer)


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    try:
        yield server.start()
    finally:
        server.stop()
