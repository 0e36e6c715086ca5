"""Every handler of ours: without a token, from a foreign origin, or without the XSRF cookie, nothing is answered."""

from __future__ import annotations

import http.cookiejar
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from lab.client import create, upgrade_status
from lab.harness import LabServer
from lab.serving import model_port, server

from jupyter_agent.server.app import JupyterAgentApp

__all__ = ["model_port", "server"]
FOREIGN = "http://evil.example"


def paths(conversation: str) -> Iterator[tuple[str, list[str], bool]]:
    """(path, methods, is a websocket) of every handler that the extension registers."""
    app = JupyterAgentApp()
    app.initialize_handlers()
    assert len(app.handlers) >= 6
    for pattern, handler, *_ in app.handlers:
        path = re.sub(r"\(\?P<\w+>[^)]*\)", conversation, pattern).lstrip("/")
        own = [name for name in ("get", "head", "post", "put", "patch", "delete") if name in vars(handler)]
        yield path, own, hasattr(handler, "on_message")


class Browser:
    """Cookies of a signed-in browser, and requests without the token."""

    def __init__(self, server: LabServer) -> None:
        self.server = server
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.opener.open(f"{server.url}api/status?token={server.token}", timeout=20).close()
        self.opener.open(f"{server.url}login?token={server.token}", timeout=20).close()

    def status(self, method: str, path: str, headers: dict[str, str]) -> int:
        data = b"{}" if method in ("POST", "PUT", "PATCH") else None
        request = urllib.request.Request(self.server.url + path, data, headers, method=method)
        try:
            with self.opener.open(request, timeout=20) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    @property
    def cookies(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)

    @property
    def xsrf(self) -> str:
        return next(cookie.value or "" for cookie in self.jar if cookie.name == "_xsrf")


def anonymous(server: LabServer, method: str, path: str) -> int:
    data = b"{}" if method in ("POST", "PUT", "PATCH") else None
    request = urllib.request.Request(server.url + path, data, method=method)

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            return None

    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_no_token_no_answer(server: LabServer) -> None:
    for path, methods, is_socket in paths(create(server)):
        if is_socket:
            assert upgrade_status(server, path, {}) == 403, path
            continue
        for method in methods:
            assert anonymous(server, method.upper(), path) == 403, (method, path)


def test_a_foreign_origin_is_refused(server: LabServer) -> None:
    browser = Browser(server)
    for path, methods, is_socket in paths(create(server)):
        if is_socket:
            headers = {"Cookie": browser.cookies, "Origin": FOREIGN}
            own = {"Cookie": browser.cookies, "Origin": f"http://127.0.0.1:{server.port}"}
            assert upgrade_status(server, path, own) == 101, "the same request from our own page is accepted"
            assert upgrade_status(server, path, headers) == 403, path
            continue
        for method in methods:
            headers = {"Origin": FOREIGN, "X-XSRFToken": browser.xsrf}
            assert browser.status(method.upper(), path, headers) in (403, 404), (method, path)


def test_without_the_xsrf_token_nothing_is_changed(server: LabServer) -> None:
    browser = Browser(server)
    for path, methods, is_socket in paths(create(server)):
        for method in {"post", "put", "patch", "delete"}.intersection(methods) if not is_socket else ():
            assert browser.status(method.upper(), path, {}) == 403, (method, path)
            if path.endswith("bridge"):
                continue  # it takes no cookies at all
            allowed = browser.status(method.upper(), path, {"X-XSRFToken": browser.xsrf})
            assert allowed < 300, "the same request with the token is answered, so the refusal was about it"
