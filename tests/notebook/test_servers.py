"""Finding who has a notebook open: info files, live processes, sessions; what cannot be asked counts as open."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import NotebookRefused
from jupyter_agent.notebook.servers import check_not_open, running_servers


class Endpoint:
    """An HTTP endpoint on loopback that answers every request with one status and body."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = []
        self.requests: list[tuple[str, str | None]] = []
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.requests.append((self.path, self.headers.get("Authorization")))
                data = json.dumps(endpoint.body).encode()
                self.send_response(endpoint.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir()
    return folder


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.ipynb"
    path.write_text("{}")
    return path


def write_info(runtime: Path, root: Path, port: int, *, pid: int | None = None, **more: Any) -> None:
    info = {
        "url": f"http://localhost:{port}/base/",
        "hostname": "localhost",
        "port": port,
        "base_url": "/base/",
        "token": "secret",
        "secure": False,
        "root_dir": str(root),
        "pid": os.getpid() if pid is None else pid,
    }
    (runtime / f"jpserver-{port}.json").write_text(json.dumps(info | more))


async def test_no_server_no_objection(runtime: Path, notebook: Path) -> None:
    await check_not_open(str(notebook), runtime)
    await check_not_open(str(notebook), runtime / "missing")


async def test_a_session_for_the_file_counts_as_open(runtime: Path, notebook: Path, endpoint: Endpoint) -> None:
    write_info(runtime, notebook.parent, endpoint.port)
    endpoint.body = [{"path": "other.ipynb", "type": "notebook"}]
    await check_not_open(str(notebook), runtime)
    assert endpoint.requests == [("/base/api/sessions", "token secret")]
    for path in ("a.ipynb", "RTC:a.ipynb"):
        endpoint.body = [{"path": path, "type": "notebook"}]
        with pytest.raises(NotebookRefused, match=rf"http://localhost:{endpoint.port}/base/") as refused:
            await check_not_open(str(notebook), runtime)
        assert refused.value.kind == "open_elsewhere"
        assert "secret" not in refused.value.message


async def test_the_file_is_recognised_through_links(runtime: Path, notebook: Path, endpoint: Endpoint) -> None:
    elsewhere = notebook.parent.parent / "served"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(notebook.parent)
    write_info(runtime, elsewhere, endpoint.port)
    endpoint.body = [{"notebook": {"path": "link/a.ipynb"}, "path": "link/a.ipynb"}]
    with pytest.raises(NotebookRefused):
        await check_not_open(str(notebook), runtime)


@pytest.mark.parametrize("status", [302, 401, 403, 404, 500])
async def test_what_cannot_be_asked_counts_as_open_below_its_root(
    runtime: Path, notebook: Path, endpoint: Endpoint, status: int
) -> None:
    write_info(runtime, notebook.parent, endpoint.port, token="")
    endpoint.status = status
    with pytest.raises(NotebookRefused, match="could not be asked"):
        await check_not_open(str(notebook), runtime)
    outside = notebook.parent.parent / "elsewhere.ipynb"
    await check_not_open(str(outside), runtime)


async def test_dead_processes_and_broken_files_are_passed_over(
    runtime: Path, notebook: Path, endpoint: Endpoint
) -> None:
    endpoint.body = [{"path": "a.ipynb"}]
    write_info(runtime, notebook.parent, endpoint.port, pid=dead_process())
    (runtime / "jpserver-1.json").write_text("{")
    (runtime / "jpserver-2.json").write_text("[]")
    (runtime / "jpserver-3.json").write_text('{"url": "x", "pid": null}')
    assert running_servers(runtime) == []
    await check_not_open(str(notebook), runtime)
    assert endpoint.requests == []


async def test_a_port_where_nothing_listens_is_no_server(runtime: Path, notebook: Path, endpoint: Endpoint) -> None:
    endpoint.server.shutdown()
    endpoint.server.server_close()
    write_info(runtime, notebook.parent, endpoint.port)
    await check_not_open(str(notebook), runtime)
