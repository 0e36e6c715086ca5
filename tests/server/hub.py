"""A real JupyterHub with configurable-http-proxy on 127.0.0.1, and its users; a process of its own."""

from __future__ import annotations

import contextlib
import http.cookiejar
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.harness import COLLABORATION, free_port, wait_for, without, write_settings

PROXY = "configurable-http-proxy"
ADMIN = "tests-admin-token"
PASSWORD = "open sesame"
CONFIG = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}/hubs/"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.command = [{node!r}, {proxy!r}]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root", "--LabApp.expose_app_in_browser=True"]
c.Spawner.environment = {environment!r}
c.Spawner.start_timeout = c.Spawner.http_timeout = 180
# A server that is interrupted may wait for a worker thread of its web framework for ever: it is ended soon.
c.LocalProcessSpawner.interrupt_timeout = c.LocalProcessSpawner.term_timeout = 3
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.DummyAuthenticator.allowed_users = {{"alice", "bob"}}
c.JupyterHub.services = [{{"name": "tests", "api_token": {admin!r}}}]
c.JupyterHub.load_roles = [
    {{"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers", "tokens", "access:servers"]}},
]
c.JupyterHub.cleanup_servers = True
"""


def find_proxy() -> str:
    """The script of configurable-http-proxy: on the path, or beside this Python. Without it the test is skipped."""
    if importlib.util.find_spec("jupyterhub") is None:
        without("JupyterHub is not installed here: pip install jupyterhub")
    if shutil.which("node") is None:
        without("no Node.js here, which JupyterHub's proxy runs on")
    beside = Path(sys.prefix) / "node_modules" / PROXY / "bin" / PROXY
    found = (
        os.environ.get("JUPYTER_AGENT_TEST_PROXY") or shutil.which(PROXY) or (str(beside) if beside.exists() else "")
    )
    return found or without(f"no {PROXY} here: npm install --prefix {sys.prefix} {PROXY}")


class JupyterHub:
    """`user` gives a signed-in user whose server runs."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}/hubs/"
        self._environment = environment
        self.log = folder / "hub.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        proxy = find_proxy()
        enabled = self.folder / "enabled" / "jupyter_server_config.d" / "jupyter_agent.json"
        enabled.parent.mkdir(parents=True)
        extensions = {"jupyter_agent": True, "jupyter_server_ydoc": False}
        enabled.write_text(json.dumps({"ServerApp": {"jpserver_extensions": extensions}}))
        page = self.folder / "enabled" / "labconfig" / "page_config.json"
        page.parent.mkdir()
        page.write_text(json.dumps({"disabledExtensions": dict.fromkeys(COLLABORATION, True)}))
        write_settings(self.folder / "settings")
        folders = {
            "JUPYTER_CONFIG_PATH": str(self.folder / "enabled"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / "settings"),
        }
        config = CONFIG.format(
            port=self.port,
            hub_port=free_port(),
            api_port=free_port(),
            node=shutil.which("node"),
            proxy=str(Path(proxy).resolve()),
            homes=str(self.folder / "homes"),
            python=sys.executable,
            environment={**self._environment, **folders},
            password=PASSWORD,
            admin=ADMIN,
        )
        (self.folder / "jupyterhub_config.py").write_text(config)
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("JUPYTER", "JPY_", "ANTHROPIC_", "PYTEST", "CONFIGPROXY"))
        }
        environment = {**inherited, "HOME": str(self.folder)}
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "jupyterhub", "--config", str(self.folder / "jupyterhub_config.py")]
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        wait_for(self._answers, f"the hub answers; its log: {self.log}", 180)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        with contextlib.suppress(OSError):
            return bool(self.api("GET", ""))
        return False

    def api(self, method: str, path: str, body: Any = None) -> Any:
        return request(method, f"{self.url}hub/api/{path}", ADMIN, body)

    def user(self, name: str) -> User:
        with contextlib.suppress(urllib.error.HTTPError):
            # There already.
            self.api("POST", f"users/{name}")
        self.api("POST", f"users/{name}/server")
        wait_for(lambda: self.api("GET", f"users/{name}")["servers"].get("", {}).get("ready"), "the server runs", 180)
        token = self.api("POST", f"users/{name}/tokens", {"note": "tests"})["token"]
        return User(self, name, token)

    def stop(self) -> None:
        if self.process is not None:
            # It ends its proxy and the users' servers.
            self.process.terminate()
            try:
                self.process.wait(150)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class User:
    """With `url`, `token`, `request` as `LabServer` has them, so that it serves as one."""

    def __init__(self, hub: JupyterHub, name: str, token: str) -> None:
        self.hub, self.name, self.token, self.port = hub, name, token, hub.port
        self.base_url = f"/hubs/user/{name}/"
        self.url = f"http://127.0.0.1:{hub.port}{self.base_url}"
        self.root = hub.folder / "homes" / name

    def request(self, method: str, path: str, body: Any = None) -> Any:
        return request(method, self.url + path, self.token, body)

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def notebook(self, name: str) -> Any:
        return json.loads((self.root / name).read_text())

    def sign_in(self) -> http.cookiejar.CookieJar:
        """The cookies of a browser after the hub's form and the redirects to the user's own server."""
        jar = http.cookiejar.CookieJar()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        opener.addheaders = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
        with opener.open(f"{self.hub.url}hub/login", timeout=60) as page:
            (xsrf,) = re.findall(r'name="_xsrf"\s+value="([^"]+)"', page.read().decode())[:1]
        form = urllib.parse.urlencode({"username": self.name, "password": PASSWORD, "_xsrf": xsrf}).encode()
        with opener.open(f"{self.hub.url}hub/login?next=", form, timeout=60):
            pass
        with opener.open(f"{self.url}api/status", timeout=60):
            pass
        return jar


def request(method: str, url: str, token: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    made = urllib.request.Request(url, data, {"Authorization": f"token {token}"}, method=method)
    try:
        with urllib.request.urlopen(made, timeout=90) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise
    return json.loads(text) if text else None


@contextlib.contextmanager
def jupyterhub(folder: Path, environment: dict[str, str]) -> Iterator[JupyterHub]:
    made = JupyterHub(folder, environment)
    try:
        made.start()
        yield made
    finally:
        made.stop()
